"""VELOCITI's pairs from toy clips: a true caption and a false one that differ in one thing.

Pairing rules as in arXiv 2406.10889v1, section 4.1, and as derived from the released rows. Each
draw depends on its clip and test alone, so a clip has the same pairs in a set of any size; only
the control tests look at the other clips. Each negative is checked against the facts: where none
is false, or none can be formed, the event has no pair in that test.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from vbench.datasets.toy.statements import Statement, is_true, say, say_in_order, say_same_person
from vbench.datasets.toy.world import (
    CHARACTERS,
    VERBS,
    ToyClip,
    ToyEvent,
    manner_group,
    with_verb,
)

CHRONO_GAP = 2
"""The second event of a Chrono caption is at least this many places after the first."""

SWAP_TRIES = 100
"""Clips that are asked to swap before a control pair is given up."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A true and a false statement about a clip."""

    true: Statement
    false: Statement
    donor: str | None = None
    """The video that the false one is true of (control tests)."""


Pairs = dict[str, Pair]
"""Event key, as the released files write it → pair."""


def event_key(*events: ToyEvent) -> str:
    """Returns the released files' key of one event, or of several.

    >>> from vbench.datasets.toy.world import benchmark_clip
    >>> first, second = benchmark_clip(0, 0).events[:2]
    >>> event_key(first), event_key(first, second, second)
    ('Ev1', '["Ev1","Ev2","Ev2"]')
    """
    names = [f"Ev{event.index + 1}" for event in events]
    return names[0] if len(names) == 1 else json.dumps(names, separators=(",", ":"))


def clip_pairs(clip: ToyClip) -> dict[str, Pairs]:
    """Returns the pairs of the seven tests that need no other clip, by test."""
    rivals = _rivals(clip)
    swaps = _action_swaps(clip, rivals)
    return {
        "agent_iden": _per_event(clip, "agent_iden", _strange_agent),
        "agent_bind": {event_key(e): Pair(say(e), say(rival)) for e, rival in rivals.items()},
        "agent_coref": _coref(clip, swaps),
        "action_adv": _per_event(clip, "action_adv", _strange_verb),
        "action_bind": {event_key(e): Pair(say(e), say(swap)) for e, swap in swaps.items()},
        "action_modif": _per_event(clip, "action_modif", _strange_manner),
        "chrono": _chrono(clip),
    }


Change = Callable[[ToyClip, ToyEvent, random.Random], ToyEvent | None]


def _per_event(clip: ToyClip, test: str, change: Change) -> Pairs:
    rng = _rng(clip, test)
    changed = ((event, change(clip, event, rng)) for event in clip.events)
    return {event_key(e): Pair(say(e), say(c)) for e, c in changed if c and _is_false(say(c), clip)}


def _strange_agent(clip: ToyClip, event: ToyEvent, rng: random.Random) -> ToyEvent:
    """AgIden: an agent who is not in the clip."""
    return replace(event, agent=rng.choice([c for c in CHARACTERS if c not in clip.cast]))


def _strange_verb(clip: ToyClip, event: ToyEvent, rng: random.Random) -> ToyEvent:
    """ActAdv: an action that is not in the clip, with a patient if the true one has one."""
    done = {other.verb for other in clip.events}
    kind = VERBS[event.verb].transitive
    verbs = [v for v, of in VERBS.items() if of.transitive is kind and v not in done]
    return with_verb(event, rng.choice(verbs), rng)


def _strange_manner(clip: ToyClip, event: ToyEvent, rng: random.Random) -> ToyEvent | None:
    """ActModif: a manner that excludes the true one and that nothing in the clip is done in."""
    if event.manner is None:
        return None
    used = {other.manner for other in clip.events}
    manners = [m for m in manner_group(event.manner) if m not in used]
    return replace(event, manner=rng.choice(manners)) if manners else None


def _rivals(clip: ToyClip) -> dict[ToyEvent, ToyEvent]:
    """AgBind: the event done by the agent of another event, who is not its patient."""
    rng = _rng(clip, "agent_bind")
    rivals = {}
    for event in clip.events:
        agents = sorted({e.agent for e in clip.events} - {event.agent, event.patient})
        if not agents:
            continue
        rival = replace(event, agent=rng.choice(agents))
        if _is_false(say(rival), clip):
            rivals[event] = rival
    return rivals


