"""What Video-Bench prints, as numbers; and what its formula makes of printed cells."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache

from vbench.metrics.videobench import FINAL, LEVELS
from vbench.results.paper import Row, read

SOURCE = "arXiv 2311.16103"

DATASETS: tuple[str, ...] = tuple(name for tests in LEVELS.values() for name in tests)
"""The thirteen keys in the paper's order."""

ESTIMATES: tuple[str, ...] = (
    *(key for level, tests in LEVELS.items() for key in (*tests, level)),
    FINAL,
)
"""Rows of Table 2: each level's datasets and then its average, the final score last."""

TITLES: Mapping[str, str] = {
    "video_exclusive": "(A) Video-Exclusive",
    "prior_knowledge": "(B) Prior Knowledge",
    "comprehension_decision": "(C) Comprehension and Decision",
    FINAL: "(D) Final",
}

CHANCE = "random"
"""The key of the printed row of chance."""

TOLERANCE = 0.02
"""Points that a printed average may be away from what follows from its printed cells."""


@dataclass(frozen=True)
class Printed:
    """A printed row: one model."""

    key: str
    label: str
    texts: Row
    """Cells as printed, by dataset, level and `final`."""

    @property
    def values(self) -> dict[str, float]:
        """The cells in percent."""
        return {key: float(text) for key, text in self.texts.items() if text}


@cache
def rows(name: str) -> tuple[Printed, ...]:
    """Returns a table's rows in the paper's order, chance first.

    Args:
        name: `table2`, `table3` or `figure5`.

    >>> [row.label for row in rows("table2")][:3]
    ['Random', 'VideoChat', 'Video-ChatGPT']
    """
    found = []
    for row in read(f"videobench/{name}"):
        cells = {key: text for key, text in row.items() if key not in ("key", "label")}
        found.append(Printed(row["key"], row["label"], cells))
    return tuple(found)


@cache
def facts() -> Mapping[str, Row]:
    """Returns Table 1's rows by model."""
    return {row["key"]: row for row in read("videobench/table1")}


@cache
def datasets() -> Mapping[str, Row]:
    """Returns what the datasets are called, and how many questions each has, by key."""
    return {row["key"]: row for row in read("videobench/datasets")}


def title_of(key: str) -> str:
    """Names a row of Table 2.

    >>> title_of("MOT"), title_of("final")
    ('MOT†', '(D) Final')
    """
    if key in TITLES:
        return TITLES[key]
    about = datasets()[key]
    return about["label"] + ("†" if float(about["weight"]) != 1 else "")


def averages(cells: Mapping[str, float]) -> dict[str, float]:
    """Returns the levels and the final score that follow from the datasets' scores.

    A level is the mean of its datasets by weight, the final score the mean of the levels (section
    4.1, and docs/videobench.md); one that lacks a dataset is not returned.

    >>> made = averages(rows("table2")[2].values)
    >>> round(made["video_exclusive"], 2), round(made["final"], 2)
    (39.82, 38.52)
    """
    found = {}
    for level, tests in LEVELS.items():
        if all(name in cells for name in tests):
            total = math.fsum(weight * cells[name] for name, weight in tests.items())
            found[level] = total / math.fsum(tests.values())
    if len(found) == len(LEVELS):
        found[FINAL] = math.fsum(found.values()) / len(found)
    return found


def slips(name: str) -> Iterator[str]:
    """Yields a line per printed average that does not follow from the printed cells.

    Args:
        name: `table2` or `table3`.

    >>> list(slips("table2"))
    []
    """
    for row in rows(name):
        printed, made = row.values, averages(row.values)
        off = [key for key, value in made.items() if abs(value - printed[key]) > TOLERANCE]
        if off:
            told = ", ".join(f"{title_of(key)} {made[key]:.2f} for {row.texts[key]}" for key in off)
            yield f"{row.label}: from the printed cells follows {told}"
