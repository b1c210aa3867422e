"""Decoded frames on disk, shared by runs: for sweeps over models that see the same frames.

A frame lies at full size, uncompressed, under its file's content: `<hash>/<index>.npy`. A file that
changes has another hash. What was used longest ago goes when the folder outgrows its limit; it may
be deleted at any time. Trouble with it costs time, never a frame: the frame is decoded instead.
"""

from __future__ import annotations

import os
import shutil
import sys
import uuid
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from heapq import merge
from pathlib import Path

import numpy as np

from vbench.errors import DecodeError
from vbench.frames.source import Frame, Sampler, Source, open_source
from vbench.records import Clip

Wish = tuple[Clip, Sampler]
"""A clip with the sampler that some run will choose its frames with."""

_KEEP = 0.9
"""Share of the limit that is left after something had to go."""


class FrameCache:
    """The folder of decoded frames.

    Args:
        root: The folder; made on first use.
        limit_bytes: What it may hold.
    """

    def __init__(self, root: Path, limit_bytes: int) -> None:
        self.root = root
        self.limit_bytes = limit_bytes
        self._told = False
        self._since_look = limit_bytes  # look at the folder before the first frame is added

    def known(self, content: str) -> set[int]:
        """Returns the indices of a file's frames that are there, and marks the file as used."""
        folder = self.root / content
        try:
            os.utime(folder)
            return {int(entry.stem) for entry in folder.glob("[0-9]*.npy")}
        except OSError:  # another process has just made room
            return set()

    def get(self, content: str, index: int) -> np.ndarray | None:
        """Returns a frame's pixels, uint8 (h, w, 3); None if it is not there or damaged."""
        try:
            pixels: np.ndarray = np.load(self.root / content / f"{index}.npy", allow_pickle=False)
        except (OSError, ValueError, EOFError):
            return None
        return pixels if pixels.ndim == 3 and pixels.dtype == np.uint8 else None

    def put(self, content: str, index: int, pixels: np.ndarray) -> None:
        """Adds a frame under its final name at once, and makes room for it where needed."""
        folder = self.root / content
        aside = folder / f".{index}.{os.getpid()}.{uuid.uuid4().hex[:8]}"
        try:
            self._make_room(pixels.nbytes)
            folder.mkdir(parents=True, exist_ok=True)
            with aside.open("wb") as file:
                np.save(file, pixels, allow_pickle=False)
            aside.replace(folder / f"{index}.npy")
        except FileNotFoundError:
            pass  # another process has made room, and this file's frames had to go
        except OSError as error:
            with suppress(OSError):
                aside.unlink()
            if not self._told:
                self._told = True
                sys.stderr.write(f"vbench: frames are not kept in {self.root}: {error}\n")

    def _make_room(self, size: int) -> None:
        # Other processes add frames, too: look again whenever a tenth of the limit was added here.
        self._since_look += size
        if self._since_look < self.limit_bytes * (1 - _KEEP):
            return
        self._since_look = 0
        files = sorted(_used_and_size(folder) for folder in self.root.glob("*"))
        held = sum(size for _, size, _ in files)
        if held + size > self.limit_bytes:
            for _, freed, folder in files:
                if held <= self.limit_bytes * _KEEP:
                    break
                shutil.rmtree(folder, ignore_errors=True)
                held -= freed


def _used_and_size(folder: Path) -> tuple[float, int, Path]:
    """Returns when a file's frames were last used, and their bytes: none if they just went."""
    used, size = 0.0, 0
    with suppress(FileNotFoundError):  # another process makes room, too
        used = folder.stat().st_mtime
        for entry in folder.iterdir():
            with suppress(FileNotFoundError):
                size += entry.stat().st_size
    return used, size, folder


class CachedSource(Source):
    """A source that decodes only frames that nobody has decoded yet.

    Args:
        source: Decodes.
        cache: Remembers.
        content: Hash of the file's bytes.
        wished: Clips and samplers of other runs that will want frames of this file. The first pass
            over the file decodes them too, so that there is no second one.
    """

    def __init__(
        self, source: Source, cache: FrameCache, content: str, wished: Sequence[Wish] = ()
    ) -> None:
        self.source = source
        self.timeline = source.timeline
        self.cache = cache
        self.content = content
        self.wished = wished

    def frames(self, indices: Collection[int]) -> Iterator[Frame]:
        """Yields the frames, each once, in ascending order (see `Source.frames`)."""
        wanted = self._checked(indices)
        known = self.cache.known(self.content)
        both = merge(
            self._stored(wanted & known),
            self._decoded(wanted - known, known),
            key=lambda frame: frame.index,
        )
        return (frame for frame in both if frame.index in wanted)

    def _stored(self, wanted: Collection[int]) -> Iterator[Frame]:
        for index in sorted(wanted):
            pixels = self.cache.get(self.content, index)
            if pixels is not None:
                yield Frame(index, self.timeline.timestamps_s[index], pixels)
            else:  # damaged: it needs a pass of its own
                yield from self._kept([index])

    def _decoded(self, wanted: set[int], known: set[int]) -> Iterator[Frame]:
        """Yields wanted frames, and those of other runs that come along."""
        also = self._others() - known if wanted else set()
        last = -1
        try:
            for frame in self._kept(wanted | also):
                last = frame.index
                yield frame
        except DecodeError:
            if not also - wanted:
                raise
            # It may be another run's frame that is damaged: go on with our own only.
            yield from self._kept({index for index in wanted if index > last})

    def _kept(self, indices: Collection[int]) -> Iterator[Frame]:
        for frame in self.source.frames(sorted(indices)):
            self.cache.put(self.content, frame.index, frame.pixels)
            yield frame

    def _others(self) -> set[int]:
        """Returns the indices of frames that other runs will want."""
        found: set[int] = set()
        for clip, sampler in self.wished:
            with suppress(DecodeError):  # a clip that another run cannot have is that run's matter
                found.update(self.pick(clip, sampler).indices)
        return found


@dataclass(frozen=True)
class Opener:
    """Opens the files of a run; crosses to decode workers.

    Args:
        planned: See `vbench.frames.video.VideoFile`.
        cache: Remembers decoded frames; None: none are kept.
        contents: Hash of the bytes behind each path; files without one are not cached.
        wishes: What other runs will show of each path; see `CachedSource`.
    """

    planned: bool = True
    cache: FrameCache | None = None
    contents: Mapping[str, str] | None = None
    wishes: Mapping[str, Sequence[Wish]] | None = None

    def __call__(self, path: str) -> Source:
        """Opens a file or folder (see `open_source`)."""
        source = open_source(path, planned=self.planned)
        content = (self.contents or {}).get(path, "")
        if self.cache is None or not content.isalnum():
            return source
        return CachedSource(source, self.cache, content, (self.wishes or {}).get(path, ()))
