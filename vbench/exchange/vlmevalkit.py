"""Result files of VLMEvalKit, as questions with answers.

open-compass/VLMEvalKit writes `<model>_<dataset>.xlsx` (or .tsv, .json): the dataset's columns
(index, question, A, B, … or candidates, answer, video, category, …) and `prediction`; its judged
files add `hit` or `score` (vlmeval/inference_video.py, vlmeval/dataset/). Lists stand there as
Python writes them; they are read as literals, never run. Its .pkl files are not opened.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from vbench.errors import DataError
from vbench.exchange.foreign import Item, Origin, digest, tried
from vbench.exchange.options import YES_NO, from_fields, letter_of

HARNESS = "vlmevalkit"

ENDINGS = (".xlsx", ".tsv", ".csv", ".json")

FAILED = "Failed to obtain answer"
"""What VLMEvalKit writes for an answer that an API did not give."""

_GROUPS = (
    "category",
    "l2-category",
    "task_type",
    "domain",
    "sub_category",
    "duration",
    "dimension",
)

Row = Mapping[str, Any]


def read(path: Path, name: str | None = None) -> Iterator[tuple[Origin, list[Item]]]:
    """Yields a run per file.

    Args:
        path: A result file, or a folder with such files in it.
        name: The model's name; None: a folder above the file that its name begins with, else what
            stands before the first underscore.

    Raises:
        DataError: A file cannot be read, or is no result of multiple-choice questions.
        RunError: There are no such files.
    """
    files = [path] if path.is_file() else [f for f in path.iterdir() if f.suffix in ENDINGS]
    for file in tried(files, str(path), "<model>_<dataset>.xlsx, .tsv or .json"):
        model, dataset = _names(file, name)
        rows = _rows(file)
        if path.is_dir() and not any("prediction" in row for row in rows):
            continue  # a rating or a table of accuracies beside the results
        origin = Origin(HARNESS, model, dataset, {str(file): digest(file)})
        yield origin, [_item(dataset, row, f"{file}, row {n}") for n, row in enumerate(rows, 1)]


def _names(file: Path, name: str | None) -> tuple[str, str]:
    """Returns model and dataset of `<model>_<dataset>.xlsx`."""
    above = [parent.name for parent in file.resolve().parents]
    known = [name] if name else []
    for model in (*known, *above):
        if model and file.stem.startswith(f"{model}_"):
            return model, file.stem.removeprefix(f"{model}_")
    first, _, rest = file.stem.partition("_")
    return (name or first), (file.stem if name else rest or file.stem)


def _rows(file: Path) -> list[Row]:
    try:
        if file.suffix == ".xlsx":
            return _sheet(file)
        text = file.read_text(encoding="utf-8-sig")
        if file.suffix == ".json":
            return _records(json.loads(text), file)
        csv.field_size_limit(2**24)
        delimiter = "\t" if file.suffix == ".tsv" else ","
        return list(csv.DictReader(text.splitlines(keepends=True), delimiter=delimiter))
    except (OSError, ValueError, RecursionError, csv.Error) as error:
        why = " ".join(f"{type(error).__name__}: {error}".split())
        raise DataError("the results cannot be read", where=str(file), why=why) from error


def _sheet(file: Path) -> list[Row]:
    """Reads the first sheet; formulas are not computed."""
    import zipfile

    from openpyxl import load_workbook
    from openpyxl.utils.exceptions import InvalidFileException

    try:
        book = load_workbook(file, read_only=True, data_only=True)
    except (InvalidFileException, zipfile.BadZipFile, KeyError) as error:
        raise ValueError(f"no xlsx file: {error}") from error
    try:
        lines = book.worksheets[0].iter_rows(values_only=True)
        heads = [str(cell) for cell in next(lines, ())]
        return [dict(zip(heads, line, strict=False)) for line in lines if any(line)]
    finally:
        book.close()


def _records(found: Any, file: Path) -> list[Row]:
    """Returns rows of JSON: a list of them, or columns of values by row number."""
    if isinstance(found, list) and all(isinstance(row, dict) for row in found):
        return found
    if isinstance(found, dict) and found and all(isinstance(v, dict) for v in found.values()):
        if "prediction" in found:
            return [{k: column.get(n) for k, column in found.items()} for n in found["prediction"]]
        return [{"index": key, **row} for key, row in found.items()]
    raise DataError("the results are no table", where=str(file), why="a list of rows is expected")


def _item(dataset: str, row: Row, where: str) -> Item:
    if "prediction" not in row or "answer" not in row:
        raise DataError(
            "no result of VLMEvalKit",
            where=where,
            why="it has no column prediction or no column answer",
            mend="name the file <model>_<dataset>.xlsx that holds the predictions",
        )
    answer = str(row["answer"]).strip()
    options = from_fields(row)
    if not options and answer.lower() in ("yes", "no"):
        options = dict(YES_NO)
    if not options:
        raise DataError(
            "the question has no options",
            where=where,
            why="there are no columns A, B, …, and no list of candidates",
            mend="only multiple-choice and yes/no datasets can be imported",
        )
    letter = letter_of(answer, options)
    if letter is None:
        raise DataError(f"the answer '{answer}' is none of the options", where=where)
    said = _said(row["prediction"])
    failed = said is None or FAILED in said
    return Item(
        test=dataset,
        sample_id=re.sub(r"\.0$", "", str(row.get("index", where.rpartition(" ")[2]))),
        question=_said(row.get("question")) or "",
        options=options,
        target=letter,
        response=None if failed else said,
        video=_said(row.get("video")) or _said(row.get("video_path")) or "",
        groups={key: text for key in _GROUPS if (text := _said(row.get(key)))},
        theirs=_grade(row),
        failure=(said or "the prediction is empty") if failed else "",
    )


def _said(value: object) -> str | None:
    """Returns a cell's text; None for an empty one."""
    if value is None or value != value or str(value).strip() == "":
        return None
    return str(value)


def _grade(row: Row) -> float | None:
    """Returns VLMEvalKit's own verdict: `hit`, or `score` where it is 0 or 1 (-1: not judged)."""
    for name in ("hit", "score"):
        value = _said(row.get(name))
        if value is not None and re.fullmatch(r"[01](\.0*)?|True|False", value):
            return float(value == "True") if value in ("True", "False") else float(value)
    return None
