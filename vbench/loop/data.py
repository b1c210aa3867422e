"""What decode workers do: one file in, pixel values of all its clips out.

A file is opened once and its frames decoded once for the union of what its clips want. Frames are
transformed a few at a time as they leave the decoder: at full size a long video does not fit in
memory. Failures become statuses of the clips they concern, never exceptions of the loop.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from torch.utils.data import Dataset

from vbench.errors import VbenchError
from vbench.loop.plan import FileWork, TextWork, Work
from vbench.loop.sources import Frame, FrameRecall, Source
from vbench.loop.strips import evenly, thumbnail, write_strip
from vbench.loop.views import RawFrames, ReadAudio, hear, make_views, time_clip
from vbench.protocols import ClipPreprocess, ClipTiming, Preprocess, TwoStepPreprocess
from vbench.records import Clip, Request, Status

FRAMES_AT_ONCE = 16
"""Frames at full size in memory; past eight or so, more at once are no faster."""


@dataclass
class PreparedClip:
    """One clip of a prepared file, with its frames or the reason why it has none."""

    key: str
    clip: Clip
    frame_indices: tuple[int, ...] = ()
    timestamps_s: tuple[float, ...] = ()
    frames_wanted: int = 0
    rows: tuple[int, ...] = ()
    """Rows of the file's frames, first `pixels`, then `known`, in the order of the clip."""
    status: Status = "ok"
    reason: str = ""
    timing: ClipTiming | None = None
    """When its frames were taken; for a language model's processor only."""
    inputs: Mapping[str, Any] | None = None
    """What that processor made of them."""
    audio: Literal["", "unused", "heard"] = ""


@dataclass
class PreparedFile:
    """One file's clips over one block of pixel values, or with the inputs of their views."""

    path: str
    clips: list[PreparedClip]
    pixels: torch.Tensor | None
    """(n, 3, h, w), the frames of all clips that are to be encoded; None if there are none."""
    pairs: tuple[tuple[str, Clip, str], ...] = ()
    items: tuple[str, ...] = ()
    """What each row of `pixels` is called in the cache; empty where frames are not cached."""
    known: np.ndarray | None = None
    """(k, d), embeddings of the frames that need no encoding."""
    finish: Callable[[torch.Tensor], torch.Tensor] | None = None
    """What is left to be done to the pixels; None: nothing."""
    asks: tuple[tuple[str, str, Request], ...] = ()
    fingerprint: str = ""


Prepared = TextWork | PreparedFile


class WorkDataset(Dataset[Prepared]):
    """The loop's dataset: an item is one piece of work.

    Args:
        work: What is left to do.
        open_source: Opens a path; raises VbenchError if it cannot.
        sampler: Chooses frames within a clip's span.
        preprocess: The model's own; None for a model that sees no frames.
        strips: Where to leave a JPEG strip of each clip's frames; None for nowhere.
        recall: Knows embeddings of single frames; None: all are encoded.
        read_audio: Decodes the sound of a span, for a language model that listens; None: none does.
    """

    def __init__(
        self,
        work: Sequence[Work],
        open_source: Callable[[str], Source],
        sampler: object,
        preprocess: Preprocess | ClipPreprocess | None,
        strips: Path | None,
        recall: FrameRecall | None = None,
        read_audio: ReadAudio | None = None,
    ) -> None:
        self.work = work
        self.open_source = open_source
        self.sampler = sampler
        self.preprocess = preprocess
        self.strips = strips
        self.recall = recall
        self.read_audio = read_audio

    def __len__(self) -> int:
        return len(self.work)

    def __getitem__(self, index: int) -> Prepared:
        work = self.work[index]
        if isinstance(work, TextWork):
            return work
        clips = [PreparedClip(key, clip) for key, clip in work.clips]
        file = PreparedFile(
            work.path, clips, None, work.pairs, asks=work.asks, fingerprint=work.fingerprint
        )
        if isinstance(self.preprocess, ClipPreprocess):
            self._prepare(work, file, RawFrames())
            make_views(_alive(clips), file.pixels, self.preprocess)
            file.pixels = None
            if self.read_audio is not None:
                hear(_alive(clips), self.read_audio)
        elif self.preprocess is not None and clips:
            self._prepare(work, file, self.preprocess)
        return file

    def _prepare(self, work: FileWork, file: PreparedFile, preprocess: Preprocess) -> None:
        clips = file.clips
        kept = KeptFrames(preprocess, with_thumbnails=self.strips is not None)
        try:
            source = self.open_source(work.path)
            for clip in clips:
                self._pick(source, clip)
            if self.recall is not None:
                kept.known = self.recall.get(work.fingerprint, _wanted(clips))
            _read(source, clips, kept)
        except Exception as error:
            for clip in clips:
                _fail(clip, error)
        wanted = _wanted(clips)
        file.pixels, file.finish = kept.pixels(wanted), kept.finish
        fresh = sorted(kept.row_of.keys() & wanted, key=lambda index: kept.row_of[index])
        known = sorted(kept.known.keys() & wanted)
        row_of = {index: row for row, index in enumerate([*fresh, *known])}
        for clip in _alive(clips):
            clip.rows = tuple(row_of[index] for index in clip.frame_indices)
            if self.strips is not None:
                thumbnails = [kept.thumbnails[index] for index in evenly(clip.frame_indices)]
                write_strip(thumbnails, self.strips / f"{clip.key}.jpg")
        if self.recall is not None:
            file.items = tuple(self.recall.item(work.fingerprint, index) for index in fresh)
        if known:
            file.known = np.stack([kept.known[index] for index in known])

    def _pick(self, source: Source, clip: PreparedClip) -> None:
        try:
            picked = source.pick(clip.clip, self.sampler)
        except Exception as error:
            _fail(clip, error)
            return
        clip.frame_indices = picked.indices
        clip.timestamps_s = picked.timestamps_s
        clip.frames_wanted = picked.wanted
        clip.audio = "unused" if source.timeline.has_audio else ""
        if isinstance(self.preprocess, ClipPreprocess):
            time_clip(source, clip)


