"""Captions of the toy world with what they are true of, word for word (docs/toy_vlm.md)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache

from toy_vlm_words import vocabulary, words_of

from vbench.datasets.toy.captions import ACTION_PHRASES, SCENE_PHRASES
from vbench.datasets.toy.world import EVENTS_PER_CLIP, ToyClip, ToyEvent

NONE = -100
"""Of a target: nothing is asked here."""


@dataclass
class Text:
    """Words with what is to be learnt at each of them."""

    ids: list[int] = field(default_factory=list)
    targets: list[int] = field(default_factory=list)
    """The next word, where the model is to say it."""
    truths: list[tuple[int, tuple[int, ...]]] = field(default_factory=list)
    """Places and what is true there, 0 or 1: which events the last thing said is true of (5), which
    all that the sentence has said so far (5); whether the statement so far is true of the clip."""

    def add(self, text: str) -> Text:
        """Appends a text that is only read."""
        ids = [word_id(word) for word in words_of(text)]
        self.ids += ids
        self.targets += [NONE] * len(ids)
        return self

    def say(self, text: str) -> Text:
        """Appends a text that the model is to say; the word before it must exist."""
        ids = [word_id(word) for word in words_of(text)]
        self.targets = [*self.targets[:-1], *ids, NONE]
        self.ids += ids
        return self

    def answer(self, word: str) -> Text:
        """Sets what follows the last word."""
        self.targets[-1] = word_id(word)
        return self


@cache
def word_id(word: str) -> int:
    """Returns a word's number; every word asked here is known."""
    return vocabulary()[word]


@dataclass(frozen=True)
class Statement:
    """One event, two in order (`then`), or two of one agent (`same`)."""

    kind: str
    events: tuple[ToyEvent, ...]


ROLES = ("scene", "agent", "manner", "verb", "direction", "instrument", "patient")


def pieces(event: ToyEvent, named: bool = True) -> list[tuple[str, frozenset[str]]]:
    """Returns the pieces of an event's caption without its full stop, each with all said so far.

    Args:
        event: The event.
        named: Scene and agent are told.
    """
    said: list[str] = []
    parts: list[tuple[str, frozenset[str]]] = []

    def tell(text: str, role: str | None = None) -> None:
        said.extend([role] if role else [])
        parts.append((text, frozenset(said)))

    if named:
        tell(SCENE_PHRASES[event.scene], "scene")
        tell(",")
        tell(event.agent, "agent")
    tell("is")
    if event.manner:
        tell(event.manner, "manner")
    for k, word in enumerate(ACTION_PHRASES[event.verb].split()):
        role = word.strip("{}")
        tell(str(getattr(event, role)) if role != word else word, role if role != word else None)
        if k == 0:
            said.append("verb")
            parts[-1] = (parts[-1][0], frozenset(said))
    return parts


def matching(event: ToyEvent, said: frozenset[str], clip: ToyClip) -> tuple[int, ...]:
    """Returns 1 for each event of the clip that agrees with the roles said."""
    roles = [role for role in ROLES if role in said]
    return tuple(
        int(all(getattr(other, role) == getattr(event, role) for role in roles))
        for other in clip.events
    )


def together(kind: str, first: Sequence[int], second: Sequence[int], clip: ToyClip) -> int:
    """Says whether some event of `first` and some of `second` stand as the statement has it."""
    return int(
        any(
            (i < j) if kind == "then" else (clip.events[i].agent == clip.events[j].agent)
            for i in range(len(first))
            for j in range(len(second))
            if first[i] and second[j]
        )
    )


def write(statement: Statement, clip: ToyClip, text: Text) -> bool:
    """Appends a statement's caption with the truth of each piece.

    A clip may be an excerpt of fewer than five events; the missing ones match nothing.

    Returns:
        Whether the statement is true of the clip.
    """
    kind, events = statement.kind, statement.events
    openings = {"one": [""], "then": ["First,", "Then,"], "same": ["The person who", ""]}[kind]
    first: tuple[int, ...] = ()
    truth = 1
    missing = (0,) * (EVENTS_PER_CLIP - len(clip.events))
    for k, (opening, event) in enumerate(zip(openings, events, strict=True)):
        text.add("also the one who" if kind == "same" and k else opening)
        matches: tuple[int, ...] = (1,) * len(clip.events)
        before: frozenset[str] = frozenset()
        for piece, said in pieces(event, named=kind != "same"):
            text.add(piece)
            if said != before:
                last = matching(event, said - before, clip)
                matches = matching(event, said, clip)
                truth = together(kind, first, matches, clip) if k else int(any(matches))
                labels = (*last, *missing, *matches, *missing, truth)
                text.truths.append((len(text.ids) - 1, labels))
                before = said
        first = first or matches
        text.add("is" if kind == "same" and not k else ".")
        labels = (*matches, *missing, *matches, *missing, truth)
        text.truths.append((len(text.ids) - 1, labels))
    return bool(truth)
