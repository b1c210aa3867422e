"""Drawings of ablations lie where the numbers say, and their captions say what moved."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any
from xml.etree.ElementTree import Element, fromstring

import pytest

from vbench.results.ablation import Ablation, Point, Series
from vbench.results.axes import AXES, Place
from vbench.results.paired import Difference
from vbench.results.report.curves import ablation_figure
from vbench.results.report.figures import Figure, calibration
from vbench.results.report.margins import Bin, Reliability

COUNTS, SAMPLERS, ORDERS = AXES


def estimate(value: float) -> dict[str, Any]:
    return {"value": value, "ci_low": value - 0.1, "ci_high": value + 0.1, "n": 9, "chance": 0.5}


def change(by: float) -> Difference:
    return Difference(0.5 + by, 0.5, by, by - 0.05, by + 0.05, 0.02, 0.5, 9, 3, 1, 1, 7, 2, 0.1, 2)


def point(place: Place, value: float, by: float | None = None, moved: float | None = None) -> Point:
    return Point(place, estimate(value), None if by is None else change(by), "first", moved)


def marks(figure: Figure, tag: str, style: str) -> list[Element]:
    root = fromstring(figure.svg)  # noqa: S314, for it is our own
    return [one for one in root.iter(tag) if one.get("class") == style]


def dots(figure: Figure, series: int = 0) -> list[tuple[float, float, str]]:
    """Returns x, y and what is said of each."""
    found = marks(figure, "circle", f"dot r{series}")
    return [(float(e.get("cx", "")), float(e.get("cy", "")), e[0].text or "") for e in found]


def test_more_frames_are_right_and_higher_values_up() -> None:
    points = (point(2, 0.5), point(4, 0.4, -0.1), point(8, 0.7, 0.3))
    figure = ablation_figure(Ablation(COUNTS, "average", (2, 4, 8), (Series("toy/clip", points),)))
    two, four, four_change, eight, eight_change = dots(figure)
    assert eight[1] < two[1] < four[1]  # SVG counts downwards
    assert round(four[0] - two[0], 1) == round(eight[0] - four[0], 1) > 0
    assert eight[2] == "toy/clip, 8: 70.0 [60.0, 80.0], n = 9"
    (zero,) = marks(figure, "line", "axis")
    assert eight_change[1] < float(zero.get("y1", "")) < four_change[1]
    assert eight_change[2] == "toy/clip, 8 against first: +30.0 [25.0, 35.0]"
    (curve,) = marks(figure, "polyline", "curve r0")
    drawn = [tuple(map(float, pair.split(","))) for pair in curve.get("points", "").split()]
    assert drawn == [(x, y) for x, y, _ in (two, four, eight)]
    assert figure.legend == (("r0", "toy/clip"),)
    assert "the number before" in figure.caption


def test_the_caption_says_where_clips_are_short() -> None:
    own = {"clips": 9, "short": 2, "wanted_min": 8, "wanted_max": 8, "short_min": 3, "short_max": 5}
    short = replace(point(8, 0.7, 0.3), coverage={"frames": own})
    series = Series("toy/clip", (point(4, 0.5), short))
    figure = ablation_figure(Ablation(COUNTS, "average", (4, 8), (series,)))
    assert "8: 2 of 9 clips have fewer frames than the 8 asked for: 3 to 5." in figure.caption


def test_orders_are_lines_of_a_list_and_the_caption_says_whose_scores_move() -> None:
    still = Series("toy/clip", (point("in_order", 0.6), point("shuffle", 0.6, 0.0, 3e-8)))
    moved = Series("toy/vlm", (point("in_order", 0.9), point("shuffle", 0.5, -0.4, 0.5)))
    figure = ablation_figure(Ablation(ORDERS, "chrono", ("in_order", "shuffle"), (still, moved)))
    (x, y, _), (_, below, _), (same, _, _) = dots(figure, 0)
    (higher, beside, _), _, (lost, _, _) = dots(figure, 1)
    assert x < higher
    assert y < beside < below
    assert lost < same
    assert marks(figure, "polyline", "curve r0") == []
    assert "any score: toy/clip: shuffle 3e-08; toy/vlm: shuffle 0.5." in figure.caption
    assert "difference to in_order" in figure.caption


def test_where_nothing_can_be_paired_it_says_so() -> None:
    own = Series("a", (point("fps", 0.5), point("nested", 0.6)))
    figure = ablation_figure(Ablation(SAMPLERS, "t", ("fps", "nested"), (own,)))
    assert len(dots(figure)) == 2
    assert "no two runs share samples" in figure.svg


def test_lines_beyond_the_colours_are_counted() -> None:
    series = tuple(Series(f"m{k}", (point(1, 0.5), point(2, 0.6, 0.1))) for k in range(12))
    figure = ablation_figure(Ablation(COUNTS, "t", (1, 2), series))
    assert len(figure.legend) == len(set(re.findall(r"dot (r\d+)", figure.svg))) == 10
    assert "2 more lines are not drawn" in figure.caption


def test_the_reliability_of_each_run_is_a_square_of_its_own() -> None:
    found = Reliability((Bin(0.1, 0.25, 0.0, 0.6, 8), Bin(0.9, 0.75, 0.5, 1.0, 8)), 0.15, 16)
    figure = calibration([(name, found) for name in "abcd"])
    squares = [
        tuple(float(line.get(name, "")) for name in ("x1", "y1", "x2", "y2"))
        for line in marks(figure, "line", "chance")
    ]
    assert len(squares) == len({(left, low) for left, low, _, _ in squares}) == 4
    for k, (left, low, right, high) in enumerate(squares):
        for (x, y, said), b in zip(dots(figure, k), found.bins, strict=True):
            assert ((x - left) / (right - left), (low - y) / (low - high)) == (
                pytest.approx(b.said, abs=0.01), pytest.approx(b.true, abs=0.01)
            )  # fmt: skip
            assert said.startswith(f"{'abcd'[k]}: {100 * b.true:.1f} % of 8 true")
    assert "a 0.150, b 0.150" in figure.caption
