"""The questions that a language model is asked: text files beside this module, filled in.

VELOCITI's prompts (its Figures 5 to 7) are not published as text; these are vbench's own, after
what the paper says of them: in-context examples, and two steps in one answer (first what is
replaced, then the caption). Figures of a set built with them are not the paper's.
"""

from __future__ import annotations

import hashlib
from functools import lru_cache
from pathlib import Path
from string import Template
from typing import Literal

from vbench.datasets.velociti.vidsitu.captioning import Positive
from vbench.datasets.velociti.vidsitu.labels import LabelledEvent
from vbench.datasets.velociti.vidsitu.phrases import plain

FOLDER = Path(__file__).parent / "prompts"
NAMES = ("system", "positive", "manner", "verb", "repair")

Messages = tuple[tuple[str, str], ...]
"""(role, text), in the order of the conversation."""


@lru_cache
def prompt(name: str) -> str:
    """Returns the text of a prompt file."""
    return (FOLDER / f"{name}.txt").read_text(encoding="utf-8").strip()


def digest() -> str:
    """Returns a hash of all prompts."""
    return hashlib.sha256("\0".join(map(prompt, NAMES)).encode()).hexdigest()[:16]


def describe(event: LabelledEvent) -> Messages:
    """Asks for the caption of an event."""
    return _asked("positive", labels=labels_text(event))


def replace(positive: Positive, what: Literal["manner", "verb"]) -> Messages:
    """Asks for a false caption that differs from the true one in its manner, or in its verb."""
    video = positive.place.video
    used = video.manners if what == "manner" else video.verbs
    return _asked(
        what,
        labels=labels_text(positive.place.event),
        caption=positive.caption.text,
        used="; ".join(sorted(map(plain, used))),
    )


def repair(asked: Messages, answer: str, complaint: str) -> Messages:
    """Asks once more, telling what was wrong."""
    again = Template(prompt("repair")).substitute(complaint=complaint)
    return (*asked, ("assistant", answer), ("user", again))


def labels_text(event: LabelledEvent) -> str:
    """Returns an event's labels, one a line, with VidSitu's own keys.

    >>> from vbench.datasets.velociti.vidsitu.labels import Argument
    >>> print(labels_text(LabelledEvent(0, "run", (Argument("Arg0", "boy", "Arg0 (runner)"),))))
    Verb: run
    Arg0 (runner): boy
    """
    lines = [f"{a.key or a.role}: {plain(a.text)}" for a in event.arguments]
    return "\n".join([f"Verb: {event.verb}", *lines])


def _asked(name: str, **filled: str) -> Messages:
    return ("system", prompt("system")), ("user", Template(prompt(name)).substitute(filled))
