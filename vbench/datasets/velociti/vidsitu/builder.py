"""Builds VELOCITI's ten tests from labelled videos: captions first, then pairs."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field

from vbench.datasets.velociti.vidsitu.agents import plan_rivals, plan_strangers
from vbench.datasets.velociti.vidsitu.captioning import (
    Caption,
    Captioner,
    Order,
    Place,
    Positive,
)
from vbench.datasets.velociti.vidsitu.control import control_pairs
from vbench.datasets.velociti.vidsitu.labels import MANNER, LabelledVideo
from vbench.datasets.velociti.vidsitu.pairing import VideoCaptions, fits_ivat, video_pairs
from vbench.datasets.velociti.vidsitu.pairs import Pair
from vbench.datasets.velociti.vidsitu.tally import Tally

TESTS = (
    "control",
    "agent_iden",
    "agent_bind",
    "agent_coref",
    "action_adv",
    "action_bind",
    "action_modif",
    "chrono",
)
"""Tests with pairs; IVAT needs positive captions only."""


@dataclass(slots=True)
class Built:
    """The tests."""

    videos: list[LabelledVideo]
    captions: dict[str, dict[str, Caption]]
    """video → event → its positive caption."""
    pairs: dict[str, list[Pair]]
    ivat: list[str]
    """The videos of IVAT."""
    tally: Tally = field(default_factory=Tally)
    """What was not formed, and why."""


def draw(videos: Sequence[LabelledVideo], num_videos: int | None, seed: int) -> list[LabelledVideo]:
    """Returns a seeded draw of videos, in their order; all of them for None."""
    if num_videos is None or num_videos >= len(videos):
        return list(videos)
    chosen = sorted(random.Random(f"{seed}/videos").sample(range(len(videos)), num_videos))
    return [videos[n] for n in chosen]


def build_tests(
    videos: Sequence[LabelledVideo], captioner: Captioner, seed: int, match_arguments: bool
) -> Built:
    """Builds all ten tests.

    Args:
        videos: The labelled videos.
        captioner: Writes the captions.
        seed: Of every draw.
        match_arguments: Whether both actions of an ActBind sample have a patient, or neither has.
    """
    tally = Tally()
    positives = _positives(videos, captioner, tally)
    strangers = plan_strangers(positives, seed, tally)
    rivals = plan_rivals(positives, seed, tally)
    swapped = _by_place(captioner.describe([*strangers, *rivals], tally), [*strangers, *rivals])
    with_manner = [p for p in positives if p.place.event.get(MANNER) is not None]
    manners = captioner.change_manners(with_manner, tally)
    verbs = captioner.change_verbs(positives, tally)
    true = _by_event(positives, [p.caption for p in positives])
    false = {
        "stranger": _by_video(swapped[: len(strangers)]),
        "rival": _by_video(swapped[len(strangers) :]),
        "manner": _by_event(with_manner, manners),
        "verb": _by_event(positives, verbs),
    }
    captions = [
        VideoCaptions(
            video,
            true.get(video.video_id, {}),
            **{kind: of.get(video.video_id, {}) for kind, of in false.items()},
        )
        for video in videos
    ]
    pairs: dict[str, list[Pair]] = {test: [] for test in TESTS}
    pairs["control"] = control_pairs(captions, seed, tally)
    for of in captions:
        for test, own in video_pairs(of, seed, match_arguments, tally).items():
            pairs[test].extend(own)
    ivat = [of.video.video_id for of in captions if fits_ivat(of.video, of.true, tally)]
    return Built(list(videos), true, pairs, ivat, tally)


def _positives(
    videos: Sequence[LabelledVideo], captioner: Captioner, tally: Tally
) -> list[Positive]:
    places = [Place(video, event) for video in videos for event in video.events]
    captions = captioner.describe([Order(place) for place in places], tally)
    return [
        Positive(place, caption)
        for place, caption in zip(places, captions, strict=True)
        if caption is not None
    ]


_Found = tuple[str, str, Caption | None]
"""Video, event, caption."""


def _by_place(captions: Sequence[Caption | None], orders: Sequence[Order]) -> list[_Found]:
    return [
        (order.place.video.video_id, order.place.event.name, caption)
        for order, caption in zip(orders, captions, strict=True)
    ]


def _by_event(
    of: Sequence[Positive], captions: Sequence[Caption | None]
) -> dict[str, dict[str, Caption]]:
    return _by_video(_by_place(captions, [Order(positive.place) for positive in of]))


def _by_video(found: Sequence[_Found]) -> dict[str, dict[str, Caption]]:
    nested: dict[str, dict[str, Caption]] = {}
    for video, event, caption in found:
        if caption is not None:
            nested.setdefault(video, {})[event] = caption
    return nested
