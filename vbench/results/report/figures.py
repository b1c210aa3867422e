"""The plots of a report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from vbench.results.report.charts import LABEL_WIDTH, Canvas, fitted, ticks, tip
from vbench.results.report.margins import GRADED, Reliability, margin, right_scores
from vbench.results.report.records import Records

MOST_RUNS = 10
"""In one plot: more colours cannot be told apart."""

_OUTCOMES = ("right", "tie", "wrong", "unscored")
_CUT = "truncated"

WIDTH = 720.0
_LOW, _SIDE = 30.0, 64.0
"""Below a plot for its axis, and right of it."""


@dataclass(frozen=True)
class Figure:
    """A plot with what it takes to read it."""

    title: str
    svg: str
    caption: str
    legend: tuple[tuple[str, str], ...] = ()
    """What colours mean: class and name."""


@dataclass(frozen=True)
class Plotted:
    """A run as plots take it."""

    name: str
    tests: Mapping[str, Mapping[str, Any]]
    """Estimates, from summary.json."""
    records: Records


def accuracy(runs: Sequence[Plotted]) -> Figure:
    """Draws each test's accuracy with its interval, and chance.

    Args:
        runs: At most MOST_RUNS.
    """
    names = dict.fromkeys(name for run in runs for name in run.tests)
    tests = sorted(names, key=lambda name: not name.startswith("average"))
    left = _label_width(tests)
    step, gap = (16.0, 12.0) if len(runs) > 1 else (20.0, 8.0)
    height = len(tests) * (step * len(runs) + gap) + _LOW
    canvas = Canvas(WIDTH, height, "accuracy per test")

    def x(value: float) -> float:
        return left + value * (WIDTH - left - _SIDE)

    _percent_axis(canvas, x, height - _LOW)
    for place, test in enumerate(tests):
        top = place * (step * len(runs) + gap) + gap / 2
        middle = top + step * len(runs) / 2
        canvas.text(left - 12, middle + 4, fitted(test, left - 12), "end")
        chance = next(run.tests[test]["chance"] for run in runs if test in run.tests)
        mark = canvas.line(x(chance), top, x(chance), top + step * len(runs), "chance")
        tip(mark, f"chance {100 * chance:.1f}")
        for k, run in enumerate(runs):
            if test in run.tests:
                _estimate(canvas, x, top + (k + 0.5) * step, (run, test, k))
    caption = "Accuracy in % with 95 % intervals, clustered by source; dashed: chance."
    return Figure("Accuracy", canvas.markup(), caption, _legend([run.name for run in runs]))


def _estimate(canvas: Canvas, x: Any, y: float, what: tuple[Plotted, str, int]) -> None:
    run, test, k = what
    own = run.tests[test]
    canvas.line(x(own["ci_low"]), y, x(own["ci_high"]), y, f"interval r{k}")
    dot = canvas.dot(x(own["value"]), y, 4.5, f"dot r{k}")
    low, high, value = (100 * own[name] for name in ("ci_low", "ci_high", "value"))
    tip(dot, f"{run.name}, {test}: {value:.1f} [{low:.1f}, {high:.1f}], n = {own['n']}")
    canvas.text(WIDTH - 4, y + 4, f"{value:.1f}", "end number")


def outcomes(runs: Sequence[Plotted]) -> Figure:
    """Draws what became of the samples of each test: right, tied, wrong, unscored; truncated.

    Args:
        runs: At most MOST_RUNS.
    """
    counts = [_outcomes(run.records) for run in runs]
    tests = list(dict.fromkeys(test for own in counts for test in own))
    left = _label_width(tests)
    step, gap = (14.0, 12.0) if len(runs) > 1 else (18.0, 8.0)
    height = len(tests) * (step * len(runs) + gap) + _LOW
    canvas = Canvas(WIDTH, height, "outcomes per test")

    def x(value: float) -> float:
        return left + value * (WIDTH - left - _SIDE)

    _percent_axis(canvas, x, height - _LOW)
    for place, test in enumerate(tests):
        top = place * (step * len(runs) + gap) + gap / 2
        canvas.text(left - 12, top + step * len(runs) / 2 + 4, fitted(test, left - 12), "end")
        for k, (run, own) in enumerate(zip(runs, counts, strict=True)):
            if test in own:
                _shares(canvas, x, (top + k * step, step - 3), (run.name, own[test]))
    caption = (
        "Shares of samples. The thin line below a bar: samples with a text longer than the model "
        "reads, or a reply that was cut off."
    )
    if len(runs) > 1:
        caption += f" Per test, from top to bottom: {', '.join(run.name for run in runs)}."
    seen = {outcome for own in counts for of_test in own.values() for outcome in of_test}
    legend = tuple((f"o-{outcome}", outcome) for outcome in _OUTCOMES if outcome in seen)
    return Figure("Outcomes, ties and truncation", canvas.markup(), caption, legend)


def _outcomes(records: Records) -> dict[str, Counter[str]]:
    """Counts outcomes by test, and how many texts or replies were cut off."""
    found: dict[str, Counter[str]] = {}
    for record in records.rows("test", "outcome", "truncated"):
        own = found.setdefault(record["test"], Counter())
        own[record["outcome"]] += 1
        own[_CUT] += record["truncated"]
    return found


def _shares(
    canvas: Canvas, x: Any, band: tuple[float, float], what: tuple[str, Counter[str]]
) -> None:
    (top, height), (name, counts) = band, what
    done, n = 0, sum(counts[outcome] for outcome in _OUTCOMES)
    for outcome in _OUTCOMES:
        if counts[outcome]:
            ends = x(done / n), x((done + counts[outcome]) / n)
            bar = canvas.rect(ends[0], top, ends[1] - ends[0], height, f"o-{outcome}")
            tip(bar, f"{name}: {counts[outcome]} of {n} {outcome}")
            done += counts[outcome]
    if cut := counts[_CUT]:
        line = canvas.rect(x(0), top + height, x(cut / n) - x(0), 2, "truncated")
        tip(line, f"{name}: {cut} of {n} truncated")
    canvas.text(WIDTH - 4, top + height - 1, str(n), "end number")


def margins(run: Plotted) -> Figure | None:
    """Draws how clearly the right pair won or lost; None where nothing can be told.

    Args:
        run: One run: scores of different models have different units.
    """
    found = []
    for record in run.records.rows(*GRADED):
        value = margin(record["scores"], right_scores(record))
        if value is not None:
            found.append(value)
    if not found:
        return None
    values = np.array(found)
    reach = float(np.quantile(np.abs(values), 0.99)) or float(np.abs(values).max()) or 1.0
    counts, edges = np.histogram(np.clip(values, -reach, reach), 40, (-reach, reach))
    won, tied = int((values > 0).sum()), int((values == 0).sum())
    caption = (
        f"Score of the right pair less that of the best wrong one, {len(values)} samples; the "
        f"outermost bars hold all beyond. {won} above 0, {tied} tied at exactly 0, "
        f"{len(values) - won - tied} below; median {np.median(values):.4g}."
    )
    svg = _histogram(counts.tolist(), edges.tolist(), f"score margins of {run.name}")
    return Figure(f"Score margins: {run.name}", svg, caption)


def _histogram(counts: Sequence[int], edges: Sequence[float], title: str) -> str:
    height, left = 200.0, 44.0
    base, top = height - _LOW, 12.0
    canvas = Canvas(WIDTH, height, title)
    most, low, high = max(counts), edges[0], edges[-1]

    def x(value: float) -> float:
        return left + (value - low) / (high - low) * (WIDTH - left - 16)

    for mark in (mark for mark in ticks(0, most, 3) if mark == int(mark)):
        y = base - mark / most * (base - top)
        canvas.line(left, y, WIDTH - 16, y, "grid")
        canvas.text(left - 8, y + 4, f"{mark:g}", "end tick")
    for count, a, b in zip(counts, edges, edges[1:], strict=False):
        size = count / most * (base - top)
        style = "o-right" if a + b > 0 else "o-wrong"
        bar = canvas.rect(x(a) + 0.5, base - size, x(b) - x(a) - 1, size, style)
        tip(bar, f"{count} from {a:.3g} to {b:.3g}")
    canvas.line(x(0), top - 4, x(0), base + 4, "axis")
    for mark in ticks(low, high, 6):
        canvas.text(x(mark), height - 10, f"{mark:g}", "middle tick")
    return canvas.markup()


def calibration(runs: Sequence[tuple[str, Reliability]]) -> Figure:
    """Draws P(yes) against the share of texts that are true.

    Args:
        runs: Names, and what was found of each; at most MOST_RUNS.
    """
    size = 360.0 if len(runs) == 1 else 170.0
    wide, high = size + 60, size + 46
    columns = min(len(runs), 3)
    rows = -(-len(runs) // columns)
    canvas = Canvas(columns * wide, rows * high, "reliability of P(yes)")
    for k, (name, found) in enumerate(runs):
        corner = k % columns * wide + 44, k // columns * high + 8
        _reliability(canvas, corner, size, k, (name, found))
    errors = ", ".join(f"{name} {found.error:.3f}" for name, found in runs)
    caption = (
        "Share of pairs whose text does describe the clip, by P(yes), with 95 % intervals "
        "clustered by source, a square for each run; dashed: as it should be. Expected calibration "
        f"error: {errors}."
    )
    names = _legend([name for name, _ in runs])
    return Figure("Reliability of P(yes)", canvas.markup(), caption, names)


def _reliability(
    canvas: Canvas,
    corner: tuple[float, float],
    size: float,
    number: int,
    run: tuple[str, Reliability],
) -> None:
    """Draws the square of one run, the number of whose colour is given."""
    left, top = corner
    name, found = run

    def at(said: float, true: float) -> tuple[float, float]:
        return left + said * size, top + (1 - true) * size

    for mark in (0.0, 0.5, 1.0):
        canvas.line(*at(mark, 0), *at(mark, 1), "grid")
        canvas.line(*at(0, mark), *at(1, mark), "grid")
        canvas.text(at(mark, 0)[0], top + size + 14, f"{mark:g}", "middle tick")
        canvas.text(left - 8, at(0, mark)[1] + 4, f"{mark:g}", "end tick")
    canvas.text(left + size / 2, top + size + 28, "P(yes), mean of a bin", "middle tick")
    canvas.line(*at(0, 0), *at(1, 1), "chance")
    canvas.path([at(b.said, b.true) for b in found.bins], f"curve r{number}")
    for b in found.bins:
        canvas.line(*at(b.said, b.ci_low), *at(b.said, b.ci_high), f"interval r{number}")
        dot = canvas.dot(*at(b.said, b.true), 4, f"dot r{number}")
        tip(dot, f"{name}: {100 * b.true:.1f} % of {b.n} true where P(yes) is {b.said:.2f}")


def _percent_axis(canvas: Canvas, x: Any, base: float) -> None:
    for mark in (0.0, 0.25, 0.5, 0.75, 1.0):
        canvas.line(x(mark), 0, x(mark), base, "grid")
        canvas.text(x(mark), base + 20, f"{100 * mark:g}", "middle tick")


def _label_width(names: Sequence[str]) -> float:
    longest = max((len(name) for name in names), default=0)
    return min(210.0, max(70.0, longest * LABEL_WIDTH + 16))


def _legend(names: Sequence[str]) -> tuple[tuple[str, str], ...]:
    return tuple((f"r{k}", name) for k, name in enumerate(names)) if len(names) > 1 else ()
