"""Captions with what they claim, in the words of oracles (`vbench.records`)."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import lru_cache

from vbench.datasets.toy.captions import chrono_caption, coref_caption, event_caption
from vbench.datasets.toy.world import EVENT_S, ToyClip, ToyEvent
from vbench.records import Claim, Event
from vbench.truth import holds

ROLES = ("agent", "direction", "instrument", "manner", "patient", "scene", "verb")
"""In the order of `Event.roles`."""

CACHED = 4096
"""A clip's events are stated and checked some dozens of times in a row."""


@dataclass(frozen=True, slots=True)
class Statement:
    """A caption and its meaning."""

    text: str
    claim: Claim


@lru_cache(maxsize=CACHED)
def say(event: ToyEvent) -> Statement:
    """States one event."""
    return Statement(event_caption(event), Claim((_claimed(event),)))


def say_same_person(a: ToyEvent, b: ToyEvent) -> Statement:
    """States that whoever does `a` also does `b`; neither agent nor scene is named."""
    unnamed = tuple(_claimed(event, leave_out=("agent", "scene")) for event in (a, b))
    return Statement(coref_caption(a, b), Claim(unnamed, "same_agent"))


def say_in_order(a: ToyEvent, b: ToyEvent) -> Statement:
    """States that `a` happens, then `b`."""
    return Statement(chrono_caption(a, b), Claim((_claimed(a), _claimed(b)), "then"))


@lru_cache(maxsize=CACHED)
def events_of(clip: ToyClip) -> tuple[Event, ...]:
    """Returns what happens in a clip, in time order."""
    return tuple(
        Event(_roles(event), EVENT_S * event.index, EVENT_S * (event.index + 1))
        for event in clip.events
    )


def is_true(statement: Statement, clip: ToyClip) -> bool:
    """Says whether a statement is true of a whole clip."""
    return holds(statement.claim, events_of(clip))


def _claimed(event: ToyEvent, leave_out: Collection[str] = ()) -> Event:
    return Event(tuple(pair for pair in _roles(event) if pair[0] not in leave_out))


@lru_cache(maxsize=CACHED)
def _roles(event: ToyEvent) -> tuple[tuple[str, str], ...]:
    return tuple((role, filler) for role in ROLES if (filler := getattr(event, role)) is not None)
