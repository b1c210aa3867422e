"""Frames of video files, exact by presentation time, decoded in one sequential pass.

One decoder thread per file: work is spread over files, and dropping a frame-threaded decoder before
it is drained can deadlock with PyAV's logging. For the same reason `av.logging` is left alone.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import av
import numpy as np
from av.video.reformatter import VideoReformatter

from vbench.errors import DecodeError
from vbench.frames.packets import PacketTable, read_packets
from vbench.frames.source import Frame, Source
from vbench.frames.timeline import Timeline

_FAILURES = (av.error.FFmpegError, OSError, ValueError, RuntimeError)


class VideoFile(Source):
    """A video file.

    Args:
        path: The file.

    Raises:
        DecodeError: It is missing, unreadable, cut short, or holds no frame that can be decoded.
    """

    def __init__(self, path: str) -> None:
        self.timeline, ticks = probe(path)
        self._index_of = None if ticks is None else {tick: i for i, tick in enumerate(ticks)}

    def frames(self, indices: Collection[int]) -> Iterator[Frame]:
        """See `Source.frames`."""
        converter = VideoReformatter()
        for index, picture in decode(self.timeline, self._checked(indices), self._index_of):
            pixels = upright(picture, converter)
            yield Frame(index, self.timeline.timestamps_s[index], pixels)


def probe(path: str) -> tuple[Timeline, tuple[int, ...] | None]:
    """Finds out which frames decoding a file delivers, without decoding it where that is safe.

    Returns:
        The timeline, and each frame's presentation time in ticks of the file's clock; None where
        the file does not tell frames apart, so that they can only be counted.

    Raises:
        DecodeError: See `VideoFile`.
    """
    with _opened(path) as (container, stream):
        table = read_packets(path, container, stream)
    ticks = tuple(table.shown) if table.tells_frames else _decoded_ticks(table)
    if isinstance(ticks, int):
        seconds = tuple(float(i / table.rate) for i in range(ticks))
    else:
        seconds = table.seconds(ticks)
    shape = upright(table.picture, VideoReformatter()).shape
    step = seconds[-1] / (len(seconds) - 1) if len(seconds) > 1 else float(1 / table.rate)
    last = None if isinstance(ticks, int) else ticks[-1]
    timeline = Timeline(
        path,
        seconds,
        end_s=seconds[-1] + table.duration_s(last, default=step),
        width=shape[1],
        height=shape[0],
        codec=table.codec,
        rotation=int(table.picture.rotation),
        identity=table.identity,
    )
    return timeline, None if isinstance(ticks, int) else ticks


def decode(
    timeline: Timeline, wanted: set[int], index_of: Mapping[int, int] | None
) -> Iterator[tuple[int, Any]]:
    """Decodes a file from its start to the last wanted frame.

    Args:
        timeline: Of the file.
        wanted: Indices of frames.
        index_of: Index by presentation time in ticks; None to count frames as they come.

    Yields:
        (index, `av.VideoFrame`), ascending.

    Raises:
        DecodeError: A wanted frame is damaged or missing.
    """
    missing = set(wanted)
    if not missing:
        return
    count = -1
    for picture, is_damaged in _pictures(timeline.path):
        if picture is None:
            continue
        count += 1
        index = count if index_of is None else index_of.get(picture.pts)
        if index not in missing:
            continue
        if is_damaged:
            raise _lost(timeline, index, "it, or a frame it builds on, is damaged")
        missing.remove(index)
        yield index, picture
        if not missing:
            return
    raise _lost(timeline, min(missing), "the decoder did not deliver it")


def upright(picture: Any, converter: VideoReformatter) -> np.ndarray:
    """Converts a decoded picture to RGB (h w 3, uint8), turned and mirrored as the file asks.

    The display matrix maps a pixel (x, y) to (a x + c y, b x + d y); players honour its quarter
    turns and mirrorings, which is what transposing and flipping can do.

    Args:
        picture: An `av.VideoFrame`.
        converter: Reused within a pass: left to itself, each picture makes its own with threads of
            its own, for the same pixels at several times the CPU.
    """
    pixels: np.ndarray = converter.reformat(picture, format="rgb24", threads=1).to_ndarray()
    side_data = picture.side_data.get("DISPLAYMATRIX")
    if side_data is None:
        return pixels
    a, b, _, c, d = np.frombuffer(bytes(side_data), dtype=np.int32)[:5].tolist()
    if abs(b) > abs(a):
        pixels = pixels.transpose(1, 0, 2)
        a, d = c, b
    rows, columns = (slice(None, None, -1 if sign < 0 else 1) for sign in (d, a))
    return np.ascontiguousarray(pixels[rows, columns])


def _decoded_ticks(table: PacketTable) -> tuple[int, ...] | int:
    """Decodes a whole file to learn its frames: their ticks, or their number without ticks."""
    ticks: list[int | None] = []
    is_damaged = False
    for picture, is_bad in _pictures(table.path):
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


def _pictures(path: str) -> Iterator[tuple[Any, bool]]:
    """Yields all that the decoder delivers, and whether it may show damage.

    Damage spreads to whatever builds on it, that is until the next keyframe. None stands for a
    packet that could not be decoded at all.
    """
    with _opened(path) as (container, stream):
        is_damaged = False
        for packet in container.demux(stream):
            try:
                pictures = packet.decode()
            except av.error.InvalidDataError:
                is_damaged = True
                yield None, True
                continue
            for picture in pictures:
                is_damaged = picture.is_corrupt or (is_damaged and not picture.key_frame)
                yield picture, is_damaged


@contextmanager
def _opened(path: str) -> Iterator[tuple[Any, Any]]:
    """Opens a file's video stream for one thread; failures become DecodeError."""
    try:
        if not Path(path).stat().st_size:
            raise DecodeError("the file is empty", where=path, mend="fetch or copy it again")
        # "file:" keeps names with a colon from being taken for a protocol, and the whitelist keeps
        # playlists from reaching other files and the network
        options = {"protocol_whitelist": "file"}
        with av.open(f"file:{path}", options=options, metadata_errors="replace") as container:
            stream = _video_stream(path, container)
            stream.thread_type = "NONE"
            stream.codec_context.thread_count = 1
            yield container, stream
    except _FAILURES as error:
        raise _unreadable(path, error) from error


