"""What the loop asks of files and of the cache of their frames; the real ones are handed in."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any, Protocol

import numpy as np

from vbench.records import Clip


class Picked(Protocol):
    """The frames that a sampler chose for a clip."""

    @property
    def indices(self) -> tuple[int, ...]:
        """Ranks within the file, in the order the model is to see them."""
        ...

    @property
    def timestamps_s(self) -> tuple[float, ...]:
        """Seconds from the file's first frame."""
        ...

    @property
    def wanted(self) -> int:
        """How many the sampler was asked for."""
        ...


class Frame(Protocol):
    """One decoded frame."""

    @property
    def index(self) -> int:
        """Rank within the file."""
        ...

    @property
    def pixels(self) -> np.ndarray:
        """uint8, h w 3, RGB."""
        ...


class FrameRecall(Protocol):
    """Embeddings of single frames, by the content of the file they are in."""

    def get(self, content: str, indices: Collection[int]) -> dict[int, np.ndarray]:
        """Returns those that are known, each (d,)."""
        ...

    def item(self, content: str, index: int) -> str:
        """Returns what a frame is called in the cache."""
        ...


class Timeline(Protocol):
    """The frames of a file."""

    @property
    def timestamps_s(self) -> tuple[float, ...]:
        """One per frame, ascending, seconds from the file's first frame."""
        ...

    @property
    def end_s(self) -> float:
        """When the last frame stops being shown."""
        ...

    @property
    def has_audio(self) -> bool:
        """Whether the file has sound as well."""
        ...


class Source(Protocol):
    """An opened video file or folder of frames."""

    @property
    def timeline(self) -> Timeline:
        """The frames it holds and when they are shown."""
        ...

    def pick(self, clip: Clip, sampler: Any) -> Picked:
        """Returns the frames a sampler chooses within a clip's span."""
        ...

    def frames(self, indices: Collection[int]) -> Iterator[Frame]:
        """Yields the wanted frames, each once, as they leave the decoder in one pass."""
        ...
