"""Samplers as conf/sampler builds them."""

from __future__ import annotations

import importlib
import itertools
import pickle
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from vbench.errors import ConfigError, DecodeError
from vbench.frames import rules
from vbench.frames.samplers import (
    ClipSampler,
    CountSampler,
    FixedSampler,
    NestedSampler,
    RateSampler,
    Sampler,
)
from vbench.frames.timeline import Span

CONF = Path(__file__).parents[2] / "conf" / "sampler"


def span(count: int = 240, fps: float = 24.0, start: int = 0, stop: int | None = None) -> Span:
    """Frames start to stop of a file of `count` frames at a constant rate."""
    stop = count if stop is None else stop
    times = tuple(i / fps for i in range(start, stop))
    return Span(times, fps, start / fps, stop / fps, start)


def built(name: str, **settings: Any) -> Sampler:
    """What conf/sampler/<name>.yaml describes."""
    node = yaml.safe_load((CONF / f"{name}.yaml").read_text()) | settings
    target = node.pop("_target_")
    module, _, kind = target.rpartition(".")
    assert module in ("vbench.frames.samplers", "vbench.frames.stride")
    sampler: Sampler = getattr(importlib.import_module(module), kind)(**node)
    return sampler


NAMES = sorted(path.stem for path in CONF.glob("*.yaml") if path.stem != "native")
"""`native` is a checkpoint's rule: test_native.py."""


def test_every_rule_has_a_config_and_every_config_its_own_name() -> None:
    known = {
        name
        for kind in (ClipSampler, CountSampler, NestedSampler, RateSampler, FixedSampler)
        for name in kind.names
    }
    assert set(NAMES) >= known
    for name in known:
        assert built(name).name == name
        keys = yaml.safe_load((CONF / f"{name}.yaml").read_text())
        assert {"order", "short", "seed"} <= set(keys)


@pytest.mark.parametrize(
    ("name", "settings", "expected"),
    [
        ("left_edge", {"num_frames": 4}, [0, 60, 120, 180]),
        ("uniform_endpoints", {"num_frames": 4}, [0, 79, 159, 239]),
        ("uniform_midpoints", {"num_frames": 4}, [30, 90, 150, 210]),
        ("uniform_interior", {"num_frames": 4}, [48, 96, 144, 192]),
        ("segment_offset", {"num_frames": 4}, [29, 89, 149, 208]),
        ("whole_steps", {"num_frames": 7}, [0, 34, 68, 102, 136, 170, 204]),
        ("nested", {"num_frames": 4}, [18, 78, 138, 198]),
        ("fps", {"fps": 0.5}, [0, 48, 96, 144, 192]),
        ("fps", {"fps": 2.0, "max_frames": 4}, [0, 60, 120, 180]),
        ("fps", {}, list(range(0, 240, 24))),
        ("stride", {}, list(range(0, 240, 24))),
        ("stride", {"max_frames": 4}, [0, 72, 144, 216]),
        ("mid_second", {}, list(range(12, 240, 24))),
        ("velociti20", {}, [24 * s + o for s in range(10) for o in (5, 17)]),
        ("clip_ends", {"num_clips": 2}, [0, 47, 192, 239]),
        ("first", {}, [0]),
        ("middle", {}, [120]),
    ],
)
def test_ten_seconds_at_24_fps(name: str, settings: dict[str, Any], expected: list[int]) -> None:
    sampler = built(name, **settings)
    assert sampler(span()) == expected
    assert sampler.frames_wanted(span()) == len(expected)


@pytest.mark.parametrize("fps", [3, 6, 10, 12, 15, 24, 25, 30, 60])
def test_velociti20_of_ivats_halves_is_a_slice_of_the_whole(fps: int) -> None:
    """v1 takes frames[0:8] and frames[12:20] of the 20 for the first and the last 4 s."""
    sampler = built("velociti20")
    whole = sampler(span(10 * fps, fps))
    first = span(10 * fps, fps, 0, 4 * fps)
    last = span(10 * fps, fps, 6 * fps, 10 * fps)
    assert len(whole) == 20
    assert [first.first_index + p for p in sampler(first)] == whole[:8]
    assert [last.first_index + p for p in sampler(last)] == whole[12:]
    assert sampler.frames_wanted(first) == sampler.frames_wanted(last) == 8


