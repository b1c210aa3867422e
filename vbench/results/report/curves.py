"""What the runs of a report vary about frames, drawn: accuracy and, beside it, paired changes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from vbench.results.ablation import Ablation, Point, Series
from vbench.results.axes import Place
from vbench.results.report.charts import LABEL_WIDTH, Canvas, fitted, ticks, tip
from vbench.results.report.figures import MOST_RUNS, WIDTH, Figure

_TICKS, _TITLE, _FOOT, _SIDE = 40.0, 26.0, 40.0, 16.0
"""Left of a panel for its ticks, above it, below it, and right of it; in pixels."""
_UPRIGHT, _STEP, _GAP = 230.0, 15.0, 16.0
"""Height of a panel of curves; of a line in one of words, and between its places."""


def ablation_figure(ablation: Ablation) -> Figure:
    """Draws one test along one axis: numbers of frames as curves, words as lines of a list.

    Args:
        ablation: At most MOST_RUNS of its series are drawn.
    """
    series = ablation.series[:MOST_RUNS]
    changes = [point.change for own in series for point in own.points if point.change is not None]
    ends = [0.0, *(end for c in changes for end in (c.ci_low, c.ci_high))]
    spare = 0.08 * (max(ends) - min(ends)) or 0.01
    reach = (min(ends) - spare, max(ends) + spare)
    left, right, height = _panels(ablation, len(series), reach)
    canvas = Canvas(WIDTH, height, f"{ablation.test} by {ablation.axis.title}")
    for mark in (0.0, 0.25, 0.5, 0.75, 1.0):
        left.rule(canvas, mark, "grid", f"{100 * mark:g}")
    for mark in ticks(100 * reach[0], 100 * reach[1], 4):
        right.rule(canvas, mark / 100, "axis" if mark == 0 else "grid", f"{mark:g}")
    if ablation.chance is not None:
        left.rule(canvas, ablation.chance, "chance")
    for panel, title in ((left, "accuracy in %"), (right, "paired difference in points")):
        canvas.text(panel.left, 14, title, "tick")
    if not changes:
        canvas.text(right.left, _TITLE + 24, "no two runs share samples", "tick")
    _name_places(canvas, ablation, (left, right))
    for number, own in enumerate(series):
        shift = number - (len(series) - 1) / 2
        _draw(canvas, ablation, own, (left, right), (f"r{number}", shift))
    legend = tuple((f"r{k}", own.name) for k, own in enumerate(series))
    title = f"{ablation.test} by {ablation.axis.title}"
    return Figure(title, canvas.markup(), _caption(ablation, series), legend)


@dataclass(frozen=True)
class _Panel:
    """Where places and values lie in one half of the drawing."""

    left: float
    right: float
    top: float
    bottom: float
    low: float
    """The value at the lower, or left, end."""
    high: float
    upright: bool
    """Values go up and places to the right; else values go to the right and places down."""

    def at(self, along: float, value: float, aside: float = 0) -> tuple[float, float]:
        """Returns the point of a value at a place, 0 to 1; `aside` in pixels along the places."""
        share = (value - self.low) / (self.high - self.low)
        if self.upright:
            x = self.left + along * (self.right - self.left) + aside
            return x, self.bottom - share * (self.bottom - self.top)
        y = self.top + along * (self.bottom - self.top) + aside
        return self.left + share * (self.right - self.left), y

    def rule(self, canvas: Canvas, value: float, style: str, said: str = "") -> None:
        """Draws a line across the panel at a value, and says beside it which."""
        (x1, y1), (x2, y2) = self.at(0, value), self.at(1, value)
        canvas.line(x1, y1, x2, y2, style)
        if self.upright:
            canvas.text(self.left - 8, y1 + 4, said, "end tick")
        else:
            canvas.text(x1, self.bottom + 16, said, "middle tick")


def _panels(
    ablation: Ablation, lines: int, reach: tuple[float, float]
) -> tuple[_Panel, _Panel, float]:
    """Returns both panels and the height of the drawing."""
    upright = ablation.axis.stepwise
    longest = max(len(str(place)) for place in ablation.places)
    label = _TICKS if upright else min(160.0, longest * LABEL_WIDTH + 16)
    between = _TICKS + 14 if upright else 28.0
    room = WIDTH - label - between - _SIDE
    middle = label + room * 0.56
    height = _UPRIGHT if upright else len(ablation.places) * (lines * _STEP + _GAP)
    top, bottom = _TITLE, _TITLE + height
    left = _Panel(label, middle, top, bottom, 0, 1, upright)
    right = _Panel(middle + between, WIDTH - _SIDE, top, bottom, *reach, upright)
    return left, right, bottom + _FOOT


def _along(ablation: Ablation, place: Place) -> float:
    """Returns where a place lies, 0 to 1: counts by their logarithm, words one after another."""
    places = ablation.places
    if not isinstance(place, int):
        return (places.index(place) + 0.5) / len(places)
    counts = [math.log2(count) for count in places if isinstance(count, int)]
    spread = counts[-1] - counts[0]
    return 0.08 + 0.84 * ((math.log2(place) - counts[0]) / spread if spread else 0.5)


def _name_places(canvas: Canvas, ablation: Ablation, panels: tuple[_Panel, _Panel]) -> None:
    for place in ablation.places:
        along = _along(ablation, place)
        if ablation.axis.stepwise:
            for panel in panels:
                canvas.text(panel.at(along, 0)[0], panel.bottom + 18, str(place), "middle tick")
        else:
            x, y = panels[0].at(along, 0)
            canvas.text(x - 12, y + 4, fitted(str(place), x - 12), "end")


def _draw(
    canvas: Canvas,
    ablation: Ablation,
    series: Series,
    panels: tuple[_Panel, _Panel],
    look: tuple[str, float],
) -> None:
    (left, right), (colour, shift) = panels, look
    # Lines stand a little beside one another, or their intervals would hide one another.
    aside = shift * (5 if ablation.axis.stepwise else _STEP)
    if ablation.axis.stepwise:
        ends = [(_along(ablation, p.place), p.estimate["value"]) for p in series.points]
        canvas.path([left.at(along, value, aside) for along, value in ends], f"curve {colour}")
    for point in series.points:
        along, own, change = _along(ablation, point.place), point.estimate, point.change
        canvas.line(
            *left.at(along, own["ci_low"], aside),
            *left.at(along, own["ci_high"], aside),
            f"interval {colour}",
        )
        dot = canvas.dot(*left.at(along, own["value"], aside), 4, f"dot {colour}")
        tip(dot, f"{series.name}, {point.place}: {_spans(own)}, n = {own['n']}")
        if change is not None:
            low, high = (right.at(along, end, aside) for end in (change.ci_low, change.ci_high))
            canvas.line(*low, *high, f"interval {colour}")
            dot = canvas.dot(*right.at(along, change.difference, aside), 4, f"dot {colour}")
            tip(dot, _moved(series.name, point))


def _spans(own: Mapping[str, Any]) -> str:
    value, low, high = (100 * own[key] for key in ("value", "ci_low", "ci_high"))
    return f"{value:.1f} [{low:.1f}, {high:.1f}]"


def _moved(name: str, point: Point) -> str:
    change = point.change
    if change is None:
        return ""
    d, low, high = (100 * v for v in (change.difference, change.ci_low, change.ci_high))
    return f"{name}, {point.place} against {point.against}: {d:+.1f} [{low:.1f}, {high:.1f}]"


def _caption(ablation: Ablation, series: Sequence[Series]) -> str:
    against = "the number before" if ablation.axis.stepwise else str(ablation.places[0])
    told = [
        "Left: 95 % intervals, clustered by source; dashed: chance. Right: the difference to "
        f"{against} on the samples that both have answered, with its own 95 % interval; not "
        "corrected for how many there are, as vbench compare does."
    ]
    if left_out := len(ablation.series) - len(series):
        told.append(f"{left_out} more lines are not drawn.")
    told += [f"{line}." for line in ablation.short]
    moved = [(own.name, _score_changes(own)) for own in series]
    if said := "; ".join(f"{name}: {changes}" for name, changes in moved if changes):
        told.append(f"Largest change of any score: {said}.")
    return " ".join(told)


def _score_changes(series: Series) -> str:
    points = [point for point in series.points if point.score_change is not None]
    return ", ".join(f"{point.place} {point.score_change:.2g}" for point in points)
