"""Frames of video files, exact by presentation time, decoded in one pass.

Where a file's packets tell what builds on what, only those are decoded that the wanted frames need
(planned); the pixels are those of decoding everything. Elsewhere, and as soon as a planned pass
meets anything unexpected, everything is decoded from the start (sequential).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from av.video.reformatter import VideoReformatter

from vbench.errors import DecodeError
from vbench.frames.container import opened
from vbench.frames.dependencies import Dependencies
from vbench.frames.packets import PacketTable, read_packets
from vbench.frames.pictures import pictures
from vbench.frames.source import Frame, Source
from vbench.frames.timeline import Timeline


@dataclass(frozen=True, slots=True)
class Probe:
    """What is known of a video file before its frames are read."""

    timeline: Timeline
    turn: Turn
    """Of its first picture."""
    ticks: tuple[int, ...] | None
    """Each frame's presentation time in ticks of the file's clock, ascending; None where the file
    does not tell frames apart, so that they can only be counted."""
    is_paired: bool
    """Each packet becomes one frame with the packet's presentation time."""
    dependencies: Dependencies | None
    """Which packets build on which; None where only decoding everything is known to be right."""


class VideoFile(Source):
    """A video file.

    Args:
        path: The file.
        planned: Leave out packets that no wanted frame needs, where that is known to be right;
            False: always decode everything. The pixels are the same.

    Raises:
        DecodeError: It is missing, unreadable, cut short, or holds no frame that can be decoded.
    """

    def __init__(self, path: str, planned: bool = True) -> None:
        found = probe(path)
        self.probe = found if planned else replace(found, dependencies=None)
        self.timeline = found.timeline

    def frames(self, indices: Collection[int]) -> Iterator[Frame]:
        """See `Source.frames`."""
        converter = VideoReformatter()
        for index, picture in decode(self.probe, self._checked(indices)):
            pixels = upright(picture, converter, self.probe.turn)
            yield Frame(index, self.timeline.timestamps_s[index], pixels)


def probe(path: str) -> Probe:
    """Finds out which frames decoding a file delivers, without decoding it where that is safe.

    Raises:
        DecodeError: See `VideoFile`.
    """
    with opened(path) as (container, stream):
        table = read_packets(path, container, stream)
        has_audio = bool(container.streams.audio)
    ticks = tuple(table.shown) if table.tells_frames else _decoded_ticks(table)
    if isinstance(ticks, int):
        seconds = tuple(float(i / table.rate) for i in range(ticks))
    else:
        seconds = table.seconds(ticks)
    turn = Turn.of(table.picture)
    shape = upright(table.picture, VideoReformatter(), turn).shape
    step = seconds[-1] / (len(seconds) - 1) if len(seconds) > 1 else float(1 / table.rate)
    last = None if isinstance(ticks, int) else ticks[-1]
    timeline = Timeline(
        path,
        seconds,
        end_s=seconds[-1] + table.duration_s(last, default=step),
        width=shape[1],
        height=shape[0],
        codec=table.codec,
        rotation=turn.rotation,
        identity=table.identity,
        has_audio=has_audio,
    )
    known = None if isinstance(ticks, int) else ticks
    return Probe(timeline, turn, known, table.tells_frames, table.dependencies)


def decode(file: Probe, wanted: set[int]) -> Iterator[tuple[int, Any]]:
    """Decodes the wanted frames of a file: what they need, or all up to the last of them.

    Args:
        file: What is known of it.
        wanted: Indices of frames.

    Yields:
        (index, `av.VideoFrame`), ascending.

    Raises:
        DecodeError: A wanted frame is damaged or missing.
    """
    missing = set(wanted)
    if missing and file.dependencies is not None:
        for index, picture in _planned(file, sorted(missing)):
            missing.remove(index)
            yield index, picture
    if missing:
        yield from _sequential(file, missing)


def _planned(file: Probe, wanted: list[int]) -> Iterator[tuple[int, Any]]:
    """Yields wanted frames in order, up to the first sign of trouble.

    What comes must be exactly what is expected: any error, damage, or picture out of turn ends it,
    and the caller decodes the rest sequentially.
    """
    if file.dependencies is None or file.ticks is None:
        return
    expected = deque((file.ticks[index], index) for index in wanted)
    packets = file.dependencies.packets_for([tick for tick, _ in expected])
    for picture, is_damaged in pictures(file.timeline.path, file.is_paired, packets):
        if is_damaged or picture.pts > expected[0][0]:
            return
        if picture.pts == expected[0][0]:
            yield expected.popleft()[1], picture
            if not expected:
                return


