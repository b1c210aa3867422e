"""How much a plan asks for: frames and bytes, read from headers and packets without decoding."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from vbench.errors import DecodeError
from vbench.loop.data import PreparedFile, WorkDataset
from vbench.loop.plan import FileWork, Plan
from vbench.protocols import ClipPreprocess, Preprocess
from vbench.records import Clip, Request, Sample

Asked = Sequence[tuple[Sample, Sequence[Request]]]
"""Each sample with its requests."""


@dataclass(frozen=True)
class FileExtent:
    """What a plan wants of one file."""

    path: str
    size: int = 0
    """Bytes."""
    of_clip: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """Key of a clip → indices of the frames it is shown with."""
    pixels: int = 0
    """Of one frame: width x height."""
    length: int = 0
    """Frames that the file holds."""
    fault: str = ""
    """Why a clip of it, or all of it, cannot be read."""

    def frames(self, keys: Collection[str] | None = None) -> int:
        """Counts the frames to decode: the union of what its clips want.

        Args:
            keys: Of the clips that count; None: all.
        """
        wanted = self.of_clip if keys is None else self.of_clip.keys() & set(keys)
        return len({index for key in wanted for index in self.of_clip[key]})

    @property
    def load(self) -> int:
        """What decoding it costs, in pixels that go past, taken to be all there are."""
        return self.pixels * self.length


class MeasureFile:
    """Finds the extent of a file; picklable, for workers.

    Args:
        files: What is asked of each path.
        sampler: Chooses frames.
        open_source: `vbench.frames.source.open_source`.
    """

    def __init__(
        self, files: Mapping[str, FileWork], sampler: object, open_source: Callable[[str], Any]
    ) -> None:
        self.files = files
        self.sampler = sampler
        self.open_source = open_source

    def __call__(self, path: str) -> FileExtent:
        """Opens the file and lets the sampler choose; what fails is told."""
        try:
            source = self.open_source(path)
        except DecodeError as error:
            return FileExtent(path, _size(path), fault=error.what)
        picked, fault = self._pick(source, self.files[path].clips)
        return FileExtent(
            path,
            _size(path),
            of_clip=picked,
            pixels=source.timeline.width * source.timeline.height,
            length=len(source.timeline.timestamps_s),
            fault=fault,
        )

    def _pick(
        self, source: Any, clips: Iterable[tuple[str, Clip]]
    ) -> tuple[dict[str, tuple[int, ...]], str]:
        picked, fault = {}, ""
        for key, clip in clips:
            try:
                picked[key] = source.pick(clip, self.sampler).indices
            except DecodeError as error:
                fault = fault or error.what
        return picked, fault


def asked_per_sample(
    asked: Asked, plan: Plan, frames_of: Mapping[str, int]
) -> tuple[int, int, int]:
    """Counts what a loop would do that decodes and encodes anew for every sample.

    Args:
        asked: Each sample with its requests.
        plan: It knows the key of each request's clip.
        frames_of: Key of a clip → frames; clips that cannot be read may be absent.

    Returns:
        Clips decoded (each anew), frames encoded, texts encoded.
    """
    decodes = frames = texts = 0
    for _, requests in asked:
        clips = {request.clips: plan.keys[request][0] for request in requests if request.clips}
        decodes += len(clips)
        frames += sum(frames_of.get(key, 0) for key in clips.values())
        texts += len({request.text for request in requests if request.message is None})
    return decodes, frames, texts


@dataclass(frozen=True)
class DecodeRate:
    """What decoding and preparing cost on a few files, here and now."""

    files: tuple[str, ...]
    seconds_per_load: float
    """CPU-seconds per unit of `FileExtent.load`."""
    bytes_per_frame: float
    """Of a frame as the model takes it."""

    def seconds(self, extents: Iterable[FileExtent]) -> float:
        """Returns CPU-seconds for files."""
        return self.seconds_per_load * sum(extent.load for extent in extents)


def decode_rate(
    extents: Sequence[FileExtent],
    sources: MeasureFile,
    preprocess: Preprocess | ClipPreprocess,
) -> DecodeRate | None:
    """Decodes and prepares two files of middling size as a worker would, and takes the time.

    Args:
        extents: Of the files to choose from.
        sources: What they were measured with.
        preprocess: The model's own.

    Returns:
        The rate; None where no file can be decoded.
    """
    good = sorted((e for e in extents if e.of_clip and not e.fault), key=lambda e: e.load)
    chosen = list(dict.fromkeys(good[len(good) * third // 3].path for third in (1, 2) if good))
    work = [sources.files[path] for path in chosen]
    dataset = WorkDataset(work, sources.open_source, sources.sampler, preprocess, None)
    loads = {extent.path: extent.load for extent in good}
    seconds = load = frames = size = 0.0
    for number in range(-1, len(work)):  # once beforehand, to import what is imported on first use
        started = time.process_time()
        prepared = dataset[max(number, 0)] if work else None
        if number < 0 or not isinstance(prepared, PreparedFile):
            continue
        shown, held = _prepared(prepared)
        if not shown:
            continue
        seconds += time.process_time() - started
        load += loads[prepared.path]
        frames += shown
        size += held
    if not load:
        return None
    return DecodeRate(tuple(chosen), seconds / load, size / frames)


def _prepared(file: PreparedFile) -> tuple[int, int]:
    """Returns how many frames a prepared file holds, and in how many bytes."""
    if file.pixels is not None:
        return len(file.pixels), file.pixels.nbytes
    alive = [clip for clip in file.clips if clip.inputs]
    values = [value for clip in alive for value in (clip.inputs or {}).values()]
    size = sum(getattr(value, "nbytes", 0) for value in values)
    return sum(len(clip.frame_indices) for clip in alive), size


def _size(path: str) -> int:
    try:
        place = Path(path)
        files = place.iterdir() if place.is_dir() else [place]
        return sum(file.stat().st_size for file in files)
    except (OSError, ValueError):
        return 0
