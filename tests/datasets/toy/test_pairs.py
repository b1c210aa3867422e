import itertools
import json
from dataclasses import replace
from functools import lru_cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vbench.datasets.toy.captions import coref_caption, event_caption
from vbench.datasets.toy.pairs import Pair, clip_pairs, control_pairs
from vbench.datasets.toy.world import (
    MANNER_GROUPS,
    VERBS,
    ToyClip,
    ToyEvent,
    benchmark_clip,
    manner_group,
)
from vbench.records import Claim

CLIPS = [benchmark_clip(5, index) for index in range(300)]
pairs_of = lru_cache(maxsize=len(CLIPS))(clip_pairs)


def shows(clip: ToyClip, said: dict[str, str]) -> list[ToyEvent]:
    """The events of a clip that a claimed event is true of: the rule, told in its own words."""
    return [e for e in clip.events if all(getattr(e, r) == f for r, f in said.items())]


def true_of(claim: Claim, clip: ToyClip) -> bool:
    """Truth by enumeration of all ways to point the caption's events at the clip's."""
    found = [shows(clip, dict(event.roles)) for event in claim.events]
    for events in itertools.product(*found):
        if claim.relation == "same_agent" and len({e.agent for e in events}) > 1:
            continue
        indices = [e.index for e in events]
        if claim.relation == "then" and indices != sorted(set(indices)):
            continue
        return True
    return False


def event_at(clip: ToyClip, key: str) -> ToyEvent:
    return clip.events[int(key.removeprefix("Ev")) - 1]


def all_pairs(clip: ToyClip) -> list[tuple[str, str, Pair]]:
    return [(t, key, pair) for t, of in pairs_of(clip).items() for key, pair in of.items()]


@given(st.integers(), st.integers(min_value=0))
def test_every_positive_is_true_and_every_negative_false(seed: int, index: int) -> None:
    clip = benchmark_clip(seed, index)
    for _, _, pair in all_pairs(clip):
        assert true_of(pair.true.claim, clip)
        assert not true_of(pair.false.claim, clip)


def test_all_tests_are_formed_from_a_few_hundred_clips() -> None:
    counts = {test: sum(len(pairs_of(c)[test]) for c in CLIPS) for test in pairs_of(CLIPS[0])}
    assert counts["agent_iden"] == counts["action_adv"] == 1500
    assert counts["chrono"] == 1800
    assert counts["agent_bind"] > 1100
    assert counts["action_bind"] > 600
    assert counts["agent_coref"] > 200
    assert counts["action_modif"] > 700


def test_one_positive_caption_per_event() -> None:
    for clip in CLIPS:
        for test, key, pair in all_pairs(clip):
            if test not in ("agent_coref", "chrono"):
                assert pair.true.text == event_caption(event_at(clip, key))


def test_a_clip_has_the_same_pairs_alone_and_among_others() -> None:
    assert clip_pairs(CLIPS[7]) == clip_pairs(benchmark_clip(5, 7))


def test_agent_identification_takes_a_stranger() -> None:
    for clip in CLIPS:
        for pair in pairs_of(clip)["agent_iden"].values():
            (said,) = pair.false.claim.events
            assert said.get("agent") not in clip.cast


def test_agent_binding_takes_another_agent_of_the_clip() -> None:
    for clip in CLIPS:
        for key, pair in pairs_of(clip)["agent_bind"].items():
            event = event_at(clip, key)
            agent = pair.false.claim.events[0].get("agent")
            assert agent in {e.agent for e in clip.events} - {event.agent, event.patient}
            assert pair.false.text == event_caption(replace(event, agent=agent))


def test_action_binding_mirrors_agent_binding() -> None:
    for clip in CLIPS:
        pairs = pairs_of(clip)
        for key, pair in pairs["action_bind"].items():
            event = event_at(clip, key)
            (said,) = pair.false.claim.events
            others = {k: p.false.text for k, p in pairs["agent_bind"].items() if k != key}
            assert pair.false.text in others.values()
            assert said.get("agent") == event.agent
            assert said.get("patient") != event.agent
            assert VERBS[said.get("verb") or ""].transitive is VERBS[event.verb].transitive
            assert said.get("verb") not in {e.verb for e in clip.events if e.agent == event.agent}


