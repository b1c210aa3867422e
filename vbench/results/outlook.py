"""What an evaluation would do, in numbers: lines for people, JSON for programs."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from vbench.results.pace import Pace
from vbench.results.text import aligned, visible

VERSION = 1
"""Of the JSON; a key that goes or changes its meaning raises it."""
SHOWN = 5
"""Files with faults that a terminal lists; JSON has all."""


@dataclass(frozen=True)
class Amount:
    """Files to decode, clips, frames and texts to encode, pairs to score, replies to ask for."""

    files: int = 0
    clips: int = 0
    frames: int = 0
    texts: int = 0
    pairs: int = 0
    replies: int = 0


@dataclass(frozen=True)
class Answers:
    """Rows of predictions: of a clip, a text, a pair or a reply."""

    total: int
    """That there are in the end."""
    stored: int
    """Of these, in the run folder already and final."""
    cached: int
    """Of the rest of this process's share, known from other runs."""


@dataclass(frozen=True)
class Bytes:
    """Sizes; None where they are not known."""

    videos: int
    """Files as they lie on disk."""
    decoded: int
    """All frames at 3 bytes a pixel."""
    prepared: int | None
    """All frames as the model takes them."""
    embeddings: int | None
    """Of clips and texts, as the run folder stores them."""


@dataclass(frozen=True)
class Time:
    """Seconds for what is left; None where they cannot be told."""

    decode_cpu_s: float | None
    """Of one core, to decode and prepare."""
    decode_workers: int
    """Processes that share it."""
    measured_on: Sequence[str]
    """Files that were decoded to find out."""
    total_s: float | None
    """Decoding and model together, at the pace of an earlier run; without texts where their pace
    is not known."""
    pace: Pace | None


@dataclass(frozen=True)
class Outlook:
    """What an evaluation would do."""

    name: str
    run_dir: str
    samples: Mapping[str, int]
    """By test."""
    requests: int
    unique_requests: int
    per_sample: Amount
    """What asking sample by sample would take."""
    planned: Amount
    answers: Answers
    left: Amount
    """What is still to be done by this process."""
    bytes: Bytes
    time: Time
    faults: Mapping[str, str]
    """Files that cannot be read as wanted, and why."""


def to_json(outlook: Outlook) -> str:
    """Returns one JSON object, strict: no NaN, only ASCII."""
    values = {"version": VERSION, **asdict(outlook), "reuse": reuse(outlook)}
    return json.dumps(values, indent=2, allow_nan=False)


def reuse(outlook: Outlook) -> dict[str, float | None]:
    """Returns how many times over a loop per sample would do each thing; None: it does none."""
    naive, planned = asdict(outlook.per_sample), asdict(outlook.planned)
    return {
        name: round(naive[name] / planned[name], 2) if planned[name] else None for name in planned
    }


def lines(outlook: Outlook) -> list[str]:
    """Returns the outlook as lines of text."""
    total = sum(outlook.samples.values())
    shown = [visible(f"{outlook.name}: {total} samples")]
    shown += aligned(list(outlook.samples.items()), right=True, indent=4)
    shown.append(f"{outlook.requests} requests, {outlook.unique_requests} of them different")
    shown += aligned(_work(outlook), right=True)
    shown += aligned(
        [
            ["bytes", _sizes(outlook.bytes) if outlook.planned.files else "no file is opened"],
            ["answers", _answers(outlook)],
            ["time", _time(outlook.time) if any(asdict(outlook.left).values()) else "none is left"],
        ],
        indent=0,
    )
    if outlook.faults:
        count = f"{len(outlook.faults)} file{'s' * (len(outlook.faults) > 1)}"
        shown.append(f"{count} cannot be read as wanted; `vbench doctor` says more:")
        some = list(outlook.faults.items())[:SHOWN]
        shown += [f"  {visible(path)}: {visible(why)}" for path, why in some]
    return shown


def _work(outlook: Outlook) -> list[list[object]]:
    used = [name for name, count in asdict(outlook.planned).items() if count]
    times = reuse(outlook)
    rows: list[list[object]] = [["", *used]]
    for title, amount in (
        ("sample by sample", outlook.per_sample),
        ("planned", outlook.planned),
        ("left to do", outlook.left),
    ):
        rows.append([title, *(f"{asdict(amount)[name]:,}" for name in used)])
    rows.append(["saved", *(f"{times[name]:.1f}x" for name in used)])
    return rows


def _sizes(sizes: Bytes) -> str:
    said = {
        "videos": sizes.videos,
        "frames decoded": sizes.decoded,
        "frames prepared": sizes.prepared,
        "embeddings": sizes.embeddings,
    }
    known = [(name, size) for name, size in said.items() if size is not None]
    return ", ".join(f"{name} {size / 1e6:,.1f} MB" for name, size in known)


def _answers(outlook: Outlook) -> str:
    answers = outlook.answers
    cached = f", {answers.cached} known from other runs" if answers.cached else ""
    return f"{answers.stored} of {answers.total} in {outlook.run_dir}{cached}"


def _time(time: Time) -> str:
    said = []
    if time.decode_cpu_s:
        workers = max(1, time.decode_workers)
        said.append(
            f"decoding {duration(time.decode_cpu_s / workers)} with {workers} "
            f"worker{'s' * (workers > 1)}, going by {len(time.measured_on)} files decoded just now"
        )
    if time.total_s is not None and time.pace is not None:
        texts = time.pace.texts_per_s
        rates = f"{time.pace.frames_per_s:.1f} frames/s"
        rates += f", {texts:.1f} texts/s" if texts else ", texts not counted"
        said.append(
            f"altogether {duration(time.total_s)}, going by {time.pace.run} "
            f"({rates} on {time.pace.device})"
        )
    else:
        said.append("the model's time is not estimated: no earlier run of it tells")
    return "; ".join(said)


def duration(seconds: float) -> str:
    """Writes a time as h:mm:ss, and a short one as seconds.

    >>> duration(4.24), duration(75), duration(7260)
    ('4.2 s', '1:15', '2:01:00')
    """
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