def _action_swaps(clip: ToyClip, rivals: Mapping[ToyEvent, ToyEvent]) -> dict[ToyEvent, ToyEvent]:
    """ActBind: AgBind's negatives seen from their agent: what somebody else does, as if by them.

    As in the release, where ActBind's negatives are AgBind's negatives of another event. The
    swapped-in action takes a patient where the true one does: otherwise a longer caption would be
    more often the true one.
    """
    rng = _rng(clip, "action_bind")
    swaps = {}
    for event in clip.events:
        kind = VERBS[event.verb].transitive
        choices = [
            rival
            for other, rival in rivals.items()
            if other is not event
            and rival.agent == event.agent
            and VERBS[rival.verb].transitive is kind
        ]
        if choices:
            swaps[event] = rng.choice(choices)
    return swaps


def _coref(clip: ToyClip, swaps: Mapping[ToyEvent, ToyEvent]) -> Pairs:
    """AgCoref: two events of one agent; in the negative the second is ActBind's negative of it."""
    pairs = {}
    for a, b in combinations(clip.events, 2):
        if a.agent != b.agent or b not in swaps:
            continue
        false = say_same_person(a, swaps[b])
        if _is_false(false, clip):
            pairs[event_key(a, b, b)] = Pair(say_same_person(a, b), false)
    return pairs


def _chrono(clip: ToyClip) -> Pairs:
    """Chrono: two events in their order and in the other."""
    return {
        event_key(a, b): Pair(say_in_order(a, b), say_in_order(b, a))
        for a, b in combinations(clip.events, 2)
        if b.index - a.index >= CHRONO_GAP and _is_false(say_in_order(b, a), clip)
    }


def control_pairs(clips: Sequence[ToyClip]) -> dict[str, Pairs]:
    """Returns the pairs of the control tests, by video.

    For each of the five places the donors are a derangement of the videos: every video lends its
    caption once and never to itself. The borrowed caption is false of the borrower and the
    borrower's own is false of the donor, so that one entry serves v2t and t2v.
    """
    pairs: dict[str, Pairs] = {clip.video_id: {} for clip in clips}
    if len(clips) < 2:
        return pairs
    rng = random.Random(f"control/{clips[0].video_id}/{len(clips)}")
    for place in range(len(clips[0].events)):
        order = list(clips)
        rng.shuffle(order)
        donors = order[1:] + order[:1]
        _swap_until_false(order, donors, place, rng)
        for clip, donor in zip(order, donors, strict=True):
            if _can_lend(donor, clip, place):
                own, borrowed = clip.events[place], donor.events[place]
                key = event_key(own)
                pairs[clip.video_id][key] = Pair(say(own), say(borrowed), donor.video_id)
    return {video: dict(sorted(of.items())) for video, of in pairs.items()}


def _swap_until_false(
    clips: Sequence[ToyClip], donors: list[ToyClip], place: int, rng: random.Random
) -> None:
    """Lets two clips exchange their donors where a borrowed caption would be true.

    Sets of a few clips may have no way out, so tries are counted and the pair is left unmended.
    """
    for i, clip in enumerate(clips):
        if _can_lend(donors[i], clip, place):
            continue
        for j in rng.sample(range(len(clips)), min(SWAP_TRIES, len(clips))):
            if _can_lend(donors[j], clip, place) and _can_lend(donors[i], clips[j], place):
                donors[i], donors[j] = donors[j], donors[i]
                break


def _can_lend(donor: ToyClip, clip: ToyClip, place: int) -> bool:
    return (
        donor is not clip
        and _is_false(say(donor.events[place]), clip)
        and _is_false(say(clip.events[place]), donor)
    )


def _is_false(statement: Statement, clip: ToyClip) -> bool:
    return not is_true(statement, clip)


def _rng(clip: ToyClip, test: str) -> random.Random:
    return random.Random(f"{test}/{clip.video_id}")
