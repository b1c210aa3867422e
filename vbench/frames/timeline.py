"""When the frames of a file are shown, and which of them belong to a span of time."""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass

from vbench.errors import DecodeError

EPSILON_S = 1e-6
"""Times closer than this are the same moment.

Presentation times are integers in ticks of 1/1000 to 1/90000 s turned into doubles, and so are the
ends of spans: the double of a frame's own time may lie a hair before or after the number that a
dataset wrote down. A microsecond is far above that rounding and far below any tick.
"""


@dataclass(frozen=True, slots=True)
class Span:
    """What a sampler may look at: the frames of a file with start_s <= t < end_s."""

    timestamps_s: tuple[float, ...]
    """Presentation times of the span's frames, seconds from the file's first frame, ascending."""
    source_fps: float
    """Average frames per second of the whole file."""
    start_s: float
    end_s: float
    first_index: int = 0
    """Index within the file of the span's first frame: position p is frame first_index + p."""
    identity: str = ""
    """What seeded draws hang on beside the seed. It follows from the file's bytes, never from its
    name, so that a copy under another name gets the same frames."""


@dataclass(frozen=True, slots=True)
class Timeline:
    """The frames that decoding a file delivers, in presentation order."""

    path: str
    timestamps_s: tuple[float, ...]
    """One per frame, ascending, seconds from the file's first frame (from the start of the video
    that was sampled, for a folder of samples)."""
    end_s: float
    """When the last frame stops being shown, on the same clock."""
    width: int
    """Pixels as shown, after rotation."""
    height: int
    codec: str
    rotation: int = 0
    """Degrees counter-clockwise by which the file asks players to turn its frames; they come
    turned."""
    identity: str = ""
    """See `Span.identity`."""
    has_audio: bool = False
    """Whether the file has sound as well."""

    @property
    def source_fps(self) -> float:
        """Average frames per second: frames over duration, whatever the header claims."""
        return len(self.timestamps_s) / self.end_s

    def span(self, start_s: float = 0.0, end_s: float | None = None) -> Span:
        """Selects the frames with start_s <= t < end_s.

        Args:
            start_s: Seconds on the timeline's clock.
            end_s: The same; None: to the end of the file. An end past
                the file's is kept as asked, so that what is missing stays countable.

        Raises:
            DecodeError: The span is reversed, not a number, or holds no frame.
        """
        end = self.end_s if end_s is None else end_s
        if not (math.isfinite(start_s) and math.isfinite(end) and start_s < end):
            raise DecodeError(
                f"the span {start_s} s to {end} s is empty",
                where=self.path,
                why=f"the file has {self.end_s:.3f} s",
                mend="give a start before the end, both in seconds from the start of the file",
            )
        first = bisect_left(self.timestamps_s, start_s - EPSILON_S)
        last = bisect_left(self.timestamps_s, end - EPSILON_S)
        if first >= last:
            raise DecodeError(
                f"no frame is shown between {start_s} s and {end} s",
                where=self.path,
                why=f"the last frame is shown at {self.timestamps_s[-1]:.3f} s",
                mend="give a span inside the file, or fetch the file again if it is cut short",
            )
        times = self.timestamps_s[first:last]
        return Span(times, self.source_fps, start_s, end, first, self.identity)
