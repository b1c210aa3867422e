"""Pictures of ablations: accuracy on the left, what each step changes on the right."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import log2
from typing import TYPE_CHECKING, Any

from vbench.results.ablation import Ablation, Point, to_table
from vbench.results.axes import Place
from vbench.results.drawing import PLAIN, Drawing

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = ("#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377")
"""Told apart by colour-blind eyes; beyond them the marker changes, too."""

_MARKERS = "osD^v"
_DODGE, _SPREAD = 0.06, 0.7
"""How far series stand apart, and at most all of them, as shares of the distance of two places."""

_WIDTH = 9.0
"""Of a figure, in inches."""

_LETTER, _SIGN = 6.3, 48.0
"""Widths of a letter and of a sign with its margins in a legend, in points."""


def drawing(ablation: Ablation) -> Drawing:
    """Returns an ablation as a figure with its numbers.

    Args:
        ablation: One test along one axis.
    """
    rows = -(-len(ablation.series) // _columns(ablation))  # of the legend
    height = 3.6 + 0.2 * rows + 0.15 * len(ablation.short)
    return Drawing(to_table(ablation), partial(_draw, ablation), (_WIDTH, height))


def _columns(ablation: Ablation) -> int:
    """Returns how many names, with their signs, fit side by side below the panels."""
    longest = max(len(_fitted(series.name)) for series in ablation.series)
    return max(1, min(3, int(72 * _WIDTH / (_LETTER * longest + _SIGN))))


def _fitted(name: str) -> str:
    """Shortens a name, such as a path, that is wider than the figure."""
    most = int((72 * _WIDTH - _SIGN) / _LETTER)
    return name if len(name) <= most else f"{name[: most // 2 - 1]}…{name[-(most // 2) :]}"


def _draw(ablation: Ablation, figure: Figure) -> None:
    left, right = figure.subplots(1, 2)
    axis = ablation.axis
    changed, step = False, min(_DODGE, _SPREAD / len(ablation.series))
    for number, series in enumerate(ablation.series):
        shift = step * (number - (len(ablation.series) - 1) / 2)
        look = {
            "color": COLOURS[number % len(COLOURS)],
            "marker": _MARKERS[number // len(COLOURS) % len(_MARKERS)],
        }
        values = [
            [100 * p.estimate[k] for k in ("value", "ci_low", "ci_high")] for p in series.points
        ]
        joined = "-" if axis.stepwise else "none"
        at = _at(ablation, series.points, shift)
        _bars(left, at, values, linestyle=joined, label=_fitted(series.name), **look)
        steps = [point for point in series.points if point.change is not None]
        moves = [
            [100 * end for end in (c.difference, c.ci_low, c.ci_high)]
            for c in (point.change for point in steps)
            if c is not None
        ]
        changed |= bool(moves)
        _bars(right, _at(ablation, steps, shift), moves, linestyle="none", **look)
    if ablation.chance is not None:
        left.axhline(100 * ablation.chance, color=PLAIN, linestyle="--", zorder=0)
    right.axhline(0, color=PLAIN, zorder=0)
    held = "the count before" if axis.stepwise else f"{ablation.places[0]}"
    left.set(title=ablation.test, ylabel="accuracy in %", xlabel=axis.title)
    right.set(title=f"paired difference to {held}", ylabel="points", xlabel=axis.title)
    if not changed:
        right.text(0.5, 0.5, "nothing can be paired", transform=right.transAxes, ha="center")
    for panel in (left, right):
        slanted = {} if axis.stepwise else {"rotation": 30, "ha": "right"}
        spots = [_spot(ablation, place) for place in ablation.places]
        panel.set_xticks(spots, [str(place) for place in ablation.places], **slanted)
        panel.set_xlim(spots[0] - 0.5, spots[-1] + 0.5)
    figure.legend(loc="outside lower center", ncols=_columns(ablation), frameon=False)
    if ablation.short:
        figure.suptitle("\n".join(ablation.short), x=0.01, ha="left", fontsize=7)


def _at(ablation: Ablation, points: Sequence[Point], shift: float) -> list[float]:
    return [_spot(ablation, point.place) + shift for point in points]


def _spot(ablation: Ablation, place: Place) -> float:
    """Returns where a place lies: counts by their logarithm, words side by side."""
    return log2(place) if isinstance(place, int) else ablation.places.index(place)


def _bars(panel: Axes, at: Sequence[float], values: Sequence[Sequence[float]], **look: Any) -> None:
    """Draws values with their intervals: (value, low, high) each."""
    if not values:
        return
    middle = [value for value, _, _ in values]
    below = [max(0.0, value - low) for value, low, _ in values]
    above = [max(0.0, high - value) for value, _, high in values]
    panel.errorbar(at, middle, yerr=[below, above], capsize=2, markersize=4, linewidth=1.2, **look)
