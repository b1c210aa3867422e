"""Frames as encoded pictures, for APIs that take images and no video."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from vbench.errors import ConfigError
from vbench.protocols import ClipTiming

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True)
class FramesAsImages:
    """Turns a clip's frames into encoded pictures (`protocols.ClipPreprocess`)."""

    format: Literal["jpeg", "png"] = "jpeg"
    quality: int = 90
    """Of JPEG, 1 to 95, with chroma at full resolution; PNG loses nothing."""
    max_side: int | None = 768
    """A longer side is shrunk to so many pixels, bicubic; None: frames as they are."""

    def __post_init__(self) -> None:
        """Checks the numbers.

        Raises:
            ConfigError: One of them is out of range.
        """
        if not 1 <= self.quality <= 95:
            raise ConfigError(
                "a JPEG's quality lies between 1 and 95",
                where=f"quality={self.quality}",
                mend="90 is close to the original; format=png loses nothing",
            )
        check_side(self.max_side)

    def view(self, frames: Sequence[np.ndarray], timing: ClipTiming) -> Mapping[str, Any]:
        """Returns `media` (n encoded pictures), `mime` and `shape` (n, h, w)."""
        shrunk = [shrink(frame, self.max_side) for frame in frames]
        height, width = shrunk[0].shape[:2] if shrunk else (0, 0)
        return {
            "media": [self._encode(frame) for frame in shrunk],
            "mime": f"image/{self.format}",
            "shape": (len(shrunk), height, width),
        }

    def digest(self) -> str:
        """Returns the settings."""
        quality = f" quality={self.quality}" if self.format == "jpeg" else ""
        return f"images {self.format}{quality} max_side={self.max_side}"

    def _encode(self, frame: np.ndarray) -> bytes:
        from PIL import Image

        stream = io.BytesIO()
        options = {"quality": self.quality, "subsampling": 0} if self.format == "jpeg" else {}
        Image.fromarray(frame).save(stream, self.format, **options)
        return stream.getvalue()


def check_side(max_side: int | None) -> None:
    """Checks a size cap.

    Raises:
        ConfigError: It leaves no picture.
    """
    if max_side is not None and max_side < 2:
        raise ConfigError(
            "max_side is too small for a picture",
            where=f"max_side={max_side}",
            mend="give pixels, or null for frames as they are",
        )


def shrink(frame: np.ndarray, max_side: int | None) -> np.ndarray:
    """Shrinks a frame (h, w, 3), uint8, so that its longer side has at most so many pixels.

    >>> import numpy as np
    >>> shrink(np.zeros((60, 80, 3), np.uint8), 40).shape
    (30, 40, 3)
    """
    import numpy as np
    from PIL import Image

    height, width = frame.shape[:2]
    longer = max(height, width)
    if max_side is None or longer <= max_side:
        return frame
    size = [max(1, round(side * max_side / longer)) for side in (width, height)]
    picture = Image.fromarray(frame).resize((size[0], size[1]), Image.Resampling.BICUBIC)
    return np.asarray(picture)
