"""Pictures show the facts, and nothing but the facts and the clip's name decides them."""

from collections.abc import Iterable
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from vbench.datasets.toy.marks import MARKS
from vbench.datasets.toy.render import CHOREOGRAPHY, FPS, SIZE, render_frame, render_frames
from vbench.datasets.toy.scenes import PAINTERS
from vbench.datasets.toy.sprites import COLOURS, SHAPES
from vbench.datasets.toy.world import (
    CHARACTERS,
    MANNER_GROUPS,
    SCENES,
    VERBS,
    ToyClip,
    ToyEvent,
    training_clip,
)

TIMES = [k / FPS for k in range(24)]


def clip_of(event: ToyEvent, video_id: str = "v_abcdefghijk_seg_0_10") -> ToyClip:
    """Returns a clip of that event only, five times."""
    cast = ("the red star", "the blue circle", "the green triangle")
    return ToyClip(video_id, cast, tuple(replace(event, index=k) for k in range(5)))


def event_of(verb: str, **roles: str | None) -> ToyEvent:
    kind = VERBS[verb]
    event = ToyEvent(
        agent="the red star",
        verb=verb,
        patient="the blue circle" if kind.transitive else None,
        instrument=kind.instrument,
        direction=kind.directions[0] if kind.directions else None,
        manner=None,
        scene="room",
        index=0,
    )
    return replace(event, **roles)


def drawn(event: ToyEvent, times: Iterable[float] = TIMES) -> np.ndarray:
    return np.stack([render_frame(clip_of(event), t) for t in times])


def test_frames_have_the_promised_form() -> None:
    frames = list(render_frames(training_clip(1)))
    assert len(frames) == 120
    assert {(f.shape, f.dtype) for f in frames} == {((SIZE, SIZE, 3), np.dtype(np.uint8))}


def test_frames_are_the_moments_in_order_and_pure() -> None:
    clip = training_clip(2)
    frames = list(render_frames(clip))
    for index in (119, 0, 60, 23, 24):
        assert np.array_equal(frames[index], render_frame(clip, index / FPS))


def test_returned_frames_are_the_callers_own() -> None:
    clip = training_clip(3)
    before = render_frame(clip, 0.5)
    render_frame(clip, 0.5)[:] = 0
    assert np.array_equal(render_frame(clip, 0.5), before)


def test_everything_in_the_world_can_be_drawn() -> None:
    assert set(CHOREOGRAPHY) == set(VERBS)
    assert set(VERBS) | set(MANNER_GROUPS["emotion"]) == set(MARKS)
    assert set(PAINTERS) == set(SCENES)
    for name in CHARACTERS:
        _, colour, shape = name.split()
        assert colour in COLOURS
        assert shape in SHAPES


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_moves_or_is_marked_unlike_every_other(verb: str) -> None:
    mine = drawn(event_of(verb))
    for other in VERBS:
        if other != verb and VERBS[other].transitive == VERBS[verb].transitive:
            theirs = drawn(event_of(other))
            unlike = np.abs(mine.astype(int) - theirs).max(axis=(1, 2, 3)) > 60
            # Growing and shrinking may pass through one size at one moment.
            assert unlike.sum() >= 23, other


@pytest.mark.parametrize("verb", VERBS)
def test_who_does_it_shows(verb: str) -> None:
    mine = drawn(event_of(verb))
    roles = {"agent": "the green triangle"}
    assert (drawn(event_of(verb, **roles)) != mine).any(axis=(1, 2, 3)).all()
    if VERBS[verb].transitive:
        swapped = event_of(verb, agent="the blue circle", patient="the red star")
        assert (drawn(swapped) != mine).any(axis=(1, 2, 3)).all()


@pytest.mark.parametrize(
    ("verb", "ways"), [(v, k.directions) for v, k in VERBS.items() if k.directions]
)
def test_directions_differ_in_motion_only(verb: str, ways: tuple[str, str]) -> None:
    there, back = (drawn(event_of(verb, direction=way)) for way in ways)
    assert not np.array_equal(there, back)
    axis = 2 if verb == "walk" else 1
    assert _steps_of_red(there, axis) < 0 < _steps_of_red(back, axis)


def _steps_of_red(frames: np.ndarray, axis: int) -> float:
    """Returns the median step, in pixels a frame, of the red pixels' centre."""
    red = (frames[..., 0] > 180) & (frames[..., 1] < 80) & (frames[..., 2] < 80)
    centres = [np.argwhere(mask)[:, axis - 1].mean() for mask in red]
    return float(np.median(np.diff(centres)))


def test_grow_and_shrink_change_size_in_opposite_ways() -> None:
    for verb, sign in (("grow", 1), ("shrink", -1)):
        frames = drawn(event_of(verb))
        red = (frames[..., 0] > 180) & (frames[..., 1] < 80) & (frames[..., 2] < 80)
        assert np.median(np.diff(red.sum(axis=(1, 2)))) * sign > 0


def test_emotions_show_in_every_frame_and_speed_only_in_motion() -> None:
    plain = drawn(event_of("glow"))
    for manner in MANNER_GROUPS["emotion"]:
        assert (drawn(event_of("glow", manner=manner)) != plain).any(axis=(1, 2, 3)).all()
    first = [drawn(event_of("spin", manner=m), [0.0]) for m in ("quickly", "slowly", "jerkily")]
    assert np.array_equal(first[0], first[1])
    assert np.array_equal(first[1], first[2])
    speeds = [
        np.abs(np.diff(drawn(event_of("walk", manner=m)).astype(int), axis=0)).sum()
        for m in ("quickly", None, "slowly")
    ]
    assert speeds[0] > speeds[1] > speeds[2]


def test_jerkily_stands_still_between_jerks() -> None:
    def repeats(manner: str | None) -> int:
        frames = drawn(event_of("walk", manner=manner))
        return sum(np.array_equal(a, b) for a, b in pairwise(frames))

    assert repeats("jerkily") >= 17 > 0 == repeats("smoothly")


def test_whole_cast_is_in_sight_in_every_frame() -> None:
    for index in range(20):
        clip = training_clip(index)
        for frame in list(render_frames(clip))[::6]:
            for name in clip.cast:
                colour = np.array(COLOURS[name.split()[1]])
                near = np.abs(frame.astype(int) - colour).max(axis=2) < 12
                assert near.sum() > 20, (index, name)


def test_layout_depends_on_the_name_but_facts_do_not() -> None:
    event = event_of("glow")
    one, two = (render_frame(clip_of(event, f"v_{k}_seg_0_10"), 0.5) for k in ("aaa", "bbb"))
    assert not np.array_equal(one, two)
