"""A folder of images as a video: one file per frame, in natural order of names.

Images carry no times. Two kinds of folder are understood:

- VELOCITI v1's `frames/<video>/frame_NNN.jpg`, where NNN is the number of a decoded frame, from 1,
  chosen by round(m * fps) at m = 0.25, 0.75, 1.25, … s (`vbench.frames.rules`, velociti20).
  Images whose numbers fit that rule at any whole frame rate are such a sample: the i-th is shown
  at 0.25 + i/2 s, two a second, so that IVAT's first four seconds are its first eight.
- Any other folder needs `frames_fps`, which only a caller in Python can state: its i-th image is
  shown at i / frames_fps s.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

import numpy as np
from PIL import Image, ImageOps

from vbench.errors import DecodeError
from vbench.frames.rules import VELOCITI_OFFSETS, velociti20_indices
from vbench.frames.source import Frame, Source
from vbench.frames.timeline import Timeline

SUFFIXES = frozenset({".jpg", ".jpeg", ".png", ".webp", ".bmp"})
_VELOCITI_NAME = re.compile(r"frame_(\d+)", re.IGNORECASE)


class FrameFolder(Source):
    """A folder of images.

    Args:
        path: The folder.
        frames_fps: Frames per second; None where the names follow VELOCITI's rule.

    Raises:
        DecodeError: It holds no image, its times are not known, or the first image is damaged.
    """

    def __init__(self, path: str, frames_fps: float | None = None) -> None:
        self._files = _images(path)
        names = [file.stem for file in self._files]
        if frames_fps is None and not is_velociti_sample(names):
            raise DecodeError(
                "the times of a folder's frames are not known",
                where=path,
                why="its names do not follow VELOCITI's frame_NNN rule",
                mend="make a video file of them, at the rate they were taken at, and name that",
            )
        offset = VELOCITI_OFFSETS[0] if frames_fps is None else 0.0
        fps = frames_fps or float(len(VELOCITI_OFFSETS))
        height, width, _ = _pixels(self._files[0]).shape
        sizes = repr([(file.name, file.stat().st_size) for file in self._files])
        self.timeline = Timeline(
            path,
            tuple(offset + i / fps for i in range(len(names))),
            end_s=len(names) / fps,
            width=width,
            height=height,
            codec=self._files[0].suffix.lower().lstrip("."),
            identity=hashlib.blake2b(sizes.encode(), digest_size=8).hexdigest(),
        )

    def frames(self, indices: Collection[int]) -> Iterator[Frame]:
        """See `Source.frames`."""
        for index in sorted(self._checked(indices)):
            pixels = _pixels(self._files[index])
            yield Frame(index, self.timeline.timestamps_s[index], pixels)


def is_velociti_sample(names: Sequence[str]) -> bool:
    """Tells whether names are the v1 rule's frame numbers at some whole frame rate.

    >>> is_velociti_sample(["frame_006", "frame_018", "frame_030"])
    True
    >>> is_velociti_sample(["frame_001", "frame_002", "frame_003"])
    False
    """
    matches = [_VELOCITI_NAME.fullmatch(name) for name in names]
    numbers = [int(match[1]) for match in matches if match]
    if len(numbers) < len(names) or not names:
        return False
    moments = [i // 2 + VELOCITI_OFFSETS[i % 2] for i in range(len(names))]
    # rounding moves a number by half at most, and so the rate by two at the first moment
    guess = round(numbers[-1] / moments[-1])
    rates = range(max(3, guess - 2), guess + 3)
    return any(numbers == [i + 1 for i in velociti20_indices(moments, r)] for r in rates)


def natural(name: str) -> list[tuple[int, int, str]]:
    """Returns a sort key by which numbers in names count as numbers.

    >>> sorted(["f10", "f9", "f010b"], key=natural)
    ['f9', 'f10', 'f010b']
    """
    parts = re.split(r"(\d+)", name)
    return [(0, int(p), "") if i % 2 else (1, 0, p) for i, p in enumerate(parts)]


def _images(path: str) -> list[Path]:
    try:
        files = [file for file in Path(path).iterdir() if file.suffix.lower() in SUFFIXES]
    except OSError as error:
        raise DecodeError("the folder cannot be read", where=path, why=str(error)) from error
    if not files:
        raise DecodeError(
            "the folder holds no image",
            where=path,
            why=f"images end in {', '.join(sorted(SUFFIXES))}",
            mend="give a folder of frames, or use dataset.source=video",
        )
    return sorted(files, key=lambda file: natural(file.name))


def _pixels(file: Path) -> np.ndarray:
    """Reads an image as RGB (h w 3, uint8), upright."""
    try:
        with Image.open(file) as image:
            if image.mode.startswith(("I", "F")):
                raise ValueError(f"mode {image.mode} has more than 8 bits a channel")
            return np.array(ImageOps.exif_transpose(image).convert("RGB"))
    except Exception as error:  # Pillow raises almost anything on damaged files
        raise DecodeError(
            "an image cannot be decoded",
            where=str(file),
            why=" ".join(f"{type(error).__name__}: {error}".split()),
            mend="fetch the folder again, or leave it out",
        ) from error
