"""Our runs as Video-Bench's tables show them: strict and legacy scores, levels, what is missing."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from vbench.metrics.videobench import FINAL, LEGACY, LEVELS
from vbench.results.layouts import RunSummary, run_notes
from vbench.results.run import Run

Estimate = Mapping[str, Any]
"""An entry of summary.json's tests; see `statistics.Estimate`."""

RELEASED = "videobench/"
TOY = "videobench/toy"

_PARTIAL = re.compile(r" \(without (.*)\)$")


@dataclass(frozen=True)
class Ours:
    """A run with what Video-Bench's metric made of it."""

    run: Run
    shown: RunSummary

    @property
    def label(self) -> str:
        """The run's name."""
        return self.shown.name

    @property
    def mark(self) -> str:
        """What else than its name a heading must say: a draw of samples, another metric."""
        own = [part for part in self.shown.metric.split(", ") if part != "metric=videobench"]
        limit = [] if self.shown.limit is None else [f"limit={self.shown.limit}"]
        marks = ", ".join(part for part in (*limit, *own) if part)
        return f" ({marks})" if marks else ""

    @property
    def choices(self) -> Mapping[str, str]:
        """What was chosen from each folder of conf/."""
        found: Mapping[str, str] = self.run.config["command"]["choices"]
        return found

    @property
    def scorer(self) -> str:
        """How answers became letters."""
        return str(self.choices.get("scorer", "?"))

    @property
    def is_released(self) -> bool:
        """Whether it asks questions that Video-Bench released."""
        dataset = str(self.choices.get("dataset", ""))
        return dataset.startswith(RELEASED) and dataset != TOY

    @property
    def is_whole(self) -> bool:
        """Whether nothing is missing from its final score, and every question was asked."""
        return FINAL in self.tests and self.shown.limit is None

    @property
    def tests(self) -> Mapping[str, Estimate]:
        """The estimates by name."""
        found: Mapping[str, Estimate] = self.run.summary["tests"]
        return found

    def find(self, key: str, *, legacy: bool = False) -> Estimate | None:
        """Returns an estimate; of a level or final score also one that lacks datasets.

        Args:
            key: A dataset, a level or `final`.
            legacy: Of the questions with a valid judgement only, as the official scripts count.
        """
        name = key + LEGACY * legacy
        partial = (of for of in self.tests if _PARTIAL.sub("", of) == name)
        return self.tests.get(name) or self.tests.get(next(partial, ""))

    def lacking(self, key: str) -> tuple[str, ...]:
        """Returns the datasets that a level or the final score lacks."""
        for name in self.tests:
            match = _PARTIAL.search(name)
            if match and name[: match.start()] == key:
                return tuple(match[1].split(", "))
        return ()

    def percent(self, keys: Iterable[str]) -> dict[str, float]:
        """Returns strict scores in percent; a level or final score only if it lacks nothing."""
        found = {key: self.tests.get(key) for key in keys}
        return {key: 100 * float(of["value"]) for key, of in found.items() if of is not None}


def notes(runs: Sequence[Ours]) -> list[str]:
    """Returns what must be known of runs that stand beside Video-Bench's printed values.

    Args:
        runs: The runs of a table.
    """
    found = []
    for run in runs:
        told = [f"dataset {run.choices.get('dataset')}", f"scorer {run.scorer}"]
        told += [f"prompt {run.choices.get('prompt')}"] if run.choices.get("prompt") else []
        if run.run.config.get("origin"):
            told.append(f"imported from {run.run.config['origin']['harness']}")
        found.append(f"{run.label}: {', '.join(told)}")
        missing = run.lacking(FINAL)
        if missing:
            found.append(f"{run.label}: partial scores, without {', '.join(missing)}")
        if not any(level in _PARTIAL.sub("", name) for name in run.tests for level in LEVELS):
            found.append(f"{run.label}: no levels and no final score: use metric=videobench")
    if any(not run.is_released for run in runs):
        found.append(
            "other questions than the paper's: compare ours with their chance and with one "
            "another, not with printed columns"
        )
    shown = [replace(run.shown, metric="") for run in runs]
    return found + [note for note in run_notes(shown) if not note.startswith("answered: ")]
