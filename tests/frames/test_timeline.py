"""Which frames belong to a span of time."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vbench.errors import DecodeError
from vbench.frames.timeline import Timeline


def timeline(count: int, rate: Fraction) -> Timeline:
    times = tuple(float(i / rate) for i in range(count))
    return Timeline("v.mp4", times, float(count / rate), 64, 48, "h264", identity="abc")


@given(
    count=st.integers(2, 500),
    rate=st.sampled_from(
        [Fraction(24), Fraction(30000, 1001), Fraction(25), Fraction(24000, 1001)]
    ),
    data=st.data(),
)
def test_spans_cut_at_frames_partition_the_file(
    count: int, rate: Fraction, data: st.DataObject
) -> None:
    """A frame on the border belongs to the later span, whichever way its time was rounded."""
    cut = data.draw(st.integers(1, count - 1))
    exact = float(cut / rate)
    for border in (exact, round(exact, 9), exact + 1e-10, exact - 1e-10):
        whole = timeline(count, rate)
        left, right = whole.span(0.0, border), whole.span(border)
        assert (left.first_index, len(left.timestamps_s)) == (0, cut)
        assert (right.first_index, len(right.timestamps_s)) == (cut, count - cut)
        assert left.timestamps_s + right.timestamps_s == whole.timestamps_s
        assert left.source_fps == right.source_fps
        assert left.identity == "abc"


def test_an_end_past_the_file_is_kept_as_asked() -> None:
    short = timeline(120, Fraction(24))
    assert short.span(0.0, 10.0).end_s == 10.0
    assert len(short.span(0.0, 10.0).timestamps_s) == 120
    assert short.span().end_s == 5.0
    assert short.span(4.0).end_s == 5.0


@pytest.mark.parametrize(
    ("start", "end", "what"),
    [
        (3.0, 3.0, "is empty"),
        (4.0, 3.0, "is empty"),
        (6.0, None, "is empty"),
        (float("nan"), 3.0, "is empty"),
        (0.0, float("nan"), "is empty"),
        (0.0, float("inf"), "is empty"),
        (6.0, 8.0, "no frame is shown between"),
        (1.001, 1.002, "no frame is shown between"),
        (-2.0, -1.0, "no frame is shown between"),
    ],
)
def test_spans_without_frames_say_so(start: float, end: float | None, what: str) -> None:
    with pytest.raises(DecodeError, match=what) as caught:
        timeline(120, Fraction(24)).span(start, end)
    assert caught.value.where == "v.mp4"
    assert "s" in caught.value.why
