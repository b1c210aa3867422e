"""Reads the runs of a report and brings their samples together."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from vbench.errors import RunError
from vbench.results.report.naming import run_names
from vbench.results.report.sections import Shown
from vbench.results.run import load_run
from vbench.results.samples import read_samples

_READ = (
    "test", "sample_id", "kind", "cluster", "question", "texts", "letters", "target", "groups",
    "clips",
)  # fmt: skip


@dataclass(frozen=True)
class Together:
    """Samples of several runs, side by side."""

    rows: list[dict[str, Any]]
    """Each distinct sample once, in the order of the first run that has it."""
    answers: list[list[Mapping[str, Any] | None]]
    """For each run its record of each sample; None where it has none."""
    contents: list[dict[str, str]]
    """For each run the hash of each file as it was then, by path."""

    def thinned(self, most: int) -> Together:
        """Returns at most so many samples, evenly chosen.

        Args:
            most: How many.
        """
        count = len(self.rows)
        if count <= most:
            return self
        kept = [k * count // most for k in range(most)]
        answers = [[of[k] for k in kept] for of in self.answers]
        return Together([self.rows[k] for k in kept], answers, self.contents)


def read_runs(folders: Sequence[Path]) -> list[Shown]:
    """Reads finished runs.

    Args:
        folders: Run folders.

    Raises:
        RunError: One is damaged or not finished.
    """
    runs = [load_run(folder) for folder in folders]
    return [
        Shown(name, run, _records(run.path), _environment(run.path))
        for name, run in zip(run_names(runs), runs, strict=True)
    ]


def _records(folder: Path) -> list[dict[str, Any]]:
    file = folder / "records.parquet"
    try:
        found: list[dict[str, Any]] = pq.read_table(file).to_pylist()
    except (OSError, ValueError) as error:  # Arrow's errors are ValueErrors
        raise RunError(
            "the records of a run cannot be read",
            where=str(file),
            why=str(error).splitlines()[0],
            mend="type the run's command again: it writes them from the stored answers",
        ) from error
    return found


def _environment(folder: Path) -> dict[str, Any]:
    try:
        return dict(json.loads((folder / "environment.json").read_text(encoding="utf-8")))
    except (OSError, ValueError):
        return {}


def together(runs: Sequence[Shown]) -> Together:
    """Brings the samples of runs together by all that is asked, not by name alone.

    Args:
        runs: The runs.

    Raises:
        RunError: A run does not say what it asks.
    """
    places: dict[tuple[object, ...], int] = {}
    rows: list[dict[str, Any]] = []
    records: list[dict[int, Mapping[str, Any]]] = []
    contents: list[dict[str, str]] = []
    for shown in runs:
        known = {(record["test"], record["sample_id"]): record for record in shown.records}
        own: dict[int, Mapping[str, Any]] = {}
        contents.append({})
        for row in _samples(shown.run.path):
            contents[-1] |= {c["path"]: c["content"] for c in row["clips"] if c["content"]}
            place = places.setdefault(_asked(row), len(rows))
            if place == len(rows):
                rows.append(row)
            if (record := known.get((row["test"], row["sample_id"]))) is not None:
                own[place] = record
        records.append(own)
    answers = [[own.get(k) for k in range(len(rows))] for own in records]
    return Together(rows, answers, contents)


def _samples(folder: Path) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = read_samples(folder, _columns(folder)).to_pylist()
    return rows


def _columns(folder: Path) -> Sequence[str]:
    """Returns the columns to read; runs of earlier versions lack some."""
    with suppress(OSError, ValueError):  # read_samples says what is wrong
        there = pq.read_schema(folder / "samples.parquet").names
        return [name for name in _READ if name in there]
    return _READ


def _asked(row: Mapping[str, Any]) -> tuple[object, ...]:
    spans = tuple((clip["video_id"], clip["start_s"], clip["end_s"]) for clip in row["clips"])
    names = ("test", "sample_id", "kind", "question", "target")
    return (*(row[name] for name in names), tuple(row["texts"]), spans)
