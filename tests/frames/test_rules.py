"""Each rule against an independent formula, and against the script or library it comes from."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vbench.frames import rules

counts = st.integers(1, 5000)
wanted = st.integers(1, 128)


def pllava_get_index(n: int, k: int) -> list[int]:
    segment = float(n - 1) / k
    return [int(segment / 2) + int(np.round(segment * i)) for i in range(k)]


REFERENCES: dict[str, Callable[[int, int], list[int]]] = {
    "left_edge": lambda n, k: np.arange(0, n, n / k).astype(int)[:k].tolist(),
    "uniform_endpoints": lambda n, k: np.linspace(0, n - 1, k).astype(int).tolist(),
    "uniform_midpoints": lambda n, k: [
        int((Fraction(i) + Fraction(1, 2)) * n / k) for i in range(k)
    ],
    "uniform_interior": lambda n, k: [int(i * (n / (k + 1))) for i in range(1, k + 1)],
    "segment_offset": pllava_get_index,
    "whole_steps": lambda n, k: (np.arange(k) * np.floor(n / k)).astype(int).tolist(),
}


@pytest.mark.parametrize("name", REFERENCES)
@given(n=counts, k=wanted)
def test_count_rules_equal_their_source(name: str, n: int, k: int) -> None:
    assert getattr(rules, name)(n, k) == REFERENCES[name](n, k)


@pytest.mark.parametrize("name", REFERENCES)
@given(n=counts, k=wanted)
def test_count_rules_stay_in_range_in_order_and_distinct_when_there_are_enough(
    name: str, n: int, k: int
) -> None:
    positions = getattr(rules, name)(n, k)
    assert len(positions) == k
    assert positions == sorted(positions)
    assert 0 <= positions[0] <= positions[-1] < n
    if n > k:
        assert len(set(positions)) == k


@given(n=counts, k=wanted)
def test_segment_midpoints_equal_their_source(n: int, k: int) -> None:
    """Video-ChatGPT asks for as many frames as there are, where there are fewer."""
    wanted = min(n, k)
    size = float(n - 1) / wanted
    marks = [int(np.round(size * i)) for i in range(wanted + 1)]
    found = rules.segment_midpoints(n, k)
    assert found == [(marks[i] + marks[i + 1]) // 2 for i in range(wanted)]
    assert found == sorted(found)
    assert n <= k or len(set(found)) == k


@pytest.mark.parametrize(
    ("name", "frames", "k", "expected"),
    [  # last index and first index that peers' own code gives
        ("uniform_endpoints", 31, 16, (0, 30)),
        ("uniform_interior", 31, 16, (1, 29)),
        ("left_edge", 31, 16, (0, 29)),
        ("uniform_endpoints", 300, 8, (0, 299)),
        ("uniform_interior", 300, 8, (33, 266)),
        ("left_edge", 300, 8, (0, 262)),
        ("uniform_interior", 250, 128, (1, 248)),
    ],
)
def test_ends_of_known_cases(name: str, frames: int, k: int, expected: tuple[int, int]) -> None:
    positions = getattr(rules, name)(frames, k)
    assert (positions[0], positions[-1]) == expected


def test_lmms_eval_and_vlmevalkit_share_no_frame_of_300() -> None:
    assert not set(rules.uniform_endpoints(300, 8)) & set(rules.uniform_interior(300, 8))


@given(n=counts, largest=st.integers(1, 64), data=st.data())
def test_nested_counts_are_subsets_of_all_larger_ones(
    n: int, largest: int, data: st.DataObject
) -> None:
    k = data.draw(st.integers(1, largest))
    larger = data.draw(st.integers(k, largest))
    grid = rules.uniform_midpoints(n, largest)
    assert rules.nested(n, largest, largest) == grid
    assert set(rules.nested(n, k, largest)) <= set(rules.nested(n, larger, largest)) <= set(grid)
    if n >= largest:
        assert len(set(rules.nested(n, k, largest))) == k


@pytest.mark.parametrize("k", [1, 2, 4, 8, 16, 32])
def test_nested_powers_of_two_are_evenly_spaced_and_nearly_centred(k: int) -> None:
    positions = rules.nested(3200, k, 32)
    assert {b - a for a, b in pairwise(positions)} <= {3200 // k}
    centres = rules.uniform_midpoints(3200, k)
    off_centre = [(p - q) * k / 3200 for p, q in zip(positions, centres, strict=True)]
    assert max(map(abs, off_centre)) <= 1 / 6 + k / 64  # the grid itself is 1/32 of the clip


@given(n=counts, k=wanted, seed=st.text(max_size=5))
def test_seeded_random_draws_without_replacement(n: int, k: int, seed: str) -> None:
    positions = rules.seeded_random(n, k, seed)
    assert positions == sorted(set(positions))
    assert len(positions) == min(n, k)
    assert 0 <= positions[0] <= positions[-1] < n
    assert positions == rules.seeded_random(n, k, seed)


def test_seeded_random_is_uniform_over_frames() -> None:
    hits = np.zeros(20)
    for seed in range(2000):
        hits[rules.seeded_random(20, 5, str(seed))] += 1
    assert abs(hits / 2000 - 0.25).max() < 0.05


@pytest.mark.parametrize("fps", range(3, 61))
def test_velociti20_equals_the_released_script_at_every_whole_rate(fps: int) -> None:
    """The script counts frames from 1 and keeps those whose number is in its list."""
    numbers = [round((offset + second) * fps) for second in range(10) for offset in (0.25, 0.75)]
    kept = [i - 1 for i in range(1, 10 * fps + 1) if i in numbers]
    assert rules.velociti20_indices(rules.velociti20_moments(0.0, 10.0), fps) == kept
    assert len(kept) == 20


@pytest.mark.parametrize("rate", [23.976, 24.4, 29.97])
def test_velociti20_rounds_the_rate_first(rate: float) -> None:
    expected = rules.velociti20_indices([0.25, 9.75], round(rate))
    assert rules.velociti20_indices([0.25, 9.75], rate) == expected


def test_mid_second_equals_velociti_v2() -> None:
    for fps, frames in ((24, 240), (30, 300), (24, 255), (25, 12)):
        moments = rules.mid_second_moments(0.0, frames / fps)
        theirs = (np.arange(0.5, frames / fps, 1) * fps).astype(int).tolist()
        times = [i / fps for i in range(frames)]
        assert rules.on_screen(times, moments) == (theirs or [frames // 2])


def test_fps_counts_time_and_spreads_evenly_past_the_cap() -> None:
    assert rules.fps_moments(0.0, 10.0, 2.0, None) == [i / 2 for i in range(20)]
    assert rules.fps_moments(0.0, 10.0, 2.0, 20) == [i / 2 for i in range(20)]
    assert rules.fps_moments(4.0, 14.0, 2.0, 5) == [4.0, 6.0, 8.0, 10.0, 12.0]
    assert rules.fps_moments(0.0, 0.01, 2.0, None) == [0.0]
    assert len(rules.fps_moments(0.0, 9.999999999, 1.0, None)) == 10
    assert len(rules.fps_moments(0.0, 10.000000001, 1.0, None)) == 10


@given(
    times=st.lists(st.floats(0, 100), min_size=1, unique=True).map(sorted),
    moments=st.lists(st.floats(0, 120)),
)
def test_on_screen_is_the_last_frame_not_later(times: list[float], moments: list[float]) -> None:
    expected = {max((i for i, t in enumerate(times) if t <= m + 1e-6), default=0) for m in moments}
    assert rules.on_screen(times, moments) == sorted(expected)


@given(n=st.integers(1, 400), rate=st.sampled_from([1, 8, 24, 25, 30]), clips=st.integers(1, 9))
def test_clip_ends_are_the_outermost_frames_of_each_clip(n: int, rate: int, clips: int) -> None:
    """pytorchvideo's clips, [start, start + 2 s), in exact fractions, each frame looked at."""
    last = max(Fraction(n, rate) - 2, Fraction(0))
    found = rules.clip_ends(n, float(rate), clips, 2.0)
    for number, ends in enumerate(found):
        start = last * number / max(clips - 1, 1)
        inside = [i for i in range(n) if start <= Fraction(i, rate) < start + 2]
        assert ends == (inside[0], inside[-1])
