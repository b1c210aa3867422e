"""The tests of one video, from its captions: which pairs are formed and which are not.

Rules of arXiv 2406.10889v1, sections 3 and 4.1, and as derived from the released rows. A pair whose
false caption is true by the labels is not formed.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from vbench.datasets.velociti.vidsitu.captioning import Caption
from vbench.datasets.velociti.vidsitu.labels import AGENT, PATIENT, SCENE, LabelledVideo
from vbench.datasets.velociti.vidsitu.pairs import Pair, Statement, event_key, say
from vbench.datasets.velociti.vidsitu.phrases import find_all
from vbench.datasets.velociti.vidsitu.tally import Tally
from vbench.datasets.velociti.vidsitu.templates import is_several
from vbench.records import Claim, Event
from vbench.truth import holds

CHRONO_GAP = 2
"""The second event of a Chrono caption is at least this many places after the first."""

IVAT_SPANS = (("Ev1", "Ev2"), ("Ev4", "Ev5"))
"""The events inside the first and the last four seconds."""

Captions = Mapping[str, Caption]
"""Event (`Ev1` to `Ev5`) → its caption."""


@dataclass(frozen=True, slots=True)
class VideoCaptions:
    """A video's captions, true and false, by event."""

    video: LabelledVideo
    true: Captions
    stranger: Captions
    rival: Captions
    verb: Captions
    manner: Captions


def video_pairs(
    captions: VideoCaptions, seed: int, match_arguments: bool, tally: Tally
) -> dict[str, list[Pair]]:
    """Returns the pairs of the seven tests that need no other video, by test.

    Args:
        captions: The video's captions.
        seed: Of the draw between several false captions of ActBind.
        match_arguments: Whether ActBind's two actions must both have a patient or both have none.
        tally: Counts the pairs that are not formed.
    """
    swaps = action_swaps(captions, seed, match_arguments)
    pairs = {
        "agent_iden": _per_event(captions, captions.stranger),
        "agent_bind": _per_event(captions, captions.rival),
        "agent_coref": _coref(captions, swaps, tally),
        "action_adv": _per_event(captions, captions.verb),
        "action_bind": _per_event(captions, swaps),
        "action_modif": _per_event(captions, captions.manner),
        "chrono": _chrono(captions),
    }
    facts = captions.video.facts()
    positives = {caption.text for caption in captions.true.values()}
    kept: dict[str, list[Pair]] = {test: [] for test in pairs}
    for test, of in pairs.items():
        for pair in of:
            if holds(pair.false.claim, facts) or pair.false.text in positives:
                tally.add(f"{test}: the false caption would be true", f"{pair.video}/{pair.key}")
            elif pair.false.text == pair.true.text:
                tally.add(f"{test}: both captions read the same", f"{pair.video}/{pair.key}")
            else:
                kept[test].append(pair)
    return kept


def _per_event(captions: VideoCaptions, false: Captions) -> list[Pair]:
    return [
        Pair(captions.video.video_id, name, say(captions.true[name]), say(false[name]))
        for name in captions.true
        if name in false
    ]


def action_swaps(captions: VideoCaptions, seed: int, match_arguments: bool) -> dict[str, Caption]:
    """Returns ActBind's false captions: AgBind's of another event, seen from the agent in them.

    As in the release: the false caption of an event done by A is the AgBind caption of an event
    done by somebody else that tells it of A. Both actions having a patient, or none, is a rule of
    ours: A cannot be swapped into events that A takes part in, so without it the false action
    would have a patient less often than the true one, and length would tell.
    """
    swaps = {}
    for name, own in captions.true.items():
        choices = [
            rival
            for other, rival in captions.rival.items()
            if other != name
            and own.event.agent is not None
            and rival.event.agent == own.event.agent
            and (not match_arguments or _has_patient(rival) is _has_patient(own))
        ]
        if choices:
            where = f"{captions.video.video_id}/{name}"
            swaps[name] = random.Random(f"{seed}/action_bind/{where}").choice(choices)
    return swaps


