"""The facts of the toy world: pure, fair, and never shared between training and measuring."""

import ast
import random
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vbench.datasets.toy import world
from vbench.datasets.toy.world import (
    CHARACTERS,
    MANNER_GROUPS,
    MANNERS,
    SCENES,
    VERBS,
    ToyClip,
    benchmark_clip,
    manner_group,
    training_clip,
    with_verb,
)

SCRIPT = Path(__file__).parents[3] / "scripts" / "train_toy_clip.py"


@pytest.fixture(scope="module")
def clips() -> list[ToyClip]:
    return [benchmark_clip(3, index) for index in range(2000)]


def test_clip_is_pure_function_of_seed_and_index() -> None:
    random.seed(1)
    first = benchmark_clip(7, 11)
    random.seed(2)
    assert benchmark_clip(7, 11) == first
    assert benchmark_clip(7, 12) != first
    assert benchmark_clip(8, 11) != first


def test_clip_is_the_same_in_another_process_and_hash_seed() -> None:
    code = "from vbench.datasets.toy.world import *; print(repr(benchmark_clip(7, 11)))"
    for hash_seed in ("1", "2"):
        printed = subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(SCRIPT.parents[1])},
            capture_output=True,
            text=True,
            check=True,
            timeout=300,
        ).stdout.strip()
        assert printed == repr(benchmark_clip(7, 11))


def test_facts_of_one_clip_are_pinned() -> None:
    # Every figure ever published on the toy world depends on these draws.
    clip = benchmark_clip(0, 0)
    assert clip.video_id == "v_WczpujGN31M_seg_255_265"
    assert clip.cast == ("the yellow square", "the white cloud", "the orange diamond")
    assert [event.verb for event in clip.events] == ["chase", "float", "glow", "sing", "jump"]


def test_every_event_is_well_formed(clips: list[ToyClip]) -> None:
    for clip in clips:
        assert len(clip.events) == 5
        assert [event.index for event in clip.events] == [0, 1, 2, 3, 4]
        assert len(set(clip.cast)) == len(clip.cast) in (2, 3)
        assert {event.agent for event in clip.events} == set(clip.cast)
        for event in clip.events:
            kind = VERBS[event.verb]
            assert (event.patient is not None) == kind.transitive
            assert event.patient in (None, *clip.cast)
            assert event.patient != event.agent
            assert event.instrument == kind.instrument
            assert event.direction in (kind.directions or (None,))
            assert event.manner in (None, *MANNERS)
            assert event.scene in SCENES


def test_verbs_are_distinct_in_a_clip(clips: list[ToyClip]) -> None:
    # So no two events of a clip are the same to an oracle.
    assert all(len({event.verb for event in clip.events}) == 5 for clip in clips)


def test_scene_changes_at_most_once(clips: list[ToyClip]) -> None:
    changes = Counter(
        sum(a.scene != b.scene for a, b in zip(clip.events, clip.events[1:], strict=False))
        for clip in clips
    )
    assert set(changes) == {0, 1}
    assert 0.26 < changes[1] / len(clips) < 0.34


def test_nothing_is_rare_and_place_tells_nothing(clips: list[ToyClip]) -> None:
    events = [event for clip in clips for event in clip.events]
    for values, found in (
        (CHARACTERS, Counter(event.agent for event in events)),
        (SCENES, Counter(event.scene for event in events)),
        (MANNERS, Counter(event.manner for event in events if event.manner)),
    ):
        assert set(found) == set(values)
        assert max(found.values()) < 1.25 * min(found.values())
    for index in (0, 4):
        share = Counter(clip.events[index].verb for clip in clips)
        assert set(share) == set(VERBS)
        assert min(share.values()) > 0.6 * len(clips) / len(VERBS)


def test_characters_differ_in_colour_and_in_shape() -> None:
    colours, shapes = zip(*(name.removeprefix("the ").split() for name in CHARACTERS), strict=True)
    assert len(set(colours)) == len(set(shapes)) == len(CHARACTERS)


def test_video_ids_are_unique_and_split_from_the_right(clips: list[ToyClip]) -> None:
    ids = [clip.video_id for clip in clips] + [training_clip(k).video_id for k in range(2000)]
    assert len(set(ids)) == len(ids)
    for video_id in ids:
        source, span = video_id.removeprefix("v_").rsplit("_seg_", 1)
        start, end = map(int, span.split("_"))
        assert re.fullmatch(r"[A-Za-z0-9_-]{11}", source)
        assert end - start == 10
        assert start % 5 == 0


@given(seed=st.integers(-(2**40), 2**40), index=st.integers(0, 2**40), other=st.integers(0, 2**40))
def test_training_never_draws_a_benchmark_clip(seed: int, index: int, other: int) -> None:
    assert benchmark_clip(seed, index) != training_clip(other)
    assert benchmark_clip(seed, index).video_id != training_clip(other).video_id


def test_namespaces_cannot_collide() -> None:
    # Neither is a prefix of the other, so no seed or index turns one name into the other.
    names = world.BENCHMARK_NAMESPACE, world.TRAINING_NAMESPACE
    assert not names[0].startswith(names[1])
    assert not names[1].startswith(names[0])


def test_training_script_reaches_no_benchmark_clip() -> None:
    tree = ast.parse(SCRIPT.read_text())
    imported = {
        alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }
    words = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    words |= {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    assert "training_clip" in imported
    assert not {"benchmark_clip", "BENCHMARK_NAMESPACE", "_draw", "importlib"} & (imported | words)
    # Nor the module itself, through which it could reach one.
    assert not {name for name in imported if "toy" in name or name in ("world", "datasets")}


def test_with_verb_takes_the_roles_of_the_new_verb() -> None:
    rng = random.Random(0)
    event = benchmark_clip(0, 0).events[0]
    assert event.verb == "chase"
    thrown = with_verb(event, "throw", rng)
    assert (thrown.verb, thrown.instrument, thrown.patient) == ("throw", "a ball", event.patient)
    assert with_verb(thrown, "push", rng).instrument is None
    still = next(
        e for clip in map(training_clip, range(50)) for e in clip.events if e.verb == "jump"
    )
    directions = {with_verb(still, "walk", rng).direction for _ in range(50)}
    assert directions == {"to the left", "to the right"}
    with pytest.raises(ValueError, match="patient"):
        with_verb(still, "push", rng)


def test_manner_groups_part_the_manners() -> None:
    assert sorted(MANNERS) == sorted(m for group in MANNER_GROUPS.values() for m in group)
    assert len(set(MANNERS)) == len(MANNERS)
    assert manner_group("sadly") == ("happily", "angrily", "sadly")
