"""Rows of a user's table in any format: CSV, TSV, JSON Lines, Parquet, a hub dataset.

Cells keep the types of the format: a CSV holds texts only, so that an option "NA" or "007" stays
what it is.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vbench.errors import ConfigError, DataError, did_you_mean

Row = Mapping[str, Any]

SHOWN_PROBLEMS = 5

_TAB = "\t"


@dataclass(frozen=True, slots=True)
class Rows:
    """A table in memory."""

    origin: str
    """The file, or the hub dataset."""
    columns: tuple[str, ...]
    rows: Sequence[Row]
    """Row 1 is the first below the header."""

    def require(self, columns: Mapping[str, str]) -> None:
        """Checks that columns exist.

        Args:
            columns: Setting (`dataset.video`) → the column it names.

        Raises:
            DataError: One does not.
        """
        for setting, column in columns.items():
            if column not in self.columns:
                raise DataError(
                    f"there is no column '{column}'",
                    where=f"{self.origin}, asked for by {setting}",
                    why=f"its columns are {', '.join(self.columns)}",
                    mend=f"{did_you_mean(column, self.columns)} (set {setting}=…)",
                )


@dataclass(frozen=True, slots=True)
class Hub:
    """Which rows of which hub dataset."""

    repo: str
    split: str
    subset: str | None = None
    revision: str | None = None


def read_rows(file: Path) -> Rows:
    """Reads a file by its ending.

    Raises:
        ConfigError: The ending is none that is known.
        DataError: The file cannot be read, or rows of it are malformed.
    """
    reader = _READERS.get(file.suffix.lower())
    if reader is None:
        raise ConfigError(
            f"'{file.name}' is none of the formats that a table can have",
            where=f"dataset.file={file}",
            mend=f"use a file that ends in {', '.join(_READERS)}",
        )
    try:
        return reader(file)
    except OSError as error:
        raise DataError(
            f"'{file.name}' cannot be read",
            where=f"dataset.file={file}",
            why=error.strerror or str(error),
            mend=_similar_file(file),
        ) from error
    except UnicodeDecodeError as error:
        raise DataError(
            f"'{file.name}' is not UTF-8 text",
            where=f"{file}, byte {error.start}",
            why=error.reason,
            mend="save it as UTF-8",
        ) from error


def read_hub(hub: Hub, columns: Sequence[str]) -> Rows:
    """Reads the wanted columns of a hub dataset (or of a local folder of data files).

    Raises:
        ConfigError: The `datasets` package is missing.
        DataError: The dataset, split or subset cannot be loaded.
    """
    try:
        import datasets
    except ImportError as error:
        raise ConfigError(
            "dataset.hub needs the package 'datasets'",
            where=f"dataset.hub={hub.repo}",
            mend="pip install 'vbench-eval[hub]', or download the table and use dataset.file",
        ) from error
    try:
        data = datasets.load_dataset(hub.repo, hub.subset, split=hub.split, revision=hub.revision)
    except (OSError, ValueError, datasets.exceptions.DatasetsError) as error:
        raise DataError(
            f"the dataset '{hub.repo}' cannot be loaded",
            where=f"dataset.hub={hub.repo} dataset.hub_split={hub.split}",
            why=f"{type(error).__name__}: {error}",
            mend="check the name, dataset.hub_split, dataset.hub_subset and access to it",
        ) from error
    # Other columns may hold videos or pictures, which would be decoded row by row.
    rows = data.select_columns([c for c in columns if c in data.column_names])
    return Rows(f"{hub.repo}, split {hub.split}", tuple(data.column_names), list(rows))


def raise_problems(origin: str, problems: Sequence[str], mend: str = "") -> None:
    """Raises one error for all problems, naming the first few, if there are any.

    Raises:
        DataError: There are.
    """
    if not problems:
        return
    shown = list(problems[:SHOWN_PROBLEMS])
    if len(problems) > SHOWN_PROBLEMS:
        shown.append(f"and {len(problems) - SHOWN_PROBLEMS} more")
    count = "a row" if len(problems) == 1 else f"{len(problems)} rows"
    raise DataError(
        f"{count} of the table cannot be used",
        where=origin,
        why="\n         ".join(shown),
        mend=mend or "correct them, or leave them out",
    )


def _read_delimited(delimiter: str) -> Callable[[Path], Rows]:
    def read(file: Path) -> Rows:
        with file.open(encoding="utf-8-sig", newline="") as lines:
            _check_delimiter(file, lines.readline(), delimiter)
            lines.seek(0)
            cells = csv.reader(lines, delimiter=delimiter, strict=True)
            try:
                return _rows_of_cells(file, cells)
            except csv.Error as error:
                raise DataError(
                    f"'{file.name}' is malformed",
                    where=f"{file}, line {cells.line_num}",
                    why=str(error),
                    mend="put a cell that holds quotes between quotes, and double its own",
                ) from error

    return read


def _check_delimiter(file: Path, header: str, delimiter: str) -> None:
    # where a comma is the decimal sign, spreadsheets write semicolons
    if delimiter not in header and ";" in header:
        raise DataError(
            f"the columns of '{file.name}' seem to be separated by ';'",
            where=f"{file}, line 1",
            why=f"{file.suffix.lower()} means {'tabs' if delimiter == _TAB else 'commas'}",
            mend="save it with commas as .csv, or with tabs as .tsv",
        )


def _rows_of_cells(file: Path, cells: Iterator[list[str]]) -> Rows:
    header = next(cells, None)
    if not header:
        raise DataError(
            f"'{file.name}' is empty", where=str(file), mend="the first line names the columns"
        )
    twice = sorted({name for name in header if header.count(name) > 1})
    if twice:
        raise DataError(
            f"two columns are called '{twice[0]}'", where=str(file), mend="rename one of them"
        )
    rows, problems = [], []
    for number, row in enumerate(filter(None, cells), start=1):
        if len(row) == len(header):
            rows.append(dict(zip(header, row, strict=True)))
        else:
            problems.append(f"row {number}: {len(row)} cells, but {len(header)} columns")
    raise_problems(str(file), problems, "quote cells that hold the delimiter or a line break")
    return Rows(str(file), tuple(header), rows)


def _read_json_lines(file: Path) -> Rows:
    columns: dict[str, None] = {}
    rows, problems = [], []
    lines = file.read_text(encoding="utf-8-sig").split("\n")
    for number, line in enumerate(filter(str.strip, lines), start=1):
        try:
            row = json.loads(line)
        except (json.JSONDecodeError, RecursionError) as error:
            problems.append(f"row {number}: not valid JSON: {error}")
            continue
        if isinstance(row, dict):
            rows.append(row)
            columns.update(dict.fromkeys(row))
        else:
            problems.append(f"row {number}: not an object {{…}}")
    raise_problems(str(file), problems, "JSON Lines holds one object {…} per line")
    return Rows(str(file), tuple(columns), rows)


def _read_parquet(file: Path) -> Rows:
    import pyarrow
    import pyarrow.parquet

    try:
        table = pyarrow.parquet.read_table(file)
    except pyarrow.ArrowException as error:
        raise DataError(
            f"'{file.name}' is no Parquet file",
            where=str(file),
            why=str(error),
            mend="write it anew; a table of another format needs its own ending",
        ) from error
    return Rows(str(file), tuple(table.column_names), table.to_pylist())


_READERS: Mapping[str, Callable[[Path], Rows]] = {
    ".csv": _read_delimited(","),
    ".tsv": _read_delimited(_TAB),
    ".jsonl": _read_json_lines,
    ".ndjson": _read_json_lines,
    ".parquet": _read_parquet,
}


def _similar_file(file: Path) -> str:
    siblings = [entry.name for entry in file.parent.iterdir()] if file.parent.is_dir() else []
    return did_you_mean(file.name, siblings) or "give the path of the table as dataset.file"
