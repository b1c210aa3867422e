"""Frames at a fixed step, for models that count frames where others look at times."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import ClassVar

from vbench.errors import ConfigError
from vbench.frames.rules import uniform_endpoints
from vbench.frames.samplers import Sampler
from vbench.frames.timeline import Span


def stride(n: int, step: int, max_frames: int | None) -> list[int]:
    """Every step-th frame from the first; past max_frames, uniform_endpoints among those.

    Source: Chat-UniVi (ChatUniVi/eval/model_video_qa.py, _get_rawvideo_dec).

    >>> stride(240, 24, None)
    [0, 24, 48, 72, 96, 120, 144, 168, 192, 216]
    >>> stride(240, 24, 4)
    [0, 72, 144, 216]
    """
    found = list(range(0, n, step))
    if max_frames is None or len(found) <= max_frames:
        return found
    return [found[place] for place in uniform_endpoints(len(found), max_frames)]


@dataclass(frozen=True)
class StrideSampler(Sampler):
    """A step of round(source_fps / fps) frames, with a cap."""

    name: str = "stride"
    fps: float = field(default=1.0, kw_only=True)
    max_frames: int | None = field(default=64, kw_only=True)
    """Past it so many of the frames are taken, both ends among them; None: no cap."""

    names: ClassVar = frozenset({"stride"})

    def __post_init__(self) -> None:
        super().__post_init__()
        for key, value in (("fps", self.fps), ("max_frames", self.max_frames)):
            if value is not None and (isinstance(value, bool) or not 0 < value < float("inf")):
                raise ConfigError(
                    f"{key}={value!r} is not above 0",
                    where=f"sampler.{key}",
                    mend=f"give a number above 0, e.g. sampler.{key}=1",
                )

    def frames_wanted(self, span: Span) -> int:
        """Returns how many the rule names."""
        return len(list(self.positions(span)))

    def positions(self, span: Span) -> Iterable[int]:
        """Applies `stride`, by at least one frame."""
        step = max(1, round(span.source_fps / self.fps))
        return stride(len(span.timestamps_s), step, self.max_frames)