def _video_stream(path: str, container: Any) -> Any:
    cover = av.stream.Disposition.attached_pic
    streams = [s for s in container.streams.video if not s.disposition & cover]
    if not streams or streams[0].codec_context is None:
        kinds = sorted({stream.type for stream in container.streams}) or ["nothing"]
        raise DecodeError(
            "the file holds no video that can be decoded",
            where=path,
            why=f"it holds {', '.join(kinds)} in a {container.format.name} container",
            mend="give a file with a video stream",
        )
    return streams[0]


def _unreadable(path: str, error: Exception) -> DecodeError:
    if isinstance(error, FileNotFoundError):
        return DecodeError("no such video file", where=path, mend="check dataset.root and the name")
    if isinstance(error, PermissionError):
        return DecodeError("no permission to read the file", where=path, mend="chmod it readable")
    reason = getattr(error, "strerror", None) or str(error)
    return DecodeError(
        "the file cannot be read as video",
        where=path,
        why=" ".join(f"{type(error).__name__}: {reason}".split()),
        mend="play it to see whether it is whole; fetch it again, or leave it out",
    )


def _lost(timeline: Timeline, index: int, why: str) -> DecodeError:
    return DecodeError(
        f"frame {index} at {timeline.timestamps_s[index]:.3f} s cannot be decoded",
        where=timeline.path,
        why=why,
        mend="fetch the file again, or leave it out",
    )
