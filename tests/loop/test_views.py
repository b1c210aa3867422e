"""When a clip's frames were taken, as processors are told."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from vbench.loop.data import PreparedClip
from vbench.loop.views import time_clip
from vbench.records import Clip

FILE: Any = SimpleNamespace(
    timeline=SimpleNamespace(timestamps_s=tuple(i / 10 for i in range(100)), end_s=10.0)
)


@pytest.mark.parametrize(("end_s", "duration_s"), [(5.0, 3.0), (None, 8.0), (12.0, 8.0)])
def test_times_count_from_the_start_of_the_clip(end_s: float | None, duration_s: float) -> None:
    clip = PreparedClip("k", Clip("v", "v.mp4", 2.0, end_s), (20, 35), (2.0, 3.5))
    time_clip(FILE, clip)
    assert clip.timing is not None
    assert clip.timing.timestamps_s == (0.0, 1.5)
    assert clip.timing.frame_indices == (20, 35)
    assert (clip.timing.source_fps, clip.timing.total_frames) == (10.0, 100)
    assert clip.timing.duration_s == pytest.approx(duration_s)
