"""Frames at a fixed step, against the arithmetic of Chat-UniVi's evaluations."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vbench.errors import ConfigError
from vbench.frames.stride import StrideSampler, stride
from vbench.frames.timeline import Span


@given(n=st.integers(1, 9000), rate=st.floats(0.6, 61), cap=st.integers(1, 100))
def test_frames_equal_their_source(n: int, rate: float, cap: int) -> None:
    found = list(range(0, n, round(rate)))
    if len(found) > cap:
        found = [found[at] for at in np.linspace(0, len(found) - 1, num=cap, dtype=int)]
    times = tuple(i / rate for i in range(n))
    span = Span(times, rate, 0.0, n / rate)
    assert StrideSampler(max_frames=cap)(span) == found
    assert stride(n, round(rate), cap) == found


def test_a_step_is_a_frame_at_least() -> None:
    span = Span((0.0, 4.0, 8.0), 0.25, 0.0, 12.0)
    assert StrideSampler(max_frames=None)(span) == [0, 1, 2]


@pytest.mark.parametrize("setting", [{"fps": 0}, {"max_frames": 0}, {"fps": float("nan")}])
def test_settings_that_count_nothing_are_refused(setting: dict[str, float]) -> None:
    with pytest.raises(ConfigError, match="is not above 0"):
        StrideSampler(**setting)  # type: ignore[arg-type]
