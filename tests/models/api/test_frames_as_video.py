from __future__ import annotations

import io

import av
import numpy as np
import pytest

from vbench.models.api.frames_as_video import FramesAsVideo
from vbench.models.api.settings import Blackened
from vbench.protocols import ClipPreprocess, ClipTiming


def read(piece: bytes) -> tuple[list[np.ndarray], float]:
    with av.open(io.BytesIO(piece)) as file:
        found = [frame.to_ndarray(format="rgb24") for frame in file.decode(video=0)]
        return found, float(file.streams.video[0].average_rate or 0)


def test_a_server_decodes_our_frames_and_no_others(
    frames: list[np.ndarray], timing: ClipTiming
) -> None:
    inputs = FramesAsVideo().view(frames, timing)
    (piece,) = inputs["media"]
    found, rate = read(piece)
    assert inputs["mime"] == "video/mp4"
    assert inputs["shape"] == (3, 48, 64)
    assert rate == pytest.approx(2.0)  # frames lie half a second apart
    assert len(found) == 3
    for shown, frame in zip(found, frames, strict=True):
        assert np.abs(shown.astype(int) - frame).mean() < 4


def test_odd_sides_and_single_frames() -> None:
    timing = ClipTiming((0,), (0.0,), 10.0, 20)
    inputs = FramesAsVideo(max_side=33).view([np.full((99, 51, 3), 200, np.uint8)], timing)
    (found,), rate = read(inputs["media"][0])
    assert inputs["shape"] == (1, 32, 16)
    assert found.shape == (32, 16, 3)
    assert rate == 1
    assert abs(int(found.mean()) - 200) < 4


def test_settings_are_in_the_digest() -> None:
    made = [FramesAsVideo(), FramesAsVideo(crf=20), FramesAsVideo(max_side=64)]
    assert len({one.digest() for one in made}) == 3
    assert isinstance(made[0], ClipPreprocess)


def test_blackened_frames(frames: list[np.ndarray], timing: ClipTiming) -> None:
    black = Blackened(FramesAsVideo())
    found, _ = read(black.view(frames, timing)["media"][0])
    assert len(found) == 3
    assert max(frame.mean() for frame in found) < 2
    assert black.digest() != FramesAsVideo().digest()
