"""No text of a dataset can leave its place in the page."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vbench.results.report.charts import Canvas, fitted, ticks
from vbench.results.report.page import as_json
from vbench.results.report.strips import pictured


@given(st.text(st.characters(codec=None, exclude_categories=[])))
def test_json_in_a_page_is_plain_and_comes_back_whole(text: str) -> None:
    written = str(as_json({text: [text]}))
    assert written.isascii()
    assert written.isprintable()
    assert not set(written) & set("<>&")
    assert json.loads(written) == {text: [text]}


def test_json_in_a_page_is_strict() -> None:
    with pytest.raises(ValueError, match="JSON"):
        as_json(float("nan"))


def test_a_drawing_escapes_names() -> None:
    canvas = Canvas(10, 10, '"><script>alert(1)</script>')
    canvas.text(0, 0, "</text><img src=x onerror=alert(1)>\x00\u202e")
    markup = canvas.markup()
    assert "<script" not in markup
    assert "<img" not in markup
    assert "\\x00\\u202e" in markup


@pytest.mark.parametrize(("low", "high"), [(0, 1), (-0.31, 0.31), (0, 1526), (-1e-4, 1e-4), (3, 3)])
def test_ticks_are_few_and_within(low: float, high: float) -> None:
    found = ticks(low, high)
    assert 1 <= len(found) <= 12
    assert all(low - 1e-9 <= mark <= high + 1e-9 for mark in found)
    assert high == low or 0 in [round(mark, 12) for mark in found]


def test_labels_are_cut_to_their_room() -> None:
    assert fitted("short", 200) == "short"
    assert len(fitted("a" * 99, 126)) == 20


def test_a_strip_shows_what_write_strip_drew() -> None:
    from vbench.loop.strips import evenly

    assert pictured(21) == [int(k) for k in evenly(range(21))]
    assert pictured(21) != list(range(20))
    assert pictured(3) is None
