"""What decode workers do: one file in, pixel values of all its clips out.

A file is opened once and its frames decoded once for the union of what its clips want. Failures
become statuses of the clips they concern, never exceptions of the loop.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from torch.utils.data import Dataset

from vbench.errors import RunError, VbenchError
from vbench.loop.plan import FileWork, TextWork, Work
from vbench.protocols import Preprocess
from vbench.records import Clip, Status


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


class Source(Protocol):
    """An opened video file or folder of frames."""

    def pick(self, clip: Clip, sampler: Any) -> Picked:
        """Returns the frames a sampler chooses within a clip's span."""
        ...

    def read(self, indices: Collection[int]) -> Mapping[int, np.ndarray]:
        """Returns the wanted frames by index, each uint8 (h, w, 3), decoded in one pass."""
        ...


@dataclass
class PreparedClip:
    """One clip of a prepared file, with its pixels or the reason why it has none."""

    key: str
    clip: Clip
    frame_indices: tuple[int, ...] = ()
    timestamps_s: tuple[float, ...] = ()
    frames_wanted: int = 0
    rows: tuple[int, ...] = ()
    """Rows of the file's pixels, in the order the model is to see them."""
    status: Status = "ok"
    reason: str = ""


@dataclass
class PreparedFile:
    """One file's clips over one block of pixel values."""

    path: str
    clips: list[PreparedClip]
    pixels: torch.Tensor | None
    """(n, 3, h, w), the union of all clips' frames; None if nothing could be decoded."""
    pairs: tuple[tuple[str, Clip, str], ...] = ()


Prepared = TextWork | PreparedFile


class WorkDataset(Dataset[Prepared]):
    """The loop's dataset: an item is one piece of work.

    Args:
        work: What is left to do.
        open_source: Opens a path; raises VbenchError if it cannot.
        sampler: Chooses frames within a clip's span.
        preprocess: The model's own; None for a model that sees no frames.
        strips: Where to leave a JPEG strip of each clip's frames; None for nowhere.
    """

    def __init__(
        self,
        work: Sequence[Work],
        open_source: Callable[[str], Source],
        sampler: object,
        preprocess: Preprocess | None,
        strips: Path | None,
    ) -> None:
        self.work = work
        self.open_source = open_source
        self.sampler = sampler
        self.preprocess = preprocess
        self.strips = strips

    def __len__(self) -> int:
        return len(self.work)

    def __getitem__(self, index: int) -> Prepared:
        work = self.work[index]
        if isinstance(work, TextWork):
            return work
        if not work.clips or self.preprocess is None:
            return PreparedFile(work.path, [], None, work.pairs)
        return self._prepare(work, self.preprocess)

    def _prepare(self, work: FileWork, preprocess: Preprocess) -> PreparedFile:
        clips = [PreparedClip(key, clip) for key, clip in work.clips]
        frames: dict[int, np.ndarray] = {}
        try:
            source = self.open_source(work.path)
            for clip in clips:
                self._pick(source, clip)
            frames = _read(source, clips)
        except Exception as error:
            for clip in clips:
                _fail(clip, error)
        order = sorted(frames)
        row_of = {index: row for row, index in enumerate(order)}
        for clip in clips:
            if clip.status == "ok":
                clip.rows = tuple(row_of[index] for index in clip.frame_indices)
                if self.strips is not None:
                    write_strip(
                        [frames[i] for i in clip.frame_indices], self.strips / f"{clip.key}.jpg"
                    )
        pixels = preprocess([frames[index] for index in order]) if order else None
        return PreparedFile(work.path, clips, pixels, work.pairs)

    def _pick(self, source: Source, clip: PreparedClip) -> None:
        try:
            picked = source.pick(clip.clip, self.sampler)
        except Exception as error:
            _fail(clip, error)
            return
        clip.frame_indices = picked.indices
        clip.timestamps_s = picked.timestamps_s
        clip.frames_wanted = picked.wanted


def _read(source: Source, clips: Sequence[PreparedClip]) -> dict[int, np.ndarray]:
    """Reads the union of frames; if that fails, each clip alone, so that one bad span costs one."""
    alive = [clip for clip in clips if clip.status == "ok"]
    wanted = sorted({index for clip in alive for index in clip.frame_indices})
    if not wanted:
        return {}
    try:
        return dict(source.read(wanted))
    except Exception as error:
        if len(alive) == 1:
            _fail(alive[0], error)
            return {}
    frames: dict[int, np.ndarray] = {}
    for clip in alive:
        frames |= _read(source, [clip])
    return frames


def _fail(clip: PreparedClip, error: Exception) -> None:
    clip.status = "decode_error"
    if isinstance(error, VbenchError):
        clip.reason = f"{error.what}: {error.why}" if error.why else error.what
    else:
        clip.reason = f"{type(error).__name__}: {error}"
    clip.reason = " ".join(clip.reason.split())


def write_strip(frames: Sequence[np.ndarray], path: Path, height: int = 72) -> None:
    """Writes frames side by side as one small JPEG, at most 20 of them, evenly chosen.

    Raises:
        RunError: The disk is full or the folder cannot be written.
    """
    from PIL import Image

    chosen = [frames[i] for i in np.linspace(0, len(frames) - 1, min(20, len(frames))).astype(int)]
    images = [Image.fromarray(frame) for frame in chosen]
    # A JPEG is at most 65500 wide, and some video is one pixel high.
    widths = [min(max(1, i.width * height // i.height), 16 * height) for i in images]
    images = [image.resize((w, height)) for image, w in zip(images, widths, strict=True)]
    strip = Image.new("RGB", (sum(image.width for image in images), height))
    left = 0
    for image in images:
        strip.paste(image, (left, 0))
        left += image.width
    aside = path.with_suffix(".tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        strip.save(aside, "JPEG", quality=80)
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


class Batch:
    """Work of one step, not collated: items have different sizes.

    A plain object, because Lightning would copy and convert the fields of a list of dataclasses.
    """

    def __init__(self, work: list[Prepared]) -> None:
        self.work = work
