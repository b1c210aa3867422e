"""Subtitles beside a video, as text for a prompt: .srt and .vtt."""

from __future__ import annotations

import re
from pathlib import Path

from vbench.errors import DataError

_TIME = r"(?:(\d+):)?(\d{1,2}):(\d{2})[,.](\d{1,3})"
_CUE = re.compile(rf"^\s*{_TIME}\s*-->\s*{_TIME}")
_MARKUP = re.compile(r"<[^>\n]*>|\{\\[^}\n]*\}")

Cue = tuple[float, float, str]
"""Start and end in seconds, text in one line."""


def find_subtitles(folder: Path, video: Path) -> Path | None:
    """Returns the file of a video's subtitles, by the video's name; None if there is none."""
    names = (folder / f"{video.stem}{ending}" for ending in (".srt", ".vtt"))
    return next((name for name in names if name.is_file()), None)


def read_cues(file: Path) -> list[Cue]:
    """Reads all cues in the file's order; formatting marks are dropped.

    Raises:
        DataError: It cannot be read, or holds no cue.
    """
    try:
        lines = file.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(
            "subtitles cannot be read",
            where=str(file),
            why=str(error),
            mend="save them as UTF-8 text, .srt or .vtt",
        ) from error
    cues: list[Cue] = []
    text: list[str] = []
    span: tuple[float, float] | None = None
    for line in [*lines, ""]:
        if found := _CUE.match(line):
            span, text = (_seconds(found.groups()[:4]), _seconds(found.groups()[4:])), []
        elif span and line.strip():
            text.append(_MARKUP.sub("", line).strip())
        elif span:
            cues.append((*span, " ".join(filter(None, text))))
            span = None
    if not cues:
        raise DataError("no subtitle is found", where=str(file), mend="give .srt or .vtt cues")
    return cues


def said_within(cues: list[Cue], start_s: float, end_s: float | None) -> str:
    """Returns what is shown at some time within a span, one cue a line.

    >>> said_within([(0.0, 1.0, "Hi."), (1.0, 2.0, "Bye.")], 1.0, None)
    'Bye.'
    """
    end = float("inf") if end_s is None else end_s
    return "\n".join(text for start, stop, text in cues if text and start < end and stop > start_s)


def _seconds(parts: tuple[str | None, ...]) -> float:
    hours, minutes, seconds, fraction = parts
    whole = 3600 * int(hours or 0) + 60 * int(minutes or 0) + int(seconds or 0)
    return whole + float(f"0.{fraction}")
