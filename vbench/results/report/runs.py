"""Reads the runs of a report and brings their samples together."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from vbench.results.environment import read_environment
from vbench.results.naming import run_names
from vbench.results.report.records import Records, rows_at, rows_of
from vbench.results.report.sections import Shown
from vbench.results.run import load_run
from vbench.results.samples import read_samples

_READ = (
    "test", "sample_id", "kind", "cluster", "question", "texts", "letters", "target", "groups",
    "clips",
)  # fmt: skip


@dataclass(frozen=True)
class SideBySide:
    """Samples of several runs, side by side."""

    rows: list[dict[str, Any]]
    """The samples to be shown, in the order of the first run that has each."""
    answers: list[list[Mapping[str, Any] | None]]
    """For each run its record of each of them; None where it has none."""
    contents: list[dict[str, str]]
    """For each run the hash of each file as it was then, by path."""
    count: int
    """How many distinct samples there are, shown or not."""
    apart: int
    """How many of those not all runs have."""


def read_runs(folders: Sequence[Path]) -> list[Shown]:
    """Reads finished runs.

    Args:
        folders: Run folders.

    Raises:
        RunError: One is damaged or not finished.
    """
    runs = [load_run(folder) for folder in folders]
    return [
        Shown(name, run, Records(run.path), read_environment(run.path))
        for name, run in zip(run_names(runs), runs, strict=True)
    ]


def side_by_side(runs: Sequence[Shown], most: int) -> SideBySide:
    """Brings the samples of runs together by all that is asked, not by name alone.

    Args:
        runs: The runs.
        most: How many samples to show; of more these are evenly chosen.

    Raises:
        RunError: A run does not say what it asks.
    """
    known: dict[bytes, int] = {}
    first: list[tuple[int, int]] = []  # where each distinct sample is found: run, row
    tables: list[pa.Table] = []
    owned: list[dict[int, int]] = []  # for each run the records by sample
    contents: list[dict[str, str]] = []
    for run, shown in enumerate(runs):
        named = (tuple(row.values()) for row in shown.records.rows("test", "sample_id"))
        records = {name: number for number, name in enumerate(named)}
        tables.append(read_samples(shown.run.path, _READ))
        owned.append({})
        contents.append({})
        for number, row in enumerate(rows_of(tables[-1])):
            contents[-1] |= {c["path"]: c["content"] for c in row["clips"] if c["content"]}
            place = known.setdefault(_asked(row), len(first))
            if place == len(first):
                first.append((run, number))
            if (record := records.get((row["test"], row["sample_id"]))) is not None:
                owned[-1][place] = record
    count = len(first)
    kept = [k * count // most for k in range(most)] if count > most else list(range(count))
    answers = [
        shown.records.at([own.get(k) for k in kept]) for shown, own in zip(runs, owned, strict=True)
    ]
    apart = sum(any(k not in own for own in owned) for k in range(count))
    rows = _rows(tables, [first[k] for k in kept])
    return SideBySide(rows, answers, contents, count, apart)


def _rows(tables: Sequence[pa.Table], places: Sequence[tuple[int, int]]) -> list[dict[str, Any]]:
    """Returns rows of several tables; places count up run by run."""
    found: list[dict[str, Any]] = []
    for run, table in enumerate(tables):
        found += rows_at(table, [number for own, number in places if own == run])
    return found


def _asked(row: Mapping[str, Any]) -> bytes:
    """Returns a digest of all that is asked of a sample."""
    spans = [(clip["video_id"], clip["start_s"], clip["end_s"]) for clip in row["clips"]]
    names = ("test", "sample_id", "kind", "question", "target", "texts")
    asked = json.dumps([*(row[name] for name in names), spans])
    return hashlib.blake2b(asked.encode(), digest_size=16).digest()
