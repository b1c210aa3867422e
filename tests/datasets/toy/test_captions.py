"""Captions say exactly the facts: nothing is lost, nothing is added."""

from dataclasses import astuple, replace

from hypothesis import given
from hypothesis import strategies as st

from vbench.datasets.toy.captions import (
    ACTION_PHRASES,
    SCENE_PHRASES,
    chrono_caption,
    coref_caption,
    event_caption,
    predicate,
)
from vbench.datasets.toy.world import CHARACTERS, MANNERS, SCENES, VERBS, ToyEvent, benchmark_clip


@st.composite
def events(draw: st.DrawFn) -> ToyEvent:
    agent, patient = draw(st.permutations(CHARACTERS))[:2]
    verb = draw(st.sampled_from(sorted(VERBS)))
    kind = VERBS[verb]
    return ToyEvent(
        agent=agent,
        verb=verb,
        patient=patient if kind.transitive else None,
        instrument=kind.instrument,
        direction=draw(st.sampled_from(kind.directions)) if kind.directions else None,
        manner=draw(st.sampled_from([None, *MANNERS])),
        scene=draw(st.sampled_from(SCENES)),
        index=draw(st.integers(0, 4)),
    )


def facts(event: ToyEvent) -> tuple[object, ...]:
    return astuple(event)[:-1]


def deeds(event: ToyEvent) -> tuple[object, ...]:
    return (event.verb, event.patient, event.instrument, event.direction, event.manner)


def test_every_verb_and_scene_has_a_phrase_with_its_roles() -> None:
    assert set(SCENE_PHRASES) == set(SCENES)
    assert set(ACTION_PHRASES) == set(VERBS)
    for verb, kind in VERBS.items():
        phrase = ACTION_PHRASES[verb]
        assert ("{patient}" in phrase) == kind.transitive
        assert ("{instrument}" in phrase) == (kind.instrument is not None)
        assert ("{direction}" in phrase) == bool(kind.directions)


@given(events(), events())
def test_same_caption_means_same_facts(a: ToyEvent, b: ToyEvent) -> None:
    assert (event_caption(a) == event_caption(b)) == (facts(a) == facts(b))
    assert (predicate(a) == predicate(b)) == (deeds(a) == deeds(b))


def test_all_captions_of_many_clips_are_distinct_by_facts() -> None:
    said: dict[str, tuple[object, ...]] = {}
    for index in range(2000):
        for event in benchmark_clip(5, index).events:
            caption = event_caption(event)
            assert said.setdefault(caption, facts(event)) == facts(event)


@given(events(), events(), events(), events())
def test_pairs_differ_when_their_facts_or_their_order_do(
    a: ToyEvent, b: ToyEvent, c: ToyEvent, d: ToyEvent
) -> None:
    same = (facts(a), facts(b)) == (facts(c), facts(d))
    assert (chrono_caption(a, b) == chrono_caption(c, d)) == same
    same_deeds = (deeds(a), deeds(b)) == (deeds(c), deeds(d))
    assert (coref_caption(a, b) == coref_caption(c, d)) == same_deeds


@given(events(), st.sampled_from(CHARACTERS))
def test_another_agent_changes_the_agent_only(event: ToyEvent, agent: str) -> None:
    scene = SCENE_PHRASES[event.scene]
    assert event_caption(replace(event, agent=agent)) == f"{scene}, {agent} {predicate(event)}."


@given(events(), events())
def test_form_is_velocitis(a: ToyEvent, b: ToyEvent) -> None:
    caption = event_caption(a)
    assert caption.isascii()
    assert caption[0].isupper()
    assert caption.endswith(".")
    assert caption.count(".") == 1
    assert "None" not in caption
    assert "  " not in caption
    assert chrono_caption(a, b) == f"First, {event_caption(a)} Then, {event_caption(b)}"
    coref = coref_caption(a, b)
    assert coref.startswith("The person who is ")
    assert " is also the one who is " in coref
    assert not any(phrase in coref for phrase in SCENE_PHRASES.values())


def test_one_caption_of_each_verb() -> None:
    red = ToyEvent("the red star", "walk", None, None, "to the left", "slowly", "city", 0)
    assert event_caption(red) == (
        "In the city at night, the red star is slowly walking to the left."
    )
    thrown = ToyEvent("the red star", "throw", "the blue circle", "a ball", None, None, "space", 1)
    assert predicate(thrown) == "is throwing a ball at the blue circle"
    lit = replace(thrown, verb="light", instrument="a lamp", manner="jerkily")
    assert predicate(lit) == "is jerkily lighting up the blue circle with a lamp"
