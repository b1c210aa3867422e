"""An hour of video at one frame a second, in memory that does not depend on its size on screen."""

from __future__ import annotations

import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest

MEASURE = """
import resource, sys, torch
from vbench.frames.samplers import RateSampler
from vbench.frames.source import open_source
from vbench.image_transform import ImageTransform
from vbench.loop.data import WorkDataset
from vbench.loop.plan import FileWork
from vbench.records import Clip

size = int(sys.argv[2])
transform = ImageTransform(size=(size, size), crop=(size, size))
torch.zeros(1)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
work = FileWork(sys.argv[1], (("k", Clip("v", sys.argv[1])),))
made = WorkDataset([work], open_source, RateSampler("fps", fps=1.0), transform, None)[0]
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(len(made.pixels), made.pixels.nbytes, before * 1024, peak * 1024)
"""


def an_hour(path: str) -> None:
    rng = np.random.default_rng(0)
    pictures = [
        av.VideoFrame.from_ndarray(rng.integers(0, 255, (720, 1280, 3), np.uint8), format="rgb24")
        .reformat(format="yuv420p")
        for _ in range(3)
    ]  # fmt: skip
    with av.open(path, "w") as output:
        options = {"preset": "ultrafast", "crf": "51"}
        stream: Any = output.add_stream("libx264", rate=1, options=options)
        stream.width, stream.height, stream.pix_fmt = 1280, 720, "yuv420p"
        for number in range(3600):
            frame = pictures[number // 40 % 3]
            frame.pts, frame.time_base = number, Fraction(1, 1)
            output.mux(stream.encode(frame))
        output.mux(stream.encode(None))


@pytest.mark.slow
def test_an_hour_at_one_frame_a_second_fits(tmp_path: Path) -> None:
    an_hour(str(tmp_path / "hour.mp4"))
    command = [sys.executable, "-c", MEASURE, str(tmp_path / "hour.mp4"), "224"]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=300)
    frames, pixels, before, peak = map(int, done.stdout.split())
    assert frames == 3600
    assert peak < 2e9
    # what is kept, and 16 frames at full size with room for the decoder
    assert peak - before < pixels + 200e6
