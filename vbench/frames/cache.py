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
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from vbench.frames.source import Frame, Source, open_source

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
        with suppress(OSError):
            os.utime(folder)
        return {int(entry.stem) for entry in folder.glob("[0-9]*.npy")}

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
        files = [(folder.stat().st_mtime, folder) for folder in self.root.glob("*")]
        sizes = {folder: _size(folder) for _, folder in files}
        held = sum(sizes.values())
        if held + size > self.limit_bytes:
            for _, folder in sorted(files):
                if held <= self.limit_bytes * _KEEP:
                    break
                shutil.rmtree(folder, ignore_errors=True)
                held -= sizes[folder]


def _size(folder: Path) -> int:
    return sum(entry.stat().st_size for entry in folder.iterdir() if entry.is_file())


class CachedSource(Source):
    """A source that decodes only frames that nobody has decoded yet.

    Args:
        source: Decodes.
        cache: Remembers.
        content: Hash of the file's bytes.
    """

    def __init__(self, source: Source, cache: FrameCache, content: str) -> None:
        self.source = source
        self.timeline = source.timeline
        self.cache = cache
        self.content = content

    def frames(self, indices: Collection[int]) -> Iterator[Frame]:
        """Yields the frames, each once, in ascending order (see `Source.frames`)."""
        wanted = sorted(self._checked(indices))
        known = self.cache.known(self.content) & set(wanted)
        decoded = iter(self.source.frames([index for index in wanted if index not in known]))
        for index in wanted:
            pixels = self.cache.get(self.content, index) if index in known else None
            if pixels is not None:
                yield Frame(index, self.timeline.timestamps_s[index], pixels)
                continue
            # A known frame that turns out damaged needs a pass of its own.
            frame = next(iter(self.source.frames([index]))) if index in known else next(decoded)
            self.cache.put(self.content, index, frame.pixels)
            yield frame


@dataclass(frozen=True)
class Opener:
    """Opens the files of a run; crosses to decode workers.

    Args:
        planned: See `vbench.frames.video.VideoFile`.
        cache: Remembers decoded frames; None: none are kept.
        contents: Hash of the bytes behind each path; files without one are not cached.
    """

    planned: bool = True
    cache: FrameCache | None = None
    contents: Mapping[str, str] | None = None

    def __call__(self, path: str) -> Source:
        """Opens a file or folder (see `open_source`)."""
        source = open_source(path, planned=self.planned)
        content = (self.contents or {}).get(path, "")
        if self.cache is None or not content.isalnum():
            return source
        return CachedSource(source, self.cache, content)
