"""A sample of a pair test: a true and a false caption, and where both come from."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from vbench.datasets.velociti.vidsitu.captioning import Caption, Change
from vbench.datasets.velociti.vidsitu.labels import EVENTS, LabelledEvent
from vbench.records import Claim


@dataclass(frozen=True, slots=True)
class Statement:
    """A caption with its meaning and its sources."""

    text: str
    claim: Claim
    parts: tuple[Caption, ...]
    """The captions of single events that it was made from."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A true and a false statement about a video."""

    video: str
    key: str
    """As the released files write it: `Ev2`, `["Ev1","Ev4"]`."""
    true: Statement
    false: Statement
    donor: str | None = None
    """The video that the false one is true of (control tests)."""


def say(caption: Caption) -> Statement:
    """States one event."""
    return Statement(caption.text, caption.claim, (caption,))


def event_key(*events: LabelledEvent) -> str:
    """Returns the released files' key of one event, or of several.

    >>> first, second = LabelledEvent(0, "sit", ()), LabelledEvent(1, "run", ())
    >>> event_key(first), event_key(first, second, second)
    ('Ev1', '["Ev1","Ev2","Ev2"]')
    """
    names = [EVENTS[event.index] for event in events]
    return names[0] if len(names) == 1 else json.dumps(names, separators=(",", ":"))


def provenance(test: str, pair: Pair, annotation: int) -> dict[str, object]:
    """Returns a sample's sources, down to event and argument, as a JSON object.

    Args:
        test: Its test.
        pair: The sample.
        annotation: Which annotator's labels were used.
    """
    return {
        "test": test,
        "video": pair.video,
        "key": pair.key,
        "annotation": annotation,
        "true": [_part(pair.video, caption) for caption in pair.true.parts],
        "false": [_part(pair.donor or pair.video, caption) for caption in pair.false.parts],
    }


def _part(video: str, caption: Caption) -> dict[str, object]:
    part: dict[str, object] = {
        "video": video,
        "event": EVENTS[caption.event.index],
        "caption": caption.text,
    }
    if caption.change:
        part["change"] = _change(caption.change)
    if caption.answers:
        part["answers"] = list(caption.answers)
    return part


def _change(change: Change) -> dict[str, object]:
    told: dict[str, object] = {"argument": change.role, "old": change.old, "new": change.new}
    if change.lender:
        told["from"] = {
            "video": change.lender.video.video_id,
            "event": change.lender.event.name,
            "argument": change.role,
        }
    return told


def texts(pairs: Sequence[Pair]) -> list[Statement]:
    """Returns all statements of some pairs, true and false alike."""
    return [statement for pair in pairs for statement in (pair.true, pair.false)]
