"""What a sweep says about frames: accuracy along their number, their sampler and their order.

Runs that differ in nothing but where they stand on an axis form a series. Each point of a series is
held against the one before it, or against the first, on the samples that both runs have answered
(vbench.results.paired).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from vbench.metrics.outcomes import Row
from vbench.results.axes import AXES, Axis, Place
from vbench.results.coverage import short
from vbench.results.naming import run_names
from vbench.results.paired import Difference, difference, shared
from vbench.results.rows import read_records
from vbench.results.run import Run
from vbench.results.tables import Cell, Column, Line, Table
from vbench.schema import identity

Rows = Mapping[str, Row]
"""A run's graded rows by name."""


@dataclass(frozen=True)
class Point:
    """A run on an axis."""

    place: Place
    estimate: Mapping[str, Any]
    """Of one test, as in summary.json."""
    change: Difference | None = None
    """What it has over the point it is held against; None for that point itself, and where the two
    share no sample."""
    against: Place | None = None
    score_change: float | None = None
    """The largest change of any score against that point; None where not every score has a
    counterpart."""
    coverage: Mapping[str, Any] = field(default_factory=dict)
    """Of the run, as in summary.json."""


@dataclass(frozen=True)
class Series:
    """Runs that differ in nothing but their place on an axis."""

    name: str
    points: tuple[Point, ...]


@dataclass(frozen=True)
class Ablation:
    """One test along one axis."""

    axis: Axis
    test: str
    places: tuple[Place, ...]
    series: tuple[Series, ...]

    @property
    def chance(self) -> float | None:
        """What guessing gives; None where it is not the same everywhere."""
        found = {point.estimate["chance"] for own in self.series for point in own.points}
        return found.pop() if len(found) == 1 else None

    @property
    def short(self) -> list[str]:
        """A line for each place at which clips have fewer frames than were asked for."""
        found: dict[str, list[str]] = {}
        for own in self.series:
            for point in own.points:
                if line := short(point.coverage):
                    found.setdefault(f"{point.place}: {line}", []).append(own.name)
        return [
            line if len(names) == len(self.series) else f"{', '.join(names)}, {line}"
            for line, names in found.items()
        ]


def ablations(runs: Sequence[Run], graded: Sequence[Rows]) -> list[Ablation]:
    """Returns what runs say along each axis on which at least two of them can be compared.

    Args:
        runs: Finished runs, in the order of their sweep.
        graded: Each run's rows by name (`graded.graded`, `paired.by_name`); empty: no differences.
    """
    rows = dict(zip((str(run.path) for run in runs), graded, strict=True))
    found = []
    for axis in AXES:
        groups = [group for group in _groups(axis, runs) if len(group) > 1]
        if groups:
            names = run_names([axis.without(next(iter(group.values()))) for group in groups])
            for test in headline(runs):
                series = [
                    Series(name, tuple(_points(axis, test, group, rows)))
                    for name, group in zip(names, groups, strict=True)
                ]
                kept = tuple(own for own in series if own.points)
                there = {point.place for own in kept for point in own.points}
                places = tuple(place for place in _places(axis, groups) if place in there)
                if kept:
                    found.append(Ablation(axis, test, places, kept))
    return found


def headline(runs: Sequence[Run]) -> list[str]:
    """Returns the tests to show: the average if there is one, else the first three.

    Args:
        runs: The runs.
    """
    names = list(dict.fromkeys(name for run in runs for name in run.summary["tests"]))
    return [name for name in names if name.startswith("average")] or names[:3]


def _groups(axis: Axis, runs: Sequence[Run]) -> list[dict[Place, Run]]:
    """Returns the runs of each series by place."""
    apart = _apart(axis, runs)
    groups: dict[str, dict[Place, Run]] = {}
    for run in runs:
        place = axis.place(run)
        if place is not None:
            rest = {
                k: v for k, v in identity(run.config).items() if not axis.moved(k) or k in apart
            }
            groups.setdefault(json.dumps(rest, sort_keys=True, default=str), {})[place] = run
    return [_sorted(axis, group) for group in groups.values()]


def _apart(axis: Axis, runs: Sequence[Run]) -> set[str]:
    """Returns settings of the axis in which runs at the same place differ: they tell series."""
    seen: dict[tuple[Place | None, str], set[str]] = {}
    for run in runs:
        for key, value in identity(run.config).items():
            if axis.moved(key):
                seen.setdefault((axis.place(run), key), set()).add(str(value))
    return {key for (_, key), values in seen.items() if len(values) > 1}


