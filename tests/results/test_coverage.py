"""Samples by status and frames by clip: counted right, said right, and of real runs."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import vbench
from vbench.frames.samplers import CountSampler
from vbench.frames.timeline import Span
from vbench.records import Prediction
from vbench.results.coverage import answered, frames, short, statuses

COUNTS = st.lists(st.tuples(st.integers(1, 9), st.integers(1, 9)), min_size=1, max_size=9)


def shown(*clips: tuple[int, int]) -> list[Prediction]:
    """A row per clip of (frames delivered, frames wanted)."""
    return [
        Prediction(str(k), "clip", "ok", frame_indices=tuple(range(given)), frames_wanted=wanted)
        for k, (given, wanted) in enumerate(clips)
    ]


@given(COUNTS)
def test_frames_are_counted_by_clip(clips: list[tuple[int, int]]) -> None:
    found = frames(shown(*clips), "in_order")
    given, wanted = np.array(clips).T
    lacking = given[given < wanted]
    assert (found["clips"], found["short"]) == (len(clips), len(lacking))
    assert (found["delivered_min"], found["delivered_median"]) == (given.min(), np.median(given))
    assert (found["wanted_min"], found["wanted_max"]) == (wanted.min(), wanted.max())
    if len(lacking):
        assert (found["short_min"], found["short_max"]) == (lacking.min(), lacking.max())
    else:
        assert "short_min" not in found
    json.dumps(found)


@pytest.mark.parametrize(
    ("order", "fill", "length", "is_short"),
    [
        ("in_order", "keep", 5, True),
        ("in_order", "keep", 20, False),
        ("shuffle", "repeat_last", 5, True),  # what fills up is no frame more
        ("repeat_one", "keep", 5, True),
        ("repeat_one", "keep", 20, False),
        ("single", "keep", 5, False),  # one is what was asked for
    ],
)
def test_a_short_clip_is_one_whatever_is_done_about_it(
    order: str, fill: str, length: int, is_short: bool
) -> None:
    span = Span(tuple(k / 10 for k in range(length)), 10.0, 0.0, length / 10)
    sampler = CountSampler("uniform_midpoints", order=order, short=fill, num_frames=8)  # type: ignore[arg-type]
    row = Prediction("k", "clip", "ok", frame_indices=tuple(sampler(span)),
                     frames_wanted=sampler.frames_wanted(span))  # fmt: skip
    assert frames([row], order)["short"] == is_short


@pytest.mark.parametrize(
    ("clips", "said"),
    [
        ([(8, 8), (9, 9)], ""),
        ([(5, 8), (8, 8), (3, 8)], "2 of 3 clips have fewer frames than the 8 asked for: 3 to 5"),
        ([(5, 8), (8, 8)], "1 of 2 clips has fewer frames than the 8 asked for: 5"),
        ([(2, 2), (3, 4)], "1 of 2 clips has fewer frames than asked for: 3"),
    ],
)
def test_short_clips_are_told(clips: list[tuple[int, int]], said: str) -> None:
    assert short({"frames": frames(shown(*clips), "in_order")}) == said


def test_a_run_of_an_earlier_version_or_without_frames_says_nothing() -> None:
    assert short({}) == ""
    assert frames([], "in_order") == {}


@given(st.lists(st.sampled_from(["ok", "unparsed", "oom"])))
def test_statuses_are_counted_by_sample(found: list[str]) -> None:
    counted = statuses(found)  # type: ignore[arg-type]
    assert counted == {status: found.count(status) for status in set(found)}
    assert list(counted.values()) == sorted(counted.values(), reverse=True)
    told = answered({"n": len(found), "answered": found.count("ok"), "statuses": counted})
    assert ("not" in told) == (found.count("ok") < len(found))


@pytest.fixture(scope="module")
def lengths(
    evaluate_rows: Callable[..., Path],
    write_grey: Callable[..., None],
    tmp_path_factory: pytest.TempPathFactory,
) -> Callable[..., Path]:
    """Evaluates two clips of a file of 30 frames: all of it, and its first second."""
    folder = tmp_path_factory.mktemp("grey")
    write_grey(folder / "a.mp4")
    rows = [
        {"id": "whole", "positive": "red", "negative": "blue", "start_s": 0, "end_s": 3},
        {"id": "second", "positive": "red", "negative": "blue", "start_s": 0, "end_s": 1},
    ]
    own = [{"video": str(folder / "a.mp4"), **row} for row in rows]

    def evaluate(*words: str) -> Path:
        spans = ("dataset.start=start_s", "dataset.end=end_s")
        return evaluate_rows(own, f"dataset.root={folder}", "model=toy/clip",
                             "sampler=uniform_midpoints", *spans, *words)  # fmt: skip

    return evaluate


def test_a_run_counts_its_short_clips(lengths: Callable[..., Path]) -> None:
    run = lengths("sampler.num_frames=20")
    assert vbench.load_run(run).summary["coverage"]["frames"] == {
        "clips": 2, "short": 1, "wanted_min": 20, "wanted_max": 20,
        "delivered_min": 10, "delivered_median": 15.0, "short_min": 10, "short_max": 10,
    }  # fmt: skip
    note = "1 of 2 clips has fewer frames than the 20 asked for: 10"
    assert f": {note}\n" in (run / "tables" / "tests.md").read_text()


def test_one_frame_is_enough_where_one_is_asked_for(lengths: Callable[..., Path]) -> None:
    run = lengths("sampler.num_frames=20", "sampler.order=single")
    frames = vbench.load_run(run).summary["coverage"]["frames"]
    assert (frames["short"], frames["wanted_max"], frames["delivered_min"]) == (0, 1, 1)
