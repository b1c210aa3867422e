"""The sound of a clip, for a model that listens: mono, 16 kHz."""

from __future__ import annotations

import av
import numpy as np

from vbench.errors import DecodeError
from vbench.frames.container import opened

RATE_HZ = 16_000
"""What speech encoders (Whisper, ImageBind's audio tower) are fed."""


def read_audio(path: str, start_s: float = 0.0, end_s: float | None = None) -> np.ndarray:
    """Decodes the sound of a span of a video file.

    Args:
        path: The file.
        start_s: Seconds from the first frame of the video.
        end_s: The same; None: to the end of the file.

    Returns:
        (n,) float32 in -1 to 1, `RATE_HZ` samples a second; silence where the stream has gaps or
        starts late, empty where the file has no sound.

    Raises:
        DecodeError: The file cannot be read, or its sound is damaged.
    """
    with opened(path) as (container, video):
        if not container.streams.audio:
            return np.empty(0, dtype=np.float32)
        stream = container.streams.audio[0]
        origin = float((video.start_time or 0) * video.time_base)
        resampler = av.AudioResampler(format="flt", layout="mono", rate=RATE_HZ)
        pieces: list[tuple[int, np.ndarray]] = []
        for frame in container.decode(stream):
            begins_s = float(frame.time or 0.0) - origin
            if end_s is not None and begins_s >= end_s:
                break
            for part in resampler.resample(frame):
                at = round((begins_s if part.pts is None else _seconds(part, origin)) * RATE_HZ)
                pieces.append((at, part.to_ndarray()[0]))
        if not pieces:
            raise DecodeError("the sound cannot be decoded", where=path, mend="fetch it again")
        last = max(at + len(part) for at, part in pieces)
        first = round(start_s * RATE_HZ)
        length = (last if end_s is None else round(end_s * RATE_HZ)) - first
        return _laid_out(pieces, first, max(0, length))


def _seconds(frame: av.AudioFrame, origin: float) -> float:
    return float(frame.pts * frame.time_base) - origin


def _laid_out(pieces: list[tuple[int, np.ndarray]], first: int, length: int) -> np.ndarray:
    """Lays pieces out on one line of samples; what nobody fills is silent."""
    line = np.zeros(length, dtype=np.float32)
    for at, part in pieces:
        start, end = max(at - first, 0), min(at - first + len(part), length)
        if start < end:
            line[start:end] = part[start - (at - first) : end - (at - first)]
    return line