def _sorted(axis: Axis, group: Mapping[Place, Run]) -> dict[Place, Run]:
    return dict(sorted(group.items(), key=lambda entry: axis.rank(entry[0])))


def _places(axis: Axis, groups: Sequence[Mapping[Place, Run]]) -> list[Place]:
    return list(_sorted(axis, {place: run for group in groups for place, run in group.items()}))


def _points(
    axis: Axis, test: str, group: Mapping[Place, Run], rows: Mapping[str, Rows]
) -> list[Point]:
    points: list[Point] = []
    held: tuple[Place, Run] | None = None
    for place, run in group.items():
        estimate = run.summary["tests"].get(test)
        if estimate is None:
            continue
        coverage = run.summary["coverage"]
        if held is None:
            points.append(Point(place, estimate, coverage=coverage))
        else:
            change = _change(rows[str(run.path)].get(test), rows[str(held[1].path)].get(test))
            moved = None if axis.stepwise else score_change(run, held[1])
            points.append(Point(place, estimate, change, held[0], moved, coverage))
        if held is None or axis.stepwise:
            held = place, run
    return points


def _change(ours: Row | None, theirs: Row | None) -> Difference | None:
    both = shared(ours, theirs) if ours is not None and theirs is not None else None
    return None if both is None else difference(*both)


def score_change(a: Run, b: Run) -> float | None:
    """Returns the largest change of any score between two runs; None unless all have a partner.

    Args:
        a: A finished run.
        b: Another.
    """
    ours, theirs = (_scores(run) for run in (a, b))
    if ours.keys() != theirs.keys() or any(len(ours[k]) != len(theirs[k]) for k in ours):
        return None
    moved = [np.abs(np.subtract(ours[k], theirs[k])).max() for k in ours if len(ours[k])]
    return float(max(moved)) if moved and np.isfinite(moved).all() else None


def _scores(run: Run) -> dict[tuple[str, str], list[float]]:
    table = read_records(run.path, ["test", "sample_id", "scores"])
    return {(row["test"], row["sample_id"]): row["scores"] for row in table.to_pylist()}


def to_table(ablation: Ablation) -> Table:
    """Returns an ablation's numbers: per series a line of values and a line of changes.

    Args:
        ablation: One test along one axis.
    """
    axis = ablation.axis
    lines = []
    for series in ablation.series:
        points = {point.place: point for point in series.points}
        shown = [points.get(place) for place in ablation.places]
        lines.append(Line(series.name, tuple(_value(point) for point in shown)))
        lines.append(Line(f"{series.name}: change", tuple(_step(point) for point in shown)))
        if any(point.score_change is not None for point in series.points):
            moved = tuple(_moved(point) for point in shown)
            lines.append(Line(f"{series.name}: largest change of a score", moved))
    held = "the place before" if axis.stepwise else "the first place of the line"
    notes = (
        f"change: in points, against {held}, on the samples that both have answered, with its 95 % "
        "interval, clustered by source; not corrected for the number of comparisons",
        *ablation.short,
    )
    columns = tuple(Column(str(place), str(place)) for place in ablation.places)
    title = f"{ablation.test}: accuracy in % by {axis.title}"
    return Table(title, axis.title, columns, tuple(lines), notes)


def _value(point: Point | None) -> Cell:
    if point is None:
        return Cell()
    value, low, high = (100 * point.estimate[key] for key in ("value", "ci_low", "ci_high"))
    frames = {f"frames_{key}": n for key, n in point.coverage.get("frames", {}).items()}
    return Cell(f"{value:.1f} [{low:.1f}, {high:.1f}]", {**point.estimate, **frames})


def _step(point: Point | None) -> Cell:
    if point is None or point.change is None:
        return Cell()
    change = point.change
    low, high = 100 * change.ci_low, 100 * change.ci_high
    text = f"{100 * change.difference:+.1f} [{low:.1f}, {high:.1f}]"
    return Cell(text, {**asdict(change), "against": point.against})


def _moved(point: Point | None) -> Cell:
    if point is None or point.score_change is None:
        return Cell()
    return Cell(f"{point.score_change:.1e}", {"score_change": point.score_change})