def test_coreference_is_built_on_action_binding() -> None:
    for clip in CLIPS:
        pairs = pairs_of(clip)
        for key, pair in pairs["agent_coref"].items():
            first, second, third = json.loads(key)
            a, b = event_at(clip, first), event_at(clip, second)
            assert second == third
            assert a.index < b.index
            assert a.agent == b.agent
            assert pair.true.text == coref_caption(a, b)
            swapped = pairs["action_bind"][second].false.claim.events[0]
            assert pair.false.claim.events[1].get("verb") == swapped.get("verb")
            start = pair.true.text.split(" is also ")[0]
            assert pair.false.text.startswith(start)
            for said in (*pair.true.claim.events, *pair.false.claim.events):
                assert said.get("agent") is None
                assert said.get("scene") is None


def test_adversarial_actions_are_not_in_the_clip_and_take_as_many_objects() -> None:
    for clip in CLIPS:
        for key, pair in pairs_of(clip)["action_adv"].items():
            event = event_at(clip, key)
            verb = pair.false.claim.events[0].get("verb")
            assert verb is not None
            assert verb not in {e.verb for e in clip.events}
            assert VERBS[verb].transitive is VERBS[event.verb].transitive


def test_modifiers_exclude_the_true_one_and_are_not_in_the_clip() -> None:
    for clip in CLIPS:
        for key, pair in pairs_of(clip)["action_modif"].items():
            event = event_at(clip, key)
            manner = pair.false.claim.events[0].get("manner")
            assert event.manner is not None
            assert manner in manner_group(event.manner)
            assert manner not in {e.manner for e in clip.events}


def test_chronology_swaps_events_that_are_not_neighbours() -> None:
    keys = {f'["Ev{a}","Ev{b}"]' for a, b in [(1, 3), (1, 4), (1, 5), (2, 4), (2, 5), (3, 5)]}
    for clip in CLIPS:
        chrono = pairs_of(clip)["chrono"]
        assert set(chrono) == keys
        for key, pair in chrono.items():
            a, b = (event_caption(event_at(clip, name)) for name in json.loads(key))
            assert pair.true.text == f"First, {a} Then, {b}"
            assert pair.false.text == f"First, {b} Then, {a}"


@pytest.mark.parametrize("count", [2, 3, 30, 300])
def test_controls_derange_the_videos(count: int) -> None:
    clips = {clip.video_id: clip for clip in CLIPS[:count]}
    control = control_pairs(list(clips.values()))
    assert list(control) == list(clips)
    for place in range(1, 6):
        donors = {}
        for video, pairs in control.items():
            if pair := pairs.get(f"Ev{place}"):
                donors[video] = pair.donor
                donor = clips[pair.donor or ""]
                assert pair.true.text == event_caption(clips[video].events[place - 1])
                assert pair.false.text == event_caption(donor.events[place - 1])
                assert true_of(pair.true.claim, clips[video])
                assert true_of(pair.false.claim, donor)
                assert not true_of(pair.false.claim, clips[video])
                assert not true_of(pair.true.claim, donor)
        assert len(set(donors.values())) == len(donors)
        assert all(video != donor for video, donor in donors.items())
        assert len(donors) == count


def test_controls_end_where_nothing_can_be_borrowed() -> None:
    same = CLIPS[0]
    twins = [same, replace(same, video_id="v_twin_seg_0_10")]
    assert control_pairs(twins) == {same.video_id: {}, "v_twin_seg_0_10": {}}
    assert control_pairs([same]) == {same.video_id: {}}
    assert control_pairs([]) == {}


def test_a_true_borrowed_caption_is_swapped_away() -> None:
    # Two pairs of twins among ten clips: some shuffle would put twins together.
    clips = [
        *CLIPS[:8],
        *(replace(c, video_id=f"v_twin{i}_seg_0_10") for i, c in enumerate(CLIPS[:2])),
    ]
    control = control_pairs(clips)
    assert all(len(pairs) == 5 for pairs in control.values())
    by_id = {clip.video_id: clip for clip in clips}
    for video, pairs in control.items():
        for pair in pairs.values():
            assert not true_of(pair.false.claim, by_id[video])


def test_captions_are_as_long_in_true_and_false() -> None:
    """A scorer that prefers long captions learns nothing."""
    for test in pairs_of(CLIPS[0]):
        wins, ties, total = 0, 0, 0
        for clip in CLIPS:
            for pair in pairs_of(clip)[test].values():
                longer = len(pair.true.text.split()) - len(pair.false.text.split())
                wins += longer > 0
                ties += longer == 0
                total += 1
        assert abs((wins + ties / 2) / total - 0.5) < 0.06, test


def test_the_groups_of_manners_hold_what_is_drawn() -> None:
    drawn = {e.manner for clip in CLIPS for e in clip.events if e.manner}
    assert drawn == {m for group in MANNER_GROUPS.values() for m in group}