def test_velociti20_takes_a_folder_of_two_frames_a_second_whole() -> None:
    times = tuple(0.25 + i / 2 for i in range(20))
    sampler = built("velociti20")
    assert sampler(Span(times, 2.0, 0.0, 10.0)) == list(range(20))
    assert sampler(Span(times[12:], 2.0, 6.0, 10.0, 12)) == list(range(8))
    assert sampler.frames_wanted(Span(times, 2.0, 0.0, 10.0)) == 20


def test_velociti20_on_a_video_that_ends_early_shows_what_is_missing() -> None:
    half = Span(tuple(i / 24 for i in range(120)), 24.0, 0.0, 10.0)
    sampler = built("velociti20")
    assert len(sampler(half)) == 10
    assert sampler.frames_wanted(half) == 20


def test_rates_count_time_on_a_variable_rate() -> None:
    times = (0.0, 0.1, 0.2, 0.3, 5.0, 9.0, 9.5)
    variable = Span(times, 0.7, 0.0, 10.0)
    assert built("fps")(variable) == [0, 3, 4, 5]  # 1 to 4 s all show the frame of 0.3 s
    assert built("fps").frames_wanted(variable) == 10
    assert built("mid_second")(variable) == [3, 4, 6]


def spans() -> st.SearchStrategy[Span]:
    @st.composite
    def draw(take: Any) -> Span:
        steps = take(st.lists(st.floats(0.001, 2.0), min_size=1, max_size=400))
        times = tuple(itertools.accumulate(steps, initial=take(st.floats(0, 20))))[:-1]
        first = take(st.integers(0, 500))
        rate = take(st.floats(0.5, 60))
        return Span(times, rate, times[0], times[-1] + steps[-1], first)

    return draw()


def any_sampler() -> st.SearchStrategy[Sampler]:
    count = st.integers(1, 64)
    common = {
        "short": st.just("keep"),
        "order": st.just("in_order"),
        "seed": st.integers(0, 3),
    }
    return st.one_of(
        st.builds(
            CountSampler, st.sampled_from(sorted(CountSampler.names)), num_frames=count, **common
        ),
        st.builds(NestedSampler, num_frames=count, max_frames=st.just(64), **common),
        st.builds(RateSampler, fps=st.floats(0.1, 30), max_frames=st.none() | count, **common),
        st.builds(ClipSampler, num_clips=count, clip_s=st.floats(0.1, 9), **common),
        st.builds(FixedSampler, st.sampled_from(sorted(FixedSampler.names)), **common),
    )


@given(sampler=any_sampler(), span=spans())
def test_chosen_frames_exist_are_distinct_in_order_and_no_more_than_wanted(
    sampler: Sampler, span: Span
) -> None:
    positions = sampler(span)
    assert positions == sorted(set(positions))
    assert positions, "never an empty list"
    assert 0 <= positions[0] <= positions[-1] < len(span.timestamps_s)
    assert len(positions) <= sampler.frames_wanted(span)
    assert positions == replace(sampler)(span)


