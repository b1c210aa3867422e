"""The tables that papers print, as data of the package (vbench/paper_tables/, with sources)."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

Row = Mapping[str, str]
"""Cells by column, as printed."""

SOURCE = "arXiv 2406.10889v1"

_PER_SAMPLE = {"independent": 2}
"""Comparisons that a sample of IVAT gives to a score; one to every other."""


@dataclass(frozen=True)
class PaperRow:
    """A printed row, and what it takes to make it again."""

    key: str
    """Its entry is `velociti/v1/<key>`."""
    label: str
    """As printed."""
    cells: Row
    """Printed values by estimate; "" for a dash."""
    model: str = ""
    """The file of conf/model that is this model, where there is one."""
    waits_for: str = ""
    """What must exist before it can be run; empty where it can be."""
    versions: str = ""
    """With which libraries it was made."""
    unknown: str = ""
    """Settings that nobody has published."""


def read(name: str) -> list[Row]:
    """Reads a CSV file of the package.

    Args:
        name: `velociti/table3`, without its ending.

    >>> read("velociti/table1")[2]["tests"]
    '900'
    """
    file = files("vbench") / "paper_tables" / f"{name}.csv"
    return list(csv.DictReader(io.StringIO(file.read_text(encoding="utf-8"))))


@cache
def rows(name: str) -> tuple[PaperRow, ...]:
    """Returns the rows of a table of models, in the paper's order.

    >>> [row.label for row in rows("velociti/table3")][:3]
    ['Random', 'Vera', 'CLIP B/32']
    """
    about = {row["key"]: row for row in read("velociti/rows")}
    found = []
    for row in read(name):
        cells = {column: cell for column, cell in row.items() if column not in ("key", "label")}
        facts = dict(about.get(row["key"], {"key": row["key"]}))
        found.append(PaperRow(label=row["label"], cells=cells, **facts))
    return tuple(found)


@cache
def items(row: str, estimate: str) -> tuple[int, ...]:
    """Returns how many comparisons may be behind a printed accuracy; several for Gemini.

    Args:
        row: The row's key.
        estimate: The column: `chrono`, `ivat_independent_t2v`.

    >>> items("clip_b32", "action_modif"), items("clip_b32", "ivat_independent_t2v")
    ((514,), (1438,))
    >>> items("gemini", "chrono"), items("clip_b32", "average")
    ((139, 142, 145), ())
    """
    test, _, score = estimate.partition("_") if estimate.startswith("ivat_") else (estimate, "", "")
    column = row if row in ("human", "gemini") else "models"
    per_sample = _PER_SAMPLE.get(score.partition("_")[0], 1)
    for of in read("velociti/items"):
        if of["test"] == test and of[column]:
            return tuple(per_sample * int(n) for n in of[column].split("|"))
    return ()
