"""Rows of a file of any kind, or of a folder of such files as dataset libraries save them."""

from __future__ import annotations

import json
from pathlib import Path

from vbench.datasets.rows import Row, Rows, read_rows
from vbench.errors import DataError

_ENDINGS = (".parquet", ".arrow", ".jsonl", ".ndjson", ".json", ".csv", ".tsv")
"""What a folder may hold, the first kind that it does."""

_NOTES = frozenset({"dataset_info.json", "state.json", "dataset_dict.json"})
"""What `datasets` writes beside the data."""


def read_any(path: Path) -> Rows:
    """Reads a file, or all files of one kind in a folder and below it, in order of their names.

    A `.json` is a list of objects; an `.arrow` is what `datasets.Dataset.save_to_disk` writes.
    Everything else is read as `rows.read_rows` does.

    Raises:
        ConfigError: The file ends in none of the known endings.
        DataError: It cannot be read, the folder holds no data, or its files differ in columns.
    """
    if path.is_dir():
        return _read_folder(path)
    if path.suffix.lower() == ".json":
        return _read_json(path)
    return _read_arrow(path) if path.suffix.lower() == ".arrow" else read_rows(path)


def _read_folder(folder: Path) -> Rows:
    files = sorted(file for file in folder.rglob("*") if file.is_file())
    of = {ending: [f for f in files if f.suffix.lower() == ending] for ending in _ENDINGS}
    of[".json"] = [file for file in of[".json"] if file.name not in _NOTES]
    chosen = next((found for found in of.values() if found), [])
    if not chosen:
        raise DataError(
            "the folder holds no table",
            where=str(folder),
            why=f"none of its files ends in {', '.join(_ENDINGS)}",
            mend="name the file or folder that does",
        )
    parts = [read_any(file) for file in chosen]
    for part in parts[1:]:
        if set(part.columns) != set(parts[0].columns):
            raise DataError(
                "files of the folder have other columns",
                where=f"{part.origin} and {parts[0].origin}",
                why=f"{', '.join(part.columns)} and {', '.join(parts[0].columns)}",
                mend="name one of them, or put what belongs together into a folder of its own",
            )
    rows = [row for part in parts for row in part.rows]
    return Rows(str(folder), parts[0].columns, rows)


def _read_json(file: Path) -> Rows:
    try:
        rows = json.loads(file.read_text(encoding="utf-8-sig"))
    except (OSError, UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
        why = " ".join(f"{type(error).__name__}: {error}".split())
        raise DataError(f"'{file.name}' cannot be read", where=str(file), why=why) from error
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise DataError(
            f"'{file.name}' is no table",
            where=str(file),
            why="a list of objects [{…}, {…}] is expected",
            mend="write one object per row",
        )
    columns = dict.fromkeys(key for row in rows for key in row)
    return Rows(str(file), tuple(columns), rows)


def _read_arrow(file: Path) -> Rows:
    import pyarrow

    try:
        with pyarrow.memory_map(str(file)) as source:
            try:
                table = pyarrow.ipc.open_stream(source).read_all()
            except pyarrow.ArrowInvalid:
                source.seek(0)
                table = pyarrow.ipc.open_file(source).read_all()
            rows: list[Row] = table.to_pylist()
    except (OSError, pyarrow.ArrowException) as error:
        raise DataError(
            f"'{file.name}' is no Arrow file",
            where=str(file),
            why=str(error).splitlines()[0],
            mend="write it anew",
        ) from error
    return Rows(str(file), tuple(table.column_names), rows)