def _has_patient(caption: Caption) -> bool:
    return caption.event.get(PATIENT) is not None


def _coref(captions: VideoCaptions, swaps: Captions, tally: Tally) -> list[Pair]:
    """AgCoref: two events of one agent; in the false caption the second is ActBind's false one."""
    pairs = []
    for a, b in combinations(captions.true, 2):
        first, second = captions.true[a], captions.true[b]
        if b not in swaps or first.event.agent is None or first.event.agent != second.event.agent:
            continue
        where = f"{captions.video.video_id}/{event_key(first.event, second.event)}"
        if is_several(first.event.agent):
            tally.add("AgCoref: the agent is several people", where)
            continue
        true, false = _same_person(first, second), _same_person(first, swaps[b])
        if true and false:
            key = event_key(first.event, second.event, second.event)
            pairs.append(Pair(captions.video.video_id, key, true, false))
        else:
            tally.add("AgCoref: the agent cannot be taken out of a caption", where)
    return pairs


def _same_person(a: Caption, b: Caption) -> Statement | None:
    deeds = [deed(caption) for caption in (a, b)]
    if not all(deeds):
        return None
    text = f"The person who {deeds[0]} is also the one who {deeds[1]}."
    events = tuple(caption.event.claim(leave_out=(AGENT, SCENE)) for caption in (a, b))
    return Statement(text, Claim(events, "same_agent"), (a, b))


def deed(caption: Caption) -> str | None:
    """Returns a caption without its agent, what stands before it (the scene) and the full stop.

    Returns:
        None where the agent is not in the caption, or is not followed by what it does.

    >>> from vbench.datasets.velociti.vidsitu.labels import Argument, LabelledEvent
    >>> event = LabelledEvent(0, "speak", (Argument("Arg0", "old man"),))
    >>> deed(Caption("On the front porch, an old man is speaking to himself.", event))
    'is speaking to himself'
    >>> deed(Caption("In the old man cave, the old man is speaking.", event))
    'is speaking'
    """
    text = caption.text
    spans = list(find_all(text, caption.event.agent or ""))
    if not spans:
        return None
    # The scene may name the agent too: who acts stands at the start, or behind the scene's comma.
    after_scene = (span for span in spans if span[0] == 0 or text[: span[0]].endswith(", "))
    _, end = next(after_scene, spans[0])
    rest = text[end:].strip().rstrip(".").rstrip()
    return rest if rest[:1].islower() else None


def _chrono(captions: VideoCaptions) -> list[Pair]:
    """Chrono: two events in their order and in the other."""
    pairs = []
    for a, b in combinations(captions.true.values(), 2):
        if b.event.index - a.event.index >= CHRONO_GAP:
            key = event_key(a.event, b.event)
            true, false = _in_order(a, b), _in_order(b, a)
            pairs.append(Pair(captions.video.video_id, key, true, false))
    return pairs


def _in_order(a: Caption, b: Caption) -> Statement:
    text = f"First, {a.text} Then, {b.text}"
    return Statement(text, Claim((*a.claim.events, *b.claim.events), "then"), (a, b))


def fits_ivat(video: LabelledVideo, true: Captions, tally: Tally) -> bool:
    """Says whether the first and the last event can be told apart by the video's two ends.

    Neither may be true of the other's four seconds, as far as the labels say.
    """
    if not {"Ev1", "Ev5"} <= set(true):
        tally.add("IVAT: the first or the last event has no caption", video.video_id)
        return False
    first, last = (say(true[name]) for name in ("Ev1", "Ev5"))
    start, end = (_span(video, names) for names in IVAT_SPANS)
    if first.text == last.text or holds(first.claim, end) or holds(last.claim, start):
        tally.add("IVAT: a caption is true of both ends", video.video_id)
        return False
    return True


def _span(video: LabelledVideo, names: Sequence[str]) -> list[Event]:
    events = (video.event(name) for name in names)
    return [event.claim() for event in events if event is not None]
