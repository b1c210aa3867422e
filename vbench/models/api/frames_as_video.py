"""Frames as a video file of their own, for servers that take video: they see our frames only."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from vbench.models.api.frames_as_images import check_side, shrink
from vbench.protocols import ClipTiming

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True)
class FramesAsVideo:
    """Encodes a clip's frames into an mp4 (`protocols.ClipPreprocess`).

    H.264 without chroma subsampling is what few servers decode, so it is yuv420p: sides are cut to
    even numbers. The frame rate is the mean rate at which the frames were sampled.
    """

    crf: int = 18
    """x264's quality, 0 (lossless) to 51; 18 is visually close to the original."""
    max_side: int | None = 768

    def __post_init__(self) -> None:
        """Checks the size cap.

        Raises:
            ConfigError: It leaves no picture.
        """
        check_side(self.max_side)

    def view(self, frames: Sequence[np.ndarray], timing: ClipTiming) -> Mapping[str, Any]:
        """Returns `media` (one mp4), `mime` and `shape` (n, h, w)."""
        shrunk = [shrink(frame, self.max_side) for frame in frames]
        height, width = (side - side % 2 for side in shrunk[0].shape[:2])
        even = [frame[:height, :width] for frame in shrunk]
        return {
            "media": [self._encode(even, mean_rate(timing.timestamps_s))],
            "mime": "video/mp4",
            "shape": (len(even), height, width),
        }

    def digest(self) -> str:
        """Returns the settings."""
        return f"video mp4 h264 crf={self.crf} max_side={self.max_side}"

    def _encode(self, frames: Sequence[np.ndarray], rate: Fraction) -> bytes:
        import av
        import numpy as np

        stream = io.BytesIO()
        with av.open(stream, "w", format="mp4") as output:
            options = {"crf": str(self.crf), "preset": "medium", "threads": "1"}
            video = output.add_stream("libx264", rate=rate, options=options)
            video.height, video.width = frames[0].shape[:2]
            video.pix_fmt = "yuv420p"
            for frame in frames:
                picture = av.VideoFrame.from_ndarray(np.ascontiguousarray(frame), format="rgb24")
                output.mux(video.encode(picture))
            output.mux(video.encode())
        return stream.getvalue()


def mean_rate(timestamps_s: Sequence[float]) -> Fraction:
    """Returns the mean rate of frames per second, in whatever order; 1 where there is none.

    >>> mean_rate([0.0, 0.5, 1.0]), mean_rate([1.0, 0.0, 0.5])
    (Fraction(2, 1), Fraction(2, 1))
    """
    span = max(timestamps_s) - min(timestamps_s) if timestamps_s else 0.0
    if span <= 0:
        return Fraction(1)
    return Fraction((len(timestamps_s) - 1) / span).limit_denominator(1000)