def _sequential(file: Probe, missing: set[int]) -> Iterator[tuple[int, Any]]:
    index_of = None if file.ticks is None else {tick: i for i, tick in enumerate(file.ticks)}
    count = -1
    for picture, is_damaged in pictures(file.timeline.path, file.is_paired):
        if picture is None:
            continue
        count += 1
        index = count if index_of is None else index_of.get(picture.pts)
        if index not in missing:
            continue
        if is_damaged:
            raise _lost(file.timeline, index, "it, or a frame it builds on, is damaged")
        missing.remove(index)
        yield index, picture
        if not missing:
            return
    raise _lost(file.timeline, min(missing), "the decoder did not deliver it")


@dataclass(frozen=True, slots=True)
class Turn:
    """What brings a decoded picture upright: FFmpeg's display matrix.

    It maps a pixel (x, y) to (a x + c y, b x + d y); players honour its quarter turns and
    mirrorings, which is what transposing and flipping can do.
    """

    rotation: int
    """Degrees counter-clockwise, as `av.VideoFrame.rotation` says."""
    matrix: tuple[int, int, int, int] | None
    """(a, b, c, d); None to leave the picture as it is."""

    @classmethod
    def of(cls, picture: Any) -> Turn:
        """Reads the matrix of an `av.VideoFrame`.

        Reading it ties the picture into a reference cycle: read for every picture, hundreds would
        stay in memory until Python next collects cycles.
        """
        data = picture.side_data.get("DISPLAYMATRIX")
        if data is None:
            return cls(picture.rotation, None)
        a, b, _, c, d = np.frombuffer(bytes(data), dtype=np.int32)[:5].tolist()
        return cls(picture.rotation, (a, b, c, d))


def upright(picture: Any, converter: VideoReformatter, turn: Turn) -> np.ndarray:
    """Converts a decoded picture to RGB (h w 3, uint8), turned and mirrored as the file asks.

    Args:
        picture: An `av.VideoFrame`.
        converter: Reused within a pass: left to itself, each picture makes its own with threads of
            its own, for the same pixels at several times the CPU.
        turn: That of the file's first picture, which holds unless this one says otherwise.
    """
    pixels: np.ndarray = converter.reformat(picture, format="rgb24", threads=1).to_ndarray()
    if picture.rotation != turn.rotation:
        turn = Turn.of(picture)
    if turn.matrix is None:
        return pixels
    a, b, c, d = turn.matrix
    if abs(b) > abs(a):
        pixels = pixels.transpose(1, 0, 2)
        a, d = c, b
    rows, columns = (slice(None, None, -1 if sign < 0 else 1) for sign in (d, a))
    return np.ascontiguousarray(pixels[rows, columns])


def _decoded_ticks(table: PacketTable) -> tuple[int, ...] | int:
    """Decodes a whole file to learn its frames: their ticks, or their number without ticks."""
    ticks: list[int | None] = []
    is_damaged = False
    for picture, is_bad in pictures(table.path, is_paired=False):
        is_damaged |= is_bad
        if picture is not None:
            ticks.append(picture.pts)
    known = tuple(tick for tick in ticks if tick is not None)
    if len(known) == len(ticks) and all(a < b for a, b in pairwise(known)):
        # what damage took away stays on the timeline, so that asking for it fails
        shown = tuple(table.shown)
        return shown if is_damaged and set(known) <= set(shown) else known
    if is_damaged:
        raise DecodeError(
            "the video is damaged",
            where=table.path,
            why="and its frames carry no times that would tell which are lost",
            mend="fetch the file again, or leave it out",
        )
    return len(ticks)


def _lost(timeline: Timeline, index: int, why: str) -> DecodeError:
    return DecodeError(
        f"frame {index} at {timeline.timestamps_s[index]:.3f} s cannot be decoded",
        where=timeline.path,
        why=why,
        mend="fetch the file again, or leave it out",
    )