class KeptFrames:
    """What is kept of a file's frames: pixel values, and thumbnails for the strips.

    Args:
        preprocess: The model's own.
        with_thumbnails: Whether strips will be written.
    """

    def __init__(self, preprocess: Preprocess, with_thumbnails: bool) -> None:
        self.row_of: dict[int, int] = {}
        """Index of a frame → its row of the pixels."""
        self.known: dict[int, np.ndarray] = {}
        """Embeddings of frames that need no encoding."""
        self.thumbnails: dict[int, np.ndarray] = {}
        self._transform: Callable[[Sequence[np.ndarray]], torch.Tensor] = preprocess
        self.finish: Callable[[torch.Tensor], torch.Tensor] | None = None
        if isinstance(preprocess, TwoStepPreprocess):
            self._transform, self.finish = preprocess.shrink, preprocess.finish
        self._with_thumbnails = with_thumbnails
        self._pixels: torch.Tensor | None = None

    def take(self, frames: Iterator[Frame], room: int, shown: Collection[int]) -> None:
        """Transforms frames as they come.

        Args:
            frames: From one pass over the source.
            room: Rows to make room for when the first frames come; later passes fit in, too.
            shown: Indices of the frames that appear in strips.
        """
        while self._take_some(islice(frames, FRAMES_AT_ONCE), room, shown):
            pass

    def _take_some(self, frames: Iterable[Frame], room: int, shown: Collection[int]) -> bool:
        block = list(frames)
        if not block:
            return False
        if fresh := [frame for frame in block if frame.index not in self.known]:
            values = self._transform([frame.pixels for frame in fresh])
            if self._pixels is None:
                self._pixels = values.new_empty((room, *values.shape[1:]))
            first = len(self.row_of)
            self._pixels[first : first + len(fresh)] = values
            self.row_of |= {frame.index: first + row for row, frame in enumerate(fresh)}
        if self._with_thumbnails:
            small = {f.index: thumbnail(f.pixels) for f in block if f.index in shown}
            self.thumbnails |= small
        return True

    def pixels(self, wanted: Collection[int]) -> torch.Tensor | None:
        """Returns the pixel values (n, 3, h, w) of the wanted frames; None if there are none.

        Rows of other frames, which only failed clips wanted, are closed up; `row_of` follows.
        """
        kept = [index for index in self.row_of if index in wanted]
        if self._pixels is None or not kept:
            return None
        for row, index in enumerate(kept):
            if row != self.row_of[index]:
                self._pixels[row] = self._pixels[self.row_of[index]]
                self.row_of[index] = row
        return self._pixels[: len(kept)]

    def missing(self, wanted: Collection[int], shown: Collection[int]) -> list[int]:
        """Returns the indices that are still to be decoded.

        Args:
            wanted: Frames the model is to see.
            shown: Frames that appear in strips, which are decoded even if their embedding is known.
        """
        undrawn = set(shown) - self.thumbnails.keys() if self._with_thumbnails else set()
        unseen = set(wanted) - self.row_of.keys() - self.known.keys()
        return sorted(unseen | (undrawn & self.known.keys()))


def _wanted(clips: Iterable[PreparedClip]) -> set[int]:
    return {index for clip in _alive(clips) for index in clip.frame_indices}


def _alive(clips: Iterable[PreparedClip]) -> list[PreparedClip]:
    return [clip for clip in clips if clip.status == "ok"]


def _read(source: Source, clips: Sequence[PreparedClip], kept: KeptFrames) -> None:
    """Reads the union of frames; if that fails, each clip alone, so that one bad span costs one."""
    alive = _alive(clips)
    wanted = _wanted(alive)
    shown = {index for clip in alive for index in evenly(clip.frame_indices)}
    missing = kept.missing(wanted, shown)
    if not missing:
        return
    try:
        kept.take(iter(source.frames(missing)), len(wanted), shown)
        return
    except Exception as error:
        if len(alive) == 1:
            _fail(alive[0], error)
            return
    for clip in alive:
        _read(source, [clip], kept)


def _fail(clip: PreparedClip, error: Exception) -> None:
    clip.status = "decode_error"
    if isinstance(error, VbenchError):
        clip.reason = f"{error.what}: {error.why}" if error.why else error.what
    else:
        clip.reason = f"{type(error).__name__}: {error}"
    clip.reason = " ".join(clip.reason.split())


class Batch:
    """Work of one step, not collated: items have different sizes.

    A plain object, because Lightning would copy and convert the fields of a list of dataclasses.
    """

    def __init__(self, work: list[Prepared]) -> None:
        self.work = work