@given(sampler=any_sampler(), span=spans())
def test_orders_rearrange_the_same_frames(sampler: Sampler, span: Span) -> None:
    chosen = sampler(span)
    assert replace(sampler, order="reverse")(span) == chosen[::-1]
    shuffled = replace(sampler, order="shuffle")(span)
    assert sorted(shuffled) == chosen
    assert shuffled == replace(sampler, order="shuffle")(span)
    one = replace(sampler, order="repeat_one")(span)
    assert len(one) == len(chosen)
    assert set(one) == {chosen[len(chosen) // 2]}
    assert replace(sampler, order="single")(span) == one[:1]


@given(sampler=any_sampler(), span=spans())
def test_short_clips_repeat_or_fail_only_when_told_to(sampler: Sampler, span: Span) -> None:
    chosen, wanted = sampler(span), sampler.frames_wanted(span)
    filled = replace(sampler, short="repeat_last")(span)
    assert filled == chosen + chosen[-1:] * (wanted - len(chosen))
    strict = replace(sampler, short="error")
    if len(chosen) < wanted:
        with pytest.raises(DecodeError, match=f"wants {wanted} frames and found {len(chosen)}"):
            strict(span)
    else:
        assert strict(span) == chosen


@pytest.mark.parametrize("name", NAMES)
def test_one_frame_is_enough_for_every_sampler(name: str) -> None:
    assert built(name)(span(1)) == [0]


def test_shuffle_and_draws_follow_seed_and_identity() -> None:
    whole = span()
    for base in (
        CountSampler("uniform_midpoints", num_frames=16, order="shuffle"),
        CountSampler("seeded_random", num_frames=16),
    ):
        draws = {
            tuple(base(whole)),
            tuple(replace(base, seed=1)(whole)),
            tuple(base(replace(whole, identity="another file"))),
            tuple(base(replace(whole, start_s=0.001))),
        }
        assert len(draws) == 4
    shuffled = CountSampler("uniform_midpoints", num_frames=16, order="shuffle")(whole)
    assert shuffled != sorted(shuffled)


def test_a_span_without_frames_is_an_error_not_an_empty_list() -> None:
    for name in NAMES:
        with pytest.raises(DecodeError, match="without frames"):
            built(name)(Span((), 24.0, 3.0, 4.0))


def test_digest_follows_whatever_changes_the_frames() -> None:
    different = [
        CountSampler("left_edge"),
        CountSampler("uniform_midpoints"),
        CountSampler("uniform_midpoints", num_frames=9),
        CountSampler("uniform_midpoints", order="reverse"),
        CountSampler("uniform_midpoints", short="repeat_last"),
        CountSampler("seeded_random"),
        CountSampler("seeded_random", seed=1),
        NestedSampler(),
        NestedSampler(max_frames=64),
        ClipSampler(),
        ClipSampler(num_clips=4),
        ClipSampler(clip_s=1.0),
        RateSampler(),
        RateSampler(fps=2.0),
        RateSampler(max_frames=8),
        *(FixedSampler(name) for name in FixedSampler.names),
    ]
    assert len({sampler.digest() for sampler in different}) == len(different)
    again = pickle.loads(pickle.dumps(different[3]))  # noqa: S301 - our own bytes
    assert again == different[3] and again.digest() == different[3].digest()


@pytest.mark.parametrize(
    ("build", "hint"),
    [
        (lambda: CountSampler("uniform_midpoint"), "did you mean 'uniform_midpoints'"),
        (lambda: CountSampler("fps"), "one of: left_edge"),
        (lambda: FixedSampler("velociti"), "did you mean 'velociti20'?"),
        (lambda: CountSampler("left_edge", order="revers"), "did you mean 'reverse'?"),
        (lambda: CountSampler("left_edge", short="repeat"), "did you mean 'repeat_last'?"),
        (lambda: CountSampler("left_edge", num_frames=0), "whole number from 1"),
        (lambda: CountSampler("left_edge", num_frames=2.5), "whole number from 1"),
        (lambda: CountSampler("left_edge", num_frames=True), "whole number from 1"),
        (lambda: NestedSampler(num_frames=33), "sampler.max_frames=33"),
        (lambda: NestedSampler(max_frames=0), "whole number from 1"),
        (lambda: RateSampler(fps=0.0), "above 0"),
        (lambda: ClipSampler(clip_s=0.0), "seconds above 0"),
        (lambda: ClipSampler(num_clips=0), "whole number from 1"),
        (lambda: RateSampler(fps=float("nan")), "above 0"),
        (lambda: RateSampler(max_frames=0), "whole number from 1"),
    ],
)
def test_settings_that_do_not_exist_are_config_errors(build: Any, hint: str) -> None:
    with pytest.raises(ConfigError) as caught:
        build()
    assert caught.value.where.startswith("sampler.")
    assert hint in caught.value.mend


def test_every_rule_of_the_docs_table_gives_what_the_docs_say() -> None:
    rows = [
        line.split("|")
        for line in (CONF.parents[1] / "docs" / "samplers.md").read_text().splitlines()
        if line.startswith("| `") and line.count("|") == 5
    ]
    documented = {row[1].strip(" `"): row[4].strip() for row in rows}
    assert set(documented) == set(NAMES)
    for name, example in documented.items():
        indices = built(name, **({"fps": 0.8} if name == "fps" else {}))(span())
        assert ", ".join(map(str, indices)) == example


def test_importing_samplers_imports_neither_torch_nor_a_decoder() -> None:
    code = (
        "import sys, vbench.frames.samplers as s;"
        "sys.exit(bool({'torch', 'av', 'numpy', 'PIL'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=300).returncode == 0
    assert rules.first(3) == [0]
