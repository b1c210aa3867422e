"""What there is to know of a file before it is evaluated, gathered without changing anything."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Literal

from PIL import Image

from vbench.errors import DecodeError
from vbench.frames.container import opened
from vbench.frames.images import SUFFIXES
from vbench.frames.source import Source, open_source
from vbench.frames.timeline import Timeline

Decode = Literal["ends", "all"]
"""Which frames are decoded: the first, the middle and the last, or every one."""

Seconds = tuple[float, float | None]
"""Start and end of a clip; None: the end of the file."""

RATE_TOLERANCE, RATE_TOLERANCE_S = 0.1, 0.0015
"""Gaps between frames are the same within a tenth, or within the ticks of 1/1000 s that Matroska
and FLV round times to."""

CONTAINERS: Mapping[str, str] = {
    "mp4": "mov", "m4v": "mov", "mov": "mov", "qt": "mov", "3gp": "mov", "3g2": "mov",
    "f4v": "mov", "mkv": "matroska", "webm": "webm", "avi": "avi", "flv": "flv", "gif": "gif",
    "ts": "mpegts", "mts": "mpegts", "m2ts": "mpegts", "mpg": "mpeg", "mpeg": "mpeg",
    "vob": "mpeg", "wmv": "asf", "asf": "asf", "ogv": "ogg", "ogg": "ogg", "mxf": "mxf",
    "y4m": "yuv4mpegpipe", "h264": "h264", "264": "h264", "hevc": "hevc", "265": "hevc",
    "ivf": "ivf", "mjpeg": "mjpeg", "mjpg": "mjpeg",
}  # fmt: skip
"""By ending of a name: one of the names of FFmpeg's demuxer."""

WEBM_CODECS = frozenset({"vp8", "vp9", "av1", "libdav1d"})
"""All that WebM may hold; with any other the same container is Matroska."""

_IMAGE_FORMATS: Mapping[str, str] = {
    "jpg": "JPEG", "jpeg": "JPEG", "png": "PNG", "webp": "WEBP", "bmp": "BMP",
}  # fmt: skip
"""By ending of a name: Pillow's name."""


@dataclass(frozen=True, slots=True)
class FileFacts:
    """One video file, or folder of frames."""

    path: str
    size: int = 0
    """Bytes, of all files of a folder."""
    container: str = ""
    """FFmpeg's name of what the file really is, `folder`, or "" if it cannot be opened."""
    codec: str = ""
    frames: int = 0
    duration_s: float = 0.0
    fps: float = 0.0
    """Frames over duration."""
    width: int = 0
    """Pixels as shown."""
    height: int = 0
    variable_rate: bool = False
    disguise: str = ""
    """What the file is instead of what its name says; "" where they agree."""
    repeats: int = 0
    """How many decoded frames show exactly the picture of the decoded frame before them."""
    decoded: int = 0
    """How many frames were decoded."""
    empty_spans: tuple[tuple[Seconds, DecodeError], ...] = ()
    """Those of the spans asked about in which no frame is shown, and why."""
    missing: bool = False
    fault: DecodeError | None = None
    """Why it cannot be opened, or a frame of it not decoded."""

    @property
    def readable(self) -> bool:
        """Whether it could be opened."""
        return self.frames > 0


def facts_of(path: str, spans: Collection[Seconds] = (), decode: Decode = "ends") -> FileFacts:
    """Looks at a file. What is wrong with it becomes a fact, never an exception.

    Args:
        path: A video file or a folder of images.
        spans: Of the clips that are wanted of it.
        decode: Which frames to decode.
    """
    try:
        facts = replace(_name_and_nature(path), size=_size(Path(path)))
        source = open_source(path)
    except DecodeError as error:
        missing = isinstance(error.__cause__, FileNotFoundError)
        return FileFacts(path, _size(Path(path)), missing=missing, fault=error)
    timeline = source.timeline
    facts = replace(
        facts,
        codec=timeline.codec,
        frames=len(timeline.timestamps_s),
        duration_s=timeline.end_s,
        fps=timeline.source_fps,
        width=timeline.width,
        height=timeline.height,
        variable_rate=_varies(timeline.timestamps_s),
        empty_spans=tuple(_empty(timeline, spans)),
    )
    return _decoded(source, facts, decode)


def _decoded(source: Source, facts: FileFacts, decode: Decode) -> FileFacts:
    """Adds what decoding shows."""
    last = facts.frames - 1
    wanted = {0, last // 2, last} if decode == "ends" else range(facts.frames)
    count = repeats = 0
    before = b""
    try:
        for frame in source.frames(wanted):
            picture = hashlib.blake2b(frame.pixels.tobytes(), digest_size=16).digest()
            repeats += picture == before
            before = picture
            count += 1
    except DecodeError as error:
        return replace(facts, decoded=count, fault=error)
    return replace(facts, decoded=count, repeats=repeats)


def _empty(timeline: Timeline, spans: Collection[Seconds]) -> Iterator[tuple[Seconds, DecodeError]]:
    for span in spans:
        try:
            timeline.span(*span)
        except DecodeError as error:
            yield span, error


def _varies(times_s: tuple[float, ...]) -> bool:
    gaps = [b - a for a, b in pairwise(times_s)]
    if not gaps:
        return False
    usual = median(gaps)
    tolerance = max(RATE_TOLERANCE * usual, RATE_TOLERANCE_S)
    return any(abs(gap - usual) > tolerance for gap in gaps)


def _name_and_nature(path: str) -> FileFacts:
    """Compares what a name says with what the file is."""
    if os.path.isdir(path):  # noqa: PTH112 - Path's raises where a parent may not be entered
        return FileFacts(path, container="folder", disguise=_disguised_images(Path(path)))
    with opened(path) as (container, stream):
        names, codec = container.format.name.split(","), stream.codec_context.name
    ending = Path(path).suffix.lower().lstrip(".")
    expected = CONTAINERS.get(ending)
    is_picture = names[0].endswith("_pipe") or names[0] == "image2"
    if is_picture and f".{ending}" not in SUFFIXES:
        disguise = f"a single {codec} picture"
    elif expected and expected not in names:
        disguise = f"{_article(names[0])} container with {codec}"
    elif ending == "webm" and codec not in WEBM_CODECS:
        disguise = f"a matroska container with {codec}, which WebM may not hold"
    else:
        disguise = ""
    return FileFacts(path, container=",".join(names), disguise=disguise)


def _article(noun: str) -> str:
    return f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"


def _disguised_images(folder: Path) -> str:
    wrong = []
    for file in _images(folder):
        try:
            with Image.open(file) as image:
                found = image.format or ""
        except OSError:
            continue  # a damaged image is found when it is decoded
        if found != _IMAGE_FORMATS[file.suffix.lower().lstrip(".")]:
            wrong.append(f"{file.name} is {found}")
    more = f" and {len(wrong) - 1} more" if len(wrong) > 1 else ""
    return f"a folder of images other than their names say: {wrong[0]}{more}" if wrong else ""


def _images(folder: Path) -> Iterator[Path]:
    try:
        yield from sorted(file for file in folder.iterdir() if file.suffix.lower() in SUFFIXES)
    except OSError:
        return  # opening it will say why


def _size(path: Path) -> int:
    try:
        files = path.iterdir() if os.path.isdir(path) else [path]  # noqa: PTH112
        return sum(file.stat().st_size for file in files)
    except (OSError, ValueError):
        return 0
