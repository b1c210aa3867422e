"""One face for everything frames can be read from: video files and folders of images."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from vbench.errors import DecodeError
from vbench.frames.timeline import Span, Timeline
from vbench.records import Clip

if TYPE_CHECKING:
    import numpy as np


class Sampler(Protocol):
    """What a source needs of a sampler."""

    def __call__(self, span: Span) -> list[int]:
        """Returns positions within the span, in the order of delivery."""
        ...

    def frames_wanted(self, span: Span) -> int:
        """Returns how many frames the rule asks for."""
        ...


@dataclass(frozen=True, slots=True)
class Picked:
    """The frames that a sampler chose for a clip."""

    indices: tuple[int, ...]
    """Ranks by presentation time within the file, in the order of delivery."""
    timestamps_s: tuple[float, ...]
    wanted: int
    """How many the sampler was asked for; `len(indices)` can be delivered."""


@dataclass(frozen=True, slots=True)
class Frame:
    """One decoded frame."""

    index: int
    """Rank by presentation time within the file, from 0."""
    timestamp_s: float
    pixels: np.ndarray
    """uint8, h w 3, RGB, upright."""


class Source(ABC):
    """An opened video file or folder of images; holds no handle between calls."""

    timeline: Timeline
    """The frames it holds and when they are shown."""

    @abstractmethod
    def frames(self, indices: Collection[int]) -> Iterator[Frame]:
        """Yields the frames with these indices, each once, in ascending order, in one pass.

        Raises:
            DecodeError: A wanted frame cannot be decoded; a neighbour never takes its place.
        """

    def pick(self, clip: Clip, sampler: Sampler) -> Picked:
        """Lets a sampler choose among the frames of a clip's span.

        Raises:
            DecodeError: The span holds no frame.
        """
        span = self.timeline.span(clip.start_s, clip.end_s)
        positions = sampler(span)
        return Picked(
            tuple(span.first_index + position for position in positions),
            tuple(span.timestamps_s[position] for position in positions),
            sampler.frames_wanted(span),
        )

    def read(self, indices: Collection[int]) -> dict[int, np.ndarray]:
        """Returns the pixels of the frames with these indices, decoded in one pass.

        Raises:
            DecodeError: See `frames`.
        """
        return {frame.index: frame.pixels for frame in self.frames(indices)}

    def _checked(self, indices: Collection[int]) -> set[int]:
        count = len(self.timeline.timestamps_s)
        if outside := [index for index in indices if not 0 <= index < count]:
            raise DecodeError(
                f"frame {outside[0]} does not exist",
                where=self.timeline.path,
                why=f"its frames are 0 to {count - 1}",
            )
        return set(indices)


def open_source(path: str, frames_fps: float | None = None, planned: bool = True) -> Source:
    """Opens a video file, or a folder of images as a video.

    Args:
        path: The file or folder.
        frames_fps: For a folder: how many of its frames make a second; None where their names say
            so (see `vbench.frames.images`). No setting of a run reaches it.
        planned: For a video file: see `vbench.frames.video.VideoFile`.

    Raises:
        DecodeError: There is nothing at the path, or it holds no frame that can be decoded.
    """
    # here, not above: both are Sources, and a folder of images needs no decoder
    if os.path.isdir(path):  # noqa: PTH112 - Path's raises where a parent may not be entered
        from vbench.frames.images import FrameFolder

        return FrameFolder(path, frames_fps)
    from vbench.frames.video import VideoFile

    return VideoFile(path, planned)
