"""What a report of runs says above its samples: numbers, failures, settings, environments."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from vbench.results.ablation import ablations
from vbench.results.contest import Rows, leading
from vbench.results.layouts import RunSummary, run_notes
from vbench.results.report.curves import ablation_figure
from vbench.results.report.figures import (
    MOST_RUNS,
    Figure,
    Plotted,
    accuracy,
    calibration,
    margins,
    outcomes,
)
from vbench.results.report.margins import GRADED, reliability
from vbench.results.report.records import Records
from vbench.results.run import Run, metric_mark
from vbench.results.text import public
from vbench.schema import flatten

MOST_FAILURES = 50


@dataclass(frozen=True)
class Shown:
    """A run as the report shows it."""

    name: str
    run: Run
    records: Records
    environment: Mapping[str, Any]

    @property
    def plotted(self) -> Plotted:
        """The run as plots take it."""
        return Plotted(self.name, self.run.summary["tests"], self.records)

    @property
    def probable(self) -> bool:
        """Whether its scores are probabilities of a yes."""
        return str(self.run.config["scorer"]["_target_"]).endswith(".Entailment")

    @property
    def summary(self) -> RunSummary:
        """The run as tables take it."""
        config = self.run.config
        return RunSummary(self.name, self.run.summary, config["limit"], metric_mark(config))


def estimates(runs: Sequence[Shown]) -> list[dict[str, Any]]:
    """Returns a line per test and run with all that qualifies the number.

    Args:
        runs: The runs.
    """
    lines = []
    for test in tests_of(runs):
        for place, shown in enumerate(runs):
            own = shown.run.summary["tests"].get(test)
            if own is not None:
                rest = shown.run.summary["coverage"]["incomplete"].get(test)
                told = {"test": test, "run": shown.name, "place": place, "rest": rest}
                lines.append({**told, **own})
    return lines


def tests_of(runs: Sequence[Shown]) -> list[str]:
    """Returns the names of all estimates, averages first, as the headline they are.

    Args:
        runs: The runs.
    """
    names = list(dict.fromkeys(name for shown in runs for name in shown.run.summary["tests"]))
    return sorted(names, key=lambda name: not name.startswith("average"))


def overview(runs: Sequence[Shown], graded: Sequence[Rows]) -> dict[str, Any]:
    """Returns runs by tests: what a reader of several runs looks at first.

    Args:
        runs: The runs.
        graded: Their graded rows, which decide what is bold; empty ones: nothing is.
    """
    tests = tests_of(runs)
    best, compared = leading(graded)
    lines = [
        {
            "run": shown.name,
            "place": k,
            "cells": [(shown.run.summary["tests"].get(test), test in best[k]) for test in tests],
        }
        for k, shown in enumerate(runs)
    ]
    return {"tests": tests, "lines": lines, "compared": compared}


def notes(runs: Sequence[Shown]) -> list[str]:
    """Returns what a reader must know of how many samples are behind the numbers.

    Args:
        runs: The runs.
    """
    return run_notes([shown.summary for shown in runs])


def failures(runs: Sequence[Shown]) -> dict[str, Any]:
    """Returns the first failures of all runs, and how many there are.

    Args:
        runs: The runs.
    """
    found = [
        {"run": shown.name, **failed}
        for shown in runs
        for failed in shown.run.summary["coverage"]["failed"]
    ]
    return {"count": len(found), "lines": found[:MOST_FAILURES]}


def plots(runs: Sequence[Shown], graded: Sequence[Rows]) -> list[Figure]:
    """Returns the plots that hold several runs, first along what they vary about frames.

    Args:
        runs: The runs; where a colour is a run, the first MOST_RUNS are drawn.
        graded: Their graded rows, by which they are paired.
    """
    kept = runs[:MOST_RUNS]
    plotted = [shown.plotted for shown in kept]
    found = [accuracy(plotted), outcomes(plotted)]
    asked = [shown for shown in kept if shown.probable]
    said = [(shown.name, reliability(shown.records.rows(*GRADED, "cluster"))) for shown in asked]
    told = [(name, curve) for name, curve in said if curve is not None]
    found += [calibration(told)] if told else []
    if len(runs) > len(kept):
        first = f"Of the first {len(kept)} of {len(runs)} runs. "
        found = [replace(figure, caption=first + figure.caption) for figure in found]
    return [*(ablation_figure(one) for one in ablations([s.run for s in runs], graded)), *found]


def margin_plots(runs: Sequence[Shown]) -> list[Figure]:
    """Returns a plot of score margins per run, of the first MOST_RUNS.

    Args:
        runs: The runs.
    """
    drawn = [margins(shown.plotted) for shown in runs[:MOST_RUNS]]
    return [figure for figure in drawn if figure is not None]


def settings(runs: Sequence[Shown]) -> dict[str, Any]:
    """Returns every setting by run: those that differ, then those that do not.

    Args:
        runs: The runs.
    """
    flat = [dict(flatten(_without_command(shown.run.config))) for shown in runs]
    return _table(flat)


def environments(runs: Sequence[Shown]) -> dict[str, Any]:
    """Returns where the numbers were made, in the form of `settings`.

    Args:
        runs: The runs.
    """
    return _table([dict(flatten(shown.environment)) for shown in runs])


def _without_command(config: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in config.items() if key != "command"}


def _table(flat: Sequence[Mapping[str, object]]) -> dict[str, Any]:
    keys = list(dict.fromkeys(key for own in flat for key in own))
    lines = [(key, [_said(public(own.get(key, ""), key)) for own in flat]) for key in keys]
    differing = [line for line in lines if len(set(line[1])) > 1]
    return {
        "differing": differing,
        "same": [(key, values[0]) for key, values in lines if len(set(values)) == 1],
    }


def _said(value: object) -> str:
    if value is None:
        return "null"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _typed(run: Run) -> list[str]:
    return [str(public(word)) for word in run.config["command"]["overrides"]]


def commands(runs: Sequence[Shown]) -> list[tuple[str, str, str]]:
    """Returns each run's name, what was typed, and its folder.

    Args:
        runs: The runs.
    """
    return [
        (
            shown.name,
            shlex.join(["vbench", "evaluate", *(word.lstrip("+") for word in _typed(shown.run))]),
            str(Path(shown.run.path)),
        )
        for shown in runs
    ]
