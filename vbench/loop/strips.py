"""Strips: the frames a model saw, side by side, small."""

from __future__ import annotations

import io
import os
import uuid
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from vbench.errors import RunError

MOST_FRAMES, HEIGHT = 20, 72


def evenly(items: Sequence[Any], most: int = MOST_FRAMES) -> list[Any]:
    """Returns at most so many items, evenly chosen from the first to the last.

    >>> evenly(range(7), 3)
    [0, 3, 6]
    """
    return [items[i] for i in np.linspace(0, len(items) - 1, min(most, len(items))).astype(int)]


def thumbnail(frame: np.ndarray) -> np.ndarray:
    """Scales a frame (uint8, h w 3) to the height of a strip."""
    height, width = frame.shape[:2]
    # A JPEG is at most 65500 wide, and some video is one pixel high.
    size = min(max(1, width * HEIGHT // height), 16 * HEIGHT), HEIGHT
    return np.asarray(Image.fromarray(frame).resize(size))


def write_strip(frames: Sequence[np.ndarray], path: Path) -> None:
    """Writes frames or thumbnails side by side as one JPEG, at most 20 of them, evenly chosen.

    Raises:
        RunError: The disk is full or the folder cannot be written.
    """
    strip = io.BytesIO()
    picture = Image.fromarray(np.hstack([thumbnail(frame) for frame in evenly(frames)]))
    picture.save(strip, "JPEG", quality=80)
    lay_out(strip.getvalue(), path)


def lay_out(strip: bytes, path: Path) -> None:
    """Writes a strip that is a JPEG already; several processes may write the same one at once.

    Raises:
        RunError: The disk is full or the folder cannot be written.
    """
    aside = path.with_name(f".{path.name}.{os.getpid()}.{uuid.uuid4().hex[:8]}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        aside.write_bytes(strip)
        aside.replace(path)
    except OSError as error:
        with suppress(OSError):
            aside.unlink(missing_ok=True)
        raise RunError(
            "cannot write a strip of frames to the run folder",
            where=str(path),
            why=str(error),
            mend="free space or permissions, then type the same command again: it resumes",
        ) from error
