"""Opening a video file's stream for one decoder thread.

One thread per file: work is spread over files, and dropping a frame-threaded decoder before it is
drained can deadlock with PyAV's logging. For the same reason `av.logging` is left alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import av

from vbench.errors import DecodeError

_FAILURES = (av.error.FFmpegError, OSError, ValueError, RuntimeError)
_PLAYLISTS = frozenset({"concat", "dash", "hls", "imf"})


@contextmanager
def opened(path: str) -> Iterator[tuple[Any, Any]]:
    """Opens a file, and gives the container and its video stream.

    Raises:
        DecodeError: The file cannot be opened, holds no video, or fails while it is being read.
    """
    try:
        if not Path(path).stat().st_size:
            raise DecodeError("the file is empty", where=path, mend="fetch or copy it again")
        # "file:" keeps names with a colon from being taken for a protocol, and the whitelist keeps
        # playlists from reaching other files and the network
        options = {"protocol_whitelist": "file"}
        with av.open(f"file:{path}", options=options, metadata_errors="replace") as container:
            if container.format.name in _PLAYLISTS:
                raise DecodeError(
                    "the file is a playlist, not a video",
                    where=path,
                    why="it shows other files, and those may change unnoticed",
                    mend="name the video itself",
                )
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
