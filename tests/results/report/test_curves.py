"""A curve per model and sampler, where runs differ in the number of frames."""

from __future__ import annotations

import re
from typing import Any

from vbench.results.report.curves import curves, point


def estimates(value: float) -> dict[str, dict[str, Any]]:
    own = {"value": value, "ci_low": value - 0.1, "ci_high": value + 0.1, "n": 9, "chance": 0.5}
    return {"average": own, "chrono": own}


def config(frames: int | None, sampler: str = "nested", order: str = "in_order") -> dict[str, Any]:
    return {
        "sampler": {"num_frames": frames, "order": order},
        "command": {"choices": {"model": "toy/clip", "sampler": sampler}},
    }


def test_higher_is_up_and_more_frames_are_right() -> None:
    found = [point(config(n), estimates(value)) for n, value in ((8, 0.7), (2, 0.5), (4, 0.4))]
    (figure,) = curves([p for p in found if p is not None], ["average", "chrono"])
    points = re.findall(r'class="curve r0" points="([^"]+)"', figure.svg) or re.findall(
        r'points="([^"]+)"', figure.svg
    )
    places = [tuple(map(float, pair.split(","))) for pair in points[0].split()]
    assert [x for x, _ in places] == sorted(x for x, _ in places)
    two, four, eight = (y for _, y in places)
    assert eight < two < four  # SVG counts downwards
    assert places[1][0] - places[0][0] == places[2][0] - places[1][0]
    assert "toy/clip nested, 8 frames: 70.0 [60.0, 80.0], n = 9" in figure.svg
    assert figure.legend == (("r0", "toy/clip nested"),)


def test_orders_and_samplers_have_lines_of_their_own() -> None:
    settings = [
        config(n, s, o) for n in (1, 2) for s, o in (("fps", "in_order"), ("fps", "shuffle"))
    ]
    found = [point(one, estimates(0.5)) for one in settings]
    (figure,) = curves([p for p in found if p is not None], ["average"])
    assert [name for _, name in figure.legend] == ["toy/clip fps", "toy/clip fps shuffle"]


def test_one_number_of_frames_is_no_curve() -> None:
    assert point(config(None), estimates(0.5)) is None
    single = point(config(4), estimates(0.5))
    assert single is not None
    assert curves([single, single], ["average"]) == []


def test_without_an_average_the_first_tests_are_drawn() -> None:
    found = [point(config(n), estimates(0.5)) for n in (1, 2)]
    drawn = curves([p for p in found if p is not None], ["chrono"])
    assert [figure.title for figure in drawn] == ["Accuracy against frames: chrono"]
