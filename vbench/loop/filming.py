"""Strips of clips for a reader: of frames that a model saw, or that a sampler chooses now.

Each file is opened once and decoded once for all its strips, in processes that can be killed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from vbench.errors import VbenchError
from vbench.loop.keys import fingerprint
from vbench.loop.sources import Source
from vbench.loop.strips import evenly, thumbnail, write_strip
from vbench.loop.survey import survey
from vbench.records import Clip


@dataclass(frozen=True)
class Shot:
    """A strip to make."""

    strip: Path
    """The JPEG; one that is there is left alone."""
    clip: Clip
    frame_indices: tuple[int, ...] | None = None
    """The frames a model saw; None: the sampler chooses."""
    content: str = ""
    """Hash of the file that the model saw them in; "" where it is not known."""


@dataclass(frozen=True)
class Taken:
    """What became of a shot."""

    frame_indices: tuple[int, ...] = ()
    timestamps_s: tuple[float, ...] = ()
    """Seconds from the file's first frame."""
    reason: str = ""
    """Why there is no strip, in one line."""


def film(
    shots: Sequence[Shot],
    open_source: Callable[[str], Source],
    sampler: object = None,
    workers: int | None = None,
    timeout_s: float = 120.0,
) -> dict[Shot, Taken]:
    """Makes strips.

    Args:
        shots: What is wanted.
        open_source: Opens a path, picklable.
        sampler: Chooses the frames of shots that name none.
        workers: See `survey`.
        timeout_s: A file that takes longer is given up.

    Returns:
        What became of each shot; trouble with a file is a reason, never an exception.

    Raises:
        RunError: A strip cannot be written.
    """
    by_path: dict[str, list[Shot]] = {}
    for shot in dict.fromkeys(shots):
        by_path.setdefault(shot.clip.path, []).append(shot)
    found: dict[Shot, Taken] = {}
    look = _Look(by_path, open_source, sampler)
    for path, taken in survey(look, list(by_path), workers, timeout_s):
        if isinstance(taken, str):
            found |= dict.fromkeys(by_path[path], Taken(reason=taken))
        else:
            found |= dict(zip(by_path[path], taken, strict=True))
    return found


def unfilmed(taken: Iterable[Taken]) -> list[str]:
    """Returns a line for a reader if some strips could not be made.

    >>> unfilmed([Taken((0,)), Taken(reason="no such file")])
    ['1 clip has no picture: no such file']
    """
    reasons = [found.reason for found in taken if found.reason]
    if not reasons:
        return []
    told = "1 clip has" if len(reasons) == 1 else f"{len(reasons)} clips have"
    other = len(set(reasons)) - 1
    more = f" (and {other} other reasons)" if other else ""
    return [f"{told} no picture: {reasons[0]}{more}"]


class _Look:
    """What a worker does with one path."""

    def __init__(
        self,
        shots: Mapping[str, Sequence[Shot]],
        open_source: Callable[[str], Source],
        sampler: object,
    ) -> None:
        self.shots = shots
        self.open_source = open_source
        self.sampler = sampler

    def __call__(self, path: str) -> list[Taken]:
        shots = self.shots[path]
        contents = {shot.content for shot in shots if shot.content}
        now = fingerprint(path) if contents else ""
        try:
            source = self.open_source(path)
        except VbenchError as error:
            return [Taken(reason=_reason(error))] * len(shots)
        taken = [
            Taken(reason="the file has changed since the run")
            if shot.content and shot.content != now
            else self._picked(source, shot)
            for shot in shots
        ]
        drawn = [(s, t) for s, t in zip(shots, taken, strict=True) if not t.reason]
        missing = [(shot, found) for shot, found in drawn if not shot.strip.is_file()]
        lost = _draw(source, missing)
        return [
            Taken(t.frame_indices, t.timestamps_s, lost) if lost and (s, t) in missing else t
            for s, t in zip(shots, taken, strict=True)
        ]

    def _picked(self, source: Source, shot: Shot) -> Taken:
        if shot.frame_indices is not None:
            return Taken(shot.frame_indices)
        try:
            picked = source.pick(shot.clip, self.sampler)
        except VbenchError as error:
            return Taken(reason=_reason(error))
        return Taken(picked.indices, picked.timestamps_s)


def _draw(source: Source, missing: Sequence[tuple[Shot, Taken]]) -> str:
    """Writes strips from one pass over the file; returns why it could not."""
    wanted = {index for _, taken in missing for index in evenly(taken.frame_indices)}
    if not wanted:
        return ""
    try:
        small = {frame.index: thumbnail(frame.pixels) for frame in source.frames(wanted)}
    except VbenchError as error:
        return _reason(error)
    for shot, taken in missing:
        write_strip([small[index] for index in evenly(taken.frame_indices)], shot.strip)
    return ""


def _reason(error: VbenchError) -> str:
    return " ".join(f"{error.what}: {error.why}".removesuffix(": ").split())
