"""The control tests: captions of other videos, a derangement of the videos for each event."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from vbench.datasets.velociti.layout import source_of
from vbench.datasets.velociti.vidsitu.captioning import Caption
from vbench.datasets.velociti.vidsitu.labels import EVENTS
from vbench.datasets.velociti.vidsitu.lending import exchange
from vbench.datasets.velociti.vidsitu.pairing import VideoCaptions
from vbench.datasets.velociti.vidsitu.pairs import Pair, say
from vbench.datasets.velociti.vidsitu.tally import Tally
from vbench.records import Event


@dataclass(frozen=True, slots=True)
class _Lender:
    captions: VideoCaptions
    caption: Caption
    claim: frozenset[tuple[str, str]]
    facts: tuple[Event, ...]


def control_pairs(videos: Sequence[VideoCaptions], seed: int, tally: Tally) -> list[Pair]:
    """Returns the pairs of both control tests, video by video.

    For each of the five places every video lends its caption once and never to one of its own
    source. The borrowed caption is false of the borrower and the borrower's own false of the
    donor, so that one entry serves v2t and t2v.

    Args:
        videos: The captions of every video.
        seed: Of the draw.
        tally: Counts the events without a donor.
    """
    pairs: dict[str, dict[str, Pair]] = {of.video.video_id: {} for of in videos}
    for name in EVENTS:
        lenders = [
            _Lender(of, of.true[name], frozenset(of.true[name].claim.events[0].roles), _facts(of))
            for of in videos
            if name in of.true
        ]
        rng = random.Random(f"{seed}/control/{name}/{len(lenders)}")
        donors = exchange(lenders, _can_exchange, rng)
        for own, donor in zip(lenders, donors, strict=True):
            video = own.captions.video.video_id
            if donor is None:
                tally.add("control: no other video's caption fits", f"{video}/{name}")
                continue
            pairs[video][name] = Pair(
                video,
                name,
                say(own.caption),
                say(donor.caption),
                donor.captions.video.video_id,
            )
    return [pair for of_video in pairs.values() for pair in of_video.values()]


def _facts(of: VideoCaptions) -> tuple[Event, ...]:
    return tuple(event.claim() for event in of.video.events)


def _can_exchange(own: _Lender, donor: _Lender) -> bool:
    return (
        source_of(own.captions.video.video_id) != source_of(donor.captions.video.video_id)
        and own.caption.text != donor.caption.text
        and not _true_of(donor, own)
        and not _true_of(own, donor)
    )


def _true_of(teller: _Lender, shown: _Lender) -> bool:
    return any(teller.claim <= set(event.roles) for event in shown.facts)
