"""The captioner that needs no language model: templates, and fillers lent from other events."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

from vbench.datasets.velociti.vidsitu.captioning import (
    VERB,
    Caption,
    Change,
    Order,
    Place,
    Positive,
)
from vbench.datasets.velociti.vidsitu.labels import AGENT, MANNER, PATIENT, LabelledEvent
from vbench.datasets.velociti.vidsitu.lending import lend
from vbench.datasets.velociti.vidsitu.phrases import overlaps
from vbench.datasets.velociti.vidsitu.tally import Tally
from vbench.datasets.velociti.vidsitu.templates import GOVERNED, event_caption


class TemplateCaptioner:
    """Writes every caption by the same template (`captioning.Captioner`).

    Args:
        seed: Of the draws that lend manners and verbs.
    """

    def __init__(self, seed: int) -> None:
        self._seed = seed

    def describe(self, orders: Sequence[Order], tally: Tally) -> list[Caption | None]:
        """Captions events as labelled, or with another agent."""
        return [self._caption(order.place, order.change, tally) for order in orders]

    def change_manners(self, of: Sequence[Positive], tally: Tally) -> list[Caption | None]:
        """Lends each event the manner of an event of another video."""
        return self._lent("manner", of, MANNER, _takes_manner, tally)

    def change_verbs(self, of: Sequence[Positive], tally: Tally) -> list[Caption | None]:
        """Lends each event the verb of one with the same frame: with or without agent and patient.

        Events whose verb governs more (an instrument, a direction) are left out: few other verbs
        take the same, and a caption that is no English is told from the true one by that alone.
        """
        chosen: list[Caption | None] = [None] * len(of)
        frames: dict[tuple[bool, bool], list[int]] = {}
        for number, positive in enumerate(of):
            event = positive.place.event
            if any(event.get(role) for role in GOVERNED):
                tally.add("ActAdv by template: the verb governs other arguments", _where(positive))
            else:
                frames.setdefault(_frame(event), []).append(number)
        for numbers in frames.values():
            lent = self._lent("verb", [of[n] for n in numbers], VERB, _takes_verb, tally)
            for number, caption in zip(numbers, lent, strict=True):
                chosen[number] = caption
        return chosen

    def _lent(
        self,
        what: str,
        of: Sequence[Positive],
        role: str,
        fits: Callable[[Place, Place], bool],
        tally: Tally,
    ) -> list[Caption | None]:
        rng = random.Random(f"{self._seed}/{what}/{len(of)}")
        captions: list[Caption | None] = []
        places = [positive.place for positive in of]
        lenders = lend(places, fits, lambda place: _filler(place.event, role), rng)
        for positive, lender in zip(of, lenders, strict=True):
            if lender is None:
                tally.add(f"no other video lends a {what} that fits", _where(positive))
                captions.append(None)
                continue
            old, new = (_filler(place.event, role) for place in (positive.place, lender))
            change = Change(role, old, new, lender)
            captions.append(self._caption(positive.place, change, tally))
        return captions

    def _caption(self, place: Place, change: Change | None, tally: Tally) -> Caption | None:
        event = change.applied(place.event) if change else place.event
        text = event_caption(event)
        if text is None:
            tally.add("an event has neither agent nor patient: no caption", place.where)
            return None
        return Caption(text, event, change)


def _where(positive: Positive) -> str:
    return positive.place.where


def _filler(event: LabelledEvent, role: str) -> str:
    return event.verb if role == VERB else event.get(role) or ""


def _frame(event: LabelledEvent) -> tuple[bool, bool]:
    return event.get(AGENT) is not None, event.get(PATIENT) is not None


def _takes_manner(borrower: Place, lender: Place) -> bool:
    manner = lender.event.get(MANNER) or ""
    return not any(overlaps(manner, used) for used in borrower.video.manners)


def _takes_verb(borrower: Place, lender: Place) -> bool:
    return not any(_same_verb(lender.event.verb, done) for done in borrower.video.verbs)


def _same_verb(one: str, other: str) -> bool:
    """Says whether two verbs share their first word: `walk` and `walk away` do."""
    return one.split()[0].lower() == other.split()[0].lower() if one and other else False
