"""Which agent stands in for the true one: from another video (AgIden) or from this one (AgBind).

Rules of arXiv 2406.10889v1, section 4.1. Who "does not appear in the video" is decided over all
annotators' labels; events and their agents are those of the chosen annotator alone.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from vbench.datasets.velociti.layout import source_of
from vbench.datasets.velociti.vidsitu.captioning import Change, Order, Place, Positive
from vbench.datasets.velociti.vidsitu.labels import AGENT, NUMBERED, LabelledVideo
from vbench.datasets.velociti.vidsitu.lending import lend
from vbench.datasets.velociti.vidsitu.phrases import overlaps, word_set
from vbench.datasets.velociti.vidsitu.tally import Tally


def plan_strangers(of: Sequence[Positive], seed: int, tally: Tally) -> list[Order]:
    """Plans AgIden: each event gets an agent of an event in a video of another source.

    The agent neither occurs in the event's video nor is, as a set of words, a part or an extension
    of anybody or anything there ("man" and "man in black shirt").

    Args:
        of: The captioned events; those without agent are passed over.
        seed: Of the draw.
        tally: Counts the events that nobody fits.
    """
    places = [positive.place for positive in of if positive.agent]
    rng = random.Random(f"{seed}/agent_iden/{len(places)}")
    lenders = lend(places, _is_stranger, lambda place: place.event.agent or "", rng)
    orders = []
    for place, lender in zip(places, lenders, strict=True):
        if lender is None:
            tally.add("AgIden: no agent of another video fits", place.where)
        else:
            orders.append(_swap(place, lender))
    return orders


def _is_stranger(borrower: Place, lender: Place) -> bool:
    if source_of(borrower.video.video_id) == source_of(lender.video.video_id):
        return False
    agent = word_set(lender.event.agent or "")
    return not any(
        agent <= there or there <= agent for there in map(word_set, borrower.video.phrases)
    )


def plan_rivals(of: Sequence[Positive], seed: int, tally: Tally) -> list[Order]:
    """Plans AgBind: each event gets the agent of another event of its video.

    Not one whose phrase is a part or an extension of the true agent's, who takes part in the event
    in another role, or who does the same elsewhere in the video: that might be no falsehood.

    Args:
        of: The captioned events; those without agent are passed over.
        seed: Of the draw; an event's draw depends on its video alone.
        tally: Counts the events without a rival.
    """
    orders = []
    for positive in of:
        place = positive.place
        if not positive.agent:
            continue
        rivals = [Place(place.video, event) for event in place.video.events if event.agent]
        rivals = [rival for rival in rivals if _is_rival(place, rival)]
        if rivals:
            rng = random.Random(f"{seed}/agent_bind/{place.where}")
            orders.append(_swap(place, rng.choice(rivals)))
        else:
            tally.add("AgBind: no other agent of the video fits", place.where)
    return orders


def _is_rival(place: Place, rival: Place) -> bool:
    event, agent = place.event, rival.event.agent or ""
    taking_part = (a.text for a in event.arguments if a.role in NUMBERED)
    return not any(overlaps(agent, phrase) for phrase in taking_part) and not _does(
        place.video, agent, event.verb
    )


def _does(video: LabelledVideo, agent: str, verb: str) -> bool:
    return any(
        event.verb == verb and event.agent is not None and overlaps(event.agent, agent)
        for event in video.events
    )


def _swap(place: Place, lender: Place) -> Order:
    return Order(place, Change(AGENT, place.event.agent or "", lender.event.agent or "", lender))
