"""What a caption is made from, and what templates and language models have in common."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from vbench.datasets.velociti.vidsitu.labels import AGENT, LabelledEvent, LabelledVideo
from vbench.datasets.velociti.vidsitu.tally import Tally
from vbench.records import Claim

VERB = "Verb"
"""Stands for the action where an argument's key is asked for."""


@dataclass(frozen=True, slots=True)
class Place:
    """An event in its video."""

    video: LabelledVideo
    event: LabelledEvent

    @property
    def where(self) -> str:
        """`v_abc_seg_0_10/Ev1`."""
        return f"{self.video.video_id}/{self.event.name}"


@dataclass(frozen=True, slots=True)
class Change:
    """What a false caption says instead of the truth."""

    role: str
    """A normalised role, or `Verb`."""
    old: str
    new: str
    lender: Place | None = None
    """The event that the new filler is taken from; None: a language model thought of it."""

    def applied(self, event: LabelledEvent) -> LabelledEvent:
        """Returns the event as the false caption tells it."""
        if self.role == VERB:
            return replace(event, verb=self.new)
        return event.filled(self.role, self.new)


@dataclass(frozen=True, slots=True)
class Caption:
    """A sentence, and what it says."""

    text: str
    event: LabelledEvent
    change: Change | None = None
    """None: it says what the labels say."""
    answers: tuple[str, ...] = ()
    """Keys of the journal's answers behind it; empty for templates."""
    claim: Claim = field(init=False, repr=False, compare=False)
    """What it says, in the words of oracles."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "claim", Claim((self.event.claim(),)))


@dataclass(frozen=True, slots=True)
class Order:
    """A caption that is wanted."""

    place: Place
    change: Change | None = None
    """None: the positive caption."""


@dataclass(frozen=True, slots=True)
class Positive:
    """An event whose positive caption exists."""

    place: Place
    caption: Caption

    @property
    def agent(self) -> str:
        """Who does it; empty where the labels name nobody."""
        return self.place.event.get(AGENT) or ""


class Captioner(Protocol):
    """Writes captions. What cannot be written is None, with a counted reason."""

    def describe(self, orders: Sequence[Order], tally: Tally) -> list[Caption | None]:
        """Captions events as labelled, or with the change that is ordered (another agent)."""
        ...

    def change_manners(self, of: Sequence[Positive], tally: Tally) -> list[Caption | None]:
        """Captions events in a manner that nothing in their videos is done in (ActModif)."""
        ...

    def change_verbs(self, of: Sequence[Positive], tally: Tally) -> list[Caption | None]:
        """Captions events with an action that does not occur in their videos (ActAdv)."""
        ...
