"""Margins agree with the outcomes that metrics give; reliability is counted by hand."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vbench.metrics.accuracy import outcome
from vbench.records import Clip, Kind, Sample, Score
from vbench.results.report import figures
from vbench.results.report.margins import margin, reliability, right_cells
from vbench.results.statistics import exact_interval

SIZES: dict[Kind, tuple[int, int]] = {
    "v2t": (1, 2), "t2v": (2, 1), "match": (2, 2), "mcq": (1, 4), "yes_no": (1, 2),
}  # fmt: skip


@given(kind=st.sampled_from(sorted(SIZES)), data=st.data())
def test_the_sign_of_a_margin_is_the_outcome(kind: Kind, data: st.DataObject) -> None:
    clips, texts = SIZES[kind]
    size = clips * texts
    scores = data.draw(st.lists(st.sampled_from([0.0, 0.25, 0.5]), min_size=size, max_size=size))
    target = None if kind == "match" else data.draw(st.integers(0, max(clips, texts) - 1))
    sample = Sample(
        "test", "1", kind, "source", (Clip("v", "v.mp4"),) * clips, ("text",) * texts, target
    )
    right = right_cells(kind, None if target is None else str(target), clips, texts)
    found = margin(scores, right)
    assert found is not None
    said = outcome(Score(sample, "ok", tuple(scores)))
    assert said == ("right" if found > 0 else "tie" if found == 0 else "wrong")


def test_samples_are_counted_whole() -> None:
    marks = re.findall(
        r'class="end tick">([^<]*)<', figures._histogram([2, 0, 1], [-1, 0, 1, 2], "")
    )
    assert marks == ["0", "1", "2"]


def test_where_nobody_knows_there_is_no_margin() -> None:
    assert right_cells("open", "a cat", 1, 0) is None
    assert right_cells("mcq", None, 1, 3) is None
    assert margin([], [True, False]) is None
    assert margin([0.5, math.nan], [True, False]) is None
    assert margin([0.5, None], [True, False]) is None
    assert margin([0.5], [True]) is None


def record(scores: list[float | None], target: str = "0", cluster: str = "a") -> dict[str, Any]:
    return {
        "kind": "v2t", "target": target, "texts": ["x", "y"], "clip_paths": ["v.mp4"],
        "scores": scores, "cluster": cluster,
    }  # fmt: skip


def test_reliability_bins_pairs_by_what_was_said() -> None:
    rows = [record([0.92, 0.08], "0", "a"), record([0.98, 0.94], "1", "b"), record([1.0, 0.0])]
    found = reliability(rows)
    assert found is not None
    low, high = found.bins
    assert (low.n, low.true, low.said) == (2, 0.0, pytest.approx(0.04))
    assert (high.n, high.true) == (4, 0.75)
    assert high.said == pytest.approx(np.mean([0.92, 0.98, 0.94, 1.0]))
    assert high.ci_low < high.true < high.ci_high
    assert (low.ci_low, low.ci_high) == exact_interval(0, 1)  # both of one source
    assert found.error == pytest.approx((2 * low.said + 4 * (high.said - 0.75)) / 6)
    assert found.n == 6


def test_reliability_leaves_out_what_was_not_scored() -> None:
    assert reliability([record([]), record([0.5, 0.5], None)]) is None  # type: ignore[arg-type]
    found = reliability([record([0.5, math.nan])])
    assert found is not None
    assert found.n == 1
