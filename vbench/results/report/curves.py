"""Accuracy against the number of frames, where the runs of a report differ in it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from vbench.results.report.charts import Canvas, tip
from vbench.results.report.figures import MOST_RUNS, WIDTH, Figure

_LEFT, _LOW, _HEIGHT = 44.0, 40.0, 280.0
MOST_TESTS = 3
"""That get a curve each, where there is no average."""


@dataclass(frozen=True)
class Point:
    """One run on a curve."""

    curve: str
    """What its line is called: model and sampler."""
    frames: int
    tests: Mapping[str, Mapping[str, Any]]
    """Estimates, from summary.json."""


def point(config: Mapping[str, Any], tests: Mapping[str, Mapping[str, Any]]) -> Point | None:
    """Returns where a run stands; None if its sampler has no number of frames.

    Args:
        config: The run's settings.
        tests: Its estimates.
    """
    frames, choices = config["sampler"].get("num_frames"), config["command"]["choices"]
    if not isinstance(frames, int):
        return None
    name = f"{choices.get('entry') or choices['model']} {choices['sampler']}"
    order = config["sampler"].get("order", "in_order")
    return Point(name if order == "in_order" else f"{name} {order}", frames, tests)


def curves(points: Sequence[Point], tests: Sequence[str]) -> list[Figure]:
    """Draws a curve per model and sampler: of the average, or of the first tests.

    Args:
        points: The runs.
        tests: Names of estimates, averages first.

    Returns:
        Nothing if no curve has two numbers of frames.
    """
    lines: dict[str, dict[int, Point]] = {}
    for own in points:
        lines.setdefault(own.curve, {}).setdefault(own.frames, own)
    kept = {name: of for name, of in lines.items() if len(of) > 1}
    averages = [test for test in tests if test.startswith("average")]
    shown = averages[:1] or tests[:MOST_TESTS]
    return [_figure(dict(list(kept.items())[:MOST_RUNS]), test) for test in shown] if kept else []


def _figure(lines: Mapping[str, Mapping[int, Point]], test: str) -> Figure:
    counts = sorted({frames for of in lines.values() for frames in of})
    canvas = Canvas(WIDTH, _HEIGHT, f"{test} against frames")
    base, low, high = _HEIGHT - _LOW, math.log2(counts[0]), math.log2(counts[-1])

    def x(frames: int) -> float:
        return _LEFT + 20 + (math.log2(frames) - low) / (high - low) * (WIDTH - _LEFT - 60)

    def y(value: float) -> float:
        return 10 + (1 - value) * (base - 10)

    for mark in (0.0, 0.25, 0.5, 0.75, 1.0):
        canvas.line(_LEFT, y(mark), WIDTH - 16, y(mark), "grid")
        canvas.text(_LEFT - 8, y(mark) + 4, f"{100 * mark:g}", "end tick")
    for frames in counts:
        canvas.text(x(frames), base + 18, str(frames), "middle tick")
    canvas.text((WIDTH + _LEFT) / 2, base + 34, "frames", "middle tick")
    for k, (name, of) in enumerate(lines.items()):
        # Curves stand a little beside one another, or their intervals would hide one another.
        aside = 5 * (k - (len(lines) - 1) / 2)
        found = [(n, of[n].tests[test]) for n in sorted(of) if test in of[n].tests]
        canvas.path([(x(n) + aside, y(own["value"])) for n, own in found], f"curve r{k}")
        for n, own in found:
            at = x(n) + aside
            canvas.line(at, y(own["ci_low"]), at, y(own["ci_high"]), f"interval r{k}")
            tip(canvas.dot(at, y(own["value"]), 4, f"dot r{k}"), _said(name, n, own))
    chance = next((o.tests[test]["chance"] for of in lines.values() for o in of.values()), None)
    if chance is not None:
        canvas.line(_LEFT, y(chance), WIDTH - 16, y(chance), "chance")
    caption = (
        f"{test} in % with 95 % intervals by the number of frames asked for; dashed: chance. The "
        "same videos lie behind all points, so intervals that overlap may still differ; "
        "vbench compare pairs them."
    )
    legend = tuple((f"r{k}", name) for k, name in enumerate(lines))
    return Figure(f"Accuracy against frames: {test}", canvas.markup(), caption, legend)


def _said(name: str, frames: int, own: Mapping[str, Any]) -> str:
    low, high, value = (100 * own[key] for key in ("ci_low", "ci_high", "value"))
    return f"{name}, {frames} frames: {value:.1f} [{low:.1f}, {high:.1f}], n = {own['n']}"
