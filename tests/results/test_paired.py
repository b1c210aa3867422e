"""Paired differences against references: statsmodels, scipy, brute force and simulation."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.regression.linear_model import OLS
from statsmodels.stats.multitest import multipletests

from vbench.errors import DataError
from vbench.metrics.outcomes import Mean, Outcomes
from vbench.records import Clip, Sample
from vbench.results.paired import Difference, detectable, difference, holm, needed, shared
from vbench.results.statistics import sources

Data = tuple[list[float], list[float], list[int]]


def row(credit: Any, clusters: Any = None, name: str = "test", ids: Any = None) -> Outcomes:
    credit = np.asarray(credit, dtype=float)
    names = [str(one) for one in (range(len(credit)) if clusters is None else clusters)]
    ids = range(len(credit)) if ids is None else ids
    samples = tuple(
        Sample(name, str(own), "v2t", source, (Clip("v", "v.mp4"),), ("a", "b"), 0)
        for own, source in zip(ids, names, strict=True)
    )
    return Outcomes(
        name, credit, credit, np.array(names, dtype=np.str_), np.zeros(len(credit), bool), 0.5,
        samples=samples,
    )  # fmt: skip


@st.composite
def pairs(draw: st.DrawFn) -> Data:
    size = draw(st.integers(2, 30))
    earned = st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=size, max_size=size)
    sources_of = st.lists(st.integers(0, 8), min_size=size, max_size=size)
    return draw(earned), draw(earned), draw(sources_of)


@given(pairs())
def test_stderr_is_the_cluster_robust_one_of_statsmodels(data: Data) -> None:
    ours, theirs, clusters = data
    found = difference(row(ours, clusters), row(theirs, clusters))
    if len(set(clusters)) == 1:
        assert found.stderr is None
        return
    apart = np.subtract(ours, theirs)
    fit = OLS(apart, np.ones(len(apart))).fit(cov_type="cluster", cov_kwds={"groups": clusters})
    assert found.difference == pytest.approx(fit.params[0], abs=1e-12)
    assert found.stderr == pytest.approx(fit.bse[0], abs=1e-9)


def test_p_and_interval_are_those_of_statsmodels_where_sources_weigh_alike() -> None:
    rng = np.random.default_rng(3)
    clusters = np.repeat(np.arange(40), 5)
    ours, theirs = (rng.random(200) < 0.7).astype(float), (rng.random(200) < 0.6).astype(float)
    found = difference(row(ours, clusters), row(theirs, clusters))
    groups = {"groups": clusters}
    fit = OLS(ours - theirs, np.ones(200)).fit(cov_type="cluster", cov_kwds=groups, use_t=True)
    assert found.freedom == pytest.approx(39)
    assert found.p == pytest.approx(fit.pvalues[0], rel=1e-9)
    assert (found.ci_low, found.ci_high) == pytest.approx(tuple(fit.conf_int()[0]), rel=1e-9)


@pytest.mark.parametrize("relative", [(), (1.0, 0.5, 3.0)])
def test_a_weighted_mean_is_a_contrast_of_a_clustered_regression(
    relative: tuple[float, ...],
) -> None:
    rng = np.random.default_rng(4)
    sizes, rows = (60, 25, 110), ([], [])
    clusters = [rng.integers(0, 20, size) for size in sizes]
    for number, size in enumerate(sizes):
        for side in rows:
            side.append(row(rng.integers(0, 2, size), clusters[number], f"part {number}"))
    a, b = (Mean("average", tuple(side), relative) for side in rows)
    found = difference(a, b)
    apart = np.concatenate([x.graded - y.graded for x, y in zip(*rows, strict=True)])
    part = np.repeat(np.arange(3), sizes)
    groups = {"groups": np.concatenate(clusters), "use_correction": False}
    fit = OLS(apart, np.eye(3)[part]).fit(cov_type="cluster", cov_kwds=groups)
    contrast = fit.t_test(np.array(a.weights))
    assert found.difference == pytest.approx(float(contrast.effect[0]), abs=1e-12)
    assert found.stderr == pytest.approx(float(contrast.sd[0, 0]) * math.sqrt(20 / 19))


@pytest.mark.parametrize("count", [1, 2, 5, 14])
def test_holm_is_that_of_statsmodels(count: int) -> None:
    p_values = list(np.round(np.random.default_rng(count).random(count) ** 3, 2))  # some are equal
    assert holm(p_values) == pytest.approx(list(multipletests(p_values, method="holm")[1]))


@given(pairs())
def test_swapping_the_runs_turns_everything_around(data: Data) -> None:
    ours, theirs, clusters = data
    a, b = row(ours, clusters), row(theirs, clusters)
    found, turned = difference(a, b), difference(b, a)
    assert turned.difference == -found.difference
    assert (turned.ci_low, turned.ci_high) == pytest.approx((-found.ci_high, -found.ci_low))
    assert (turned.wins, turned.losses, turned.ties) == (found.losses, found.wins, found.ties)
    assert turned.p == pytest.approx(found.p, abs=1e-12)
    assert found.wins + found.losses + found.ties == found.n == len(ours)


@given(pairs())
def test_the_interval_holds_zero_exactly_where_p_is_not_small(data: Data) -> None:
    found = difference(*(row(credit, data[2]) for credit in data[:2]))
    assert -1 <= found.ci_low <= found.difference <= found.ci_high <= 1
    assert 0 <= found.p <= 1
    if abs(found.p - 0.05) > 1e-6:
        assert (found.p < 0.05) == (found.ci_low > 0 or found.ci_high < 0)


@given(pairs())
def test_p_is_never_below_what_swapping_sources_allows(data: Data) -> None:
    found = difference(*(row(credit, data[2]) for credit in data[:2]))
    if found.stderr is not None and found.stderr > 1e-9:
        assert found.p >= 2.0 ** (1 - found.changed) * (1 - 1e-12) or found.changed < 1


def test_five_sources_can_show_nothing_and_six_can() -> None:
    for changed, shown in ((5, False), (6, True)):
        ours = np.arange(300) < changed
        found = difference(row(ours), row(np.zeros(300)))
        assert (found.p < 0.05) == shown == (found.ci_low > 0)


def test_equal_answers_are_not_shown_to_be_equal() -> None:
    found = difference(row([1, 0] * 50), row([1, 0] * 50))
    assert (found.difference, found.p, found.ties) == (0, 1, 100)
    # No more than 1 - 0.025^(1/100) of all sources may differ, with 97.5 % confidence.
    assert found.ci_high == -found.ci_low == pytest.approx(1 - 0.025**0.01)
    assert stats.binomtest(0, 100).proportion_ci(0.95, "exact").high == pytest.approx(found.ci_high)
    assert detectable(found) == pytest.approx(0.0779, abs=1e-3)
    assert 1 - stats.binom.cdf(5, 100, detectable(found)) == pytest.approx(0.8)


def test_all_against_none_is_a_sign_test() -> None:
    found = difference(row([1] * 8), row([0] * 8))
    assert found.p == pytest.approx(stats.binomtest(8, 8).pvalue)
    assert (found.ci_low > 0, found.ci_high) == (True, 1)


def test_a_single_source_shows_nothing() -> None:
    found = difference(row([1] * 9, ["a"] * 9), row([0] * 9, ["a"] * 9))
    assert (found.stderr, found.p, detectable(found), needed(found, 0.1)) == (None, 1, None, None)


def drawn(rng: np.random.Generator, count: int, gain: float) -> Difference:
    """Two runs of one answer a source; the first is right on `gain` x 0.7 more of them."""
    first, second, both = rng.random((3, count))
    clusters, none = np.arange(count).astype(np.str_), np.zeros(count, bool)
    ours, theirs = (
        (both < 0.3) | (seen < right) for seen, right in ((first, 0.2 + gain), (second, 0.2))
    )
    a, b = (Outcomes("t", 1.0 * x, 1.0 * x, clusters, none, 0.5) for x in (ours, theirs))
    return difference(a, b)


def test_what_is_said_to_be_needed_shows_the_difference_in_80_of_100() -> None:
    rng = np.random.default_rng(5)
    count = needed(drawn(rng, 20_000, 0.2), 0.14)
    assert count is not None
    runs = [drawn(rng, count, 0.2) for _ in range(400)]
    assert 0.75 < np.mean([found.p < 0.05 for found in runs]) < 0.85
    assert np.mean([detectable(found) for found in runs]) == pytest.approx(0.14, abs=0.01)


@given(st.integers(30, 300), st.floats(0.01, 0.3))
def test_needed_sources_are_the_fewest_that_suffice(count: int, wanted: float) -> None:
    found = drawn(np.random.default_rng(count), count, 0.1)
    sources_needed = needed(found, wanted)
    assert sources_needed is not None

    def reach(clusters: int) -> float:
        t = stats.t(max(clusters - 1, 1))
        spread = (found.stderr or 0) * math.sqrt(count)
        return float(t.ppf(0.975) + t.ppf(0.8)) * spread / math.sqrt(clusters)

    assert reach(sources_needed) <= wanted * (1 + 1e-9)
    assert sources_needed <= 2 or reach(sources_needed - 1) > wanted


def test_more_comparisons_need_more() -> None:
    found = drawn(np.random.default_rng(6), 200, 0.05)
    assert (detectable(found, 0.05 / 14) or 0) > 1.3 * (detectable(found) or 9)
    assert (needed(found, 0.02, 0.05 / 14) or 0) > 1.5 * (needed(found, 0.02) or 9e9)


def test_only_shared_samples_count_whatever_their_order() -> None:
    a = row([1, 0, 1, 1], "abca", ids=[1, 2, 3, 4])
    b = row([0, 1, 1], "acb", ids=[4, 3, 2])
    found = shared(a, b)
    assert found is not None
    ours, theirs = (one.parts[0] for one in found)
    assert [s.sample_id for s in ours.samples] == [s.sample_id for s in theirs.samples]
    assert (list(ours.credit), list(theirs.credit)) == ([0, 1, 1], [1, 1, 0])
    assert list(ours.clusters) == list(theirs.clusters) == list("bca")
    assert shared(a, row([1], "a", ids=[9])) is None


def test_means_share_samples_part_by_part() -> None:
    parts = [row([1, 0, 1], ids=[1, 2, 3], name=name) for name in "xy"]
    other = [row([1, 1], ids=[3, 1], name=name) for name in "xy"]
    found = shared(Mean("average", tuple(parts)), Mean("average", tuple(other)))
    assert found is not None
    assert difference(*found).n == 4
    assert shared(Mean("m", tuple(parts)), Mean("m", tuple(other[:1]))) is None
    weighted = Mean("m", tuple(other), (1.0, 2.0))
    assert shared(Mean("m", tuple(parts)), weighted) is None


def test_rows_of_other_lengths_cannot_be_paired() -> None:
    with pytest.raises(DataError, match="share no samples"):
        difference(row([1, 0]), row([1]))


def test_tie_rules_may_differ() -> None:
    half = replace(row([0, 0, 1]), half_credit=np.array([0.5, 0.0, 1.0]), tie="half")
    assert difference(half, row([0, 0, 1])).difference == pytest.approx(0.5 / 3)


def test_sources_add_up() -> None:
    found = sources(row([1, 0, 1, 1], "aabc"))
    assert found.share.sum() == pytest.approx(1)
    assert list(found.earned) == [0.25, 0.25, 0.25]
    assert found.residual.sum() == pytest.approx(0, abs=1e-12)
