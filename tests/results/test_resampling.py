"""Second opinions against statsmodels and scipy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.contingency_tables import mcnemar as reference

from vbench.metrics.outcomes import Mean, Outcomes
from vbench.results.paired import difference
from vbench.results.resampling import cluster_bootstrap, mcnemar, opinions, sign_flip
from vbench.results.statistics import sources


def row(credit: object, clusters: object, name: str = "test") -> Outcomes:
    values = np.asarray(credit, dtype=float)
    names = np.array([str(one) for one in np.asarray(clusters)], dtype=np.str_)
    return Outcomes(name, values, values, names, np.zeros(len(values), bool), 0.5)


def two_runs(seed: int, count: int, each: int, gain: float) -> tuple[Outcomes, Outcomes]:
    rng = np.random.default_rng(seed)
    clusters = np.repeat(np.arange(count), each)
    hard = rng.random(count)[clusters]
    ours, theirs = (rng.random(len(clusters)) < hard + more for more in (gain, 0.0))
    return row(ours, clusters), row(theirs, clusters)


@pytest.mark.parametrize(("seed", "gain"), [(0, 0.0), (1, 0.1), (2, 0.3)])
def test_mcnemar_is_the_exact_one_of_statsmodels(seed: int, gain: float) -> None:
    a, b = two_runs(seed, 60, 1, gain)
    table = np.zeros((2, 2))
    for x, y in zip(a.graded, b.graded, strict=True):
        table[int(x), int(y)] += 1
    assert mcnemar(a, b) == pytest.approx(reference(table, exact=True).pvalue)


def test_mcnemar_is_for_right_and_wrong_only() -> None:
    a, b = row([1, 0.5], ["a", "b"]), row([0, 1], ["a", "b"])
    assert mcnemar(a, b) is None
    assert mcnemar(Mean("m", (b, b)), Mean("m", (b, b))) is None
    assert mcnemar(b, b) == 1


def test_few_signs_are_all_looked_at() -> None:
    moved = np.array([0.3, -0.1, 0.25, 0.5, 0.2, -0.05, 0.0, 0.4])
    want = stats.permutation_test(
        (moved,), lambda x, axis: x.sum(axis=axis), permutation_type="samples", vectorized=True
    )
    assert sign_flip(moved) == pytest.approx(want.pvalue)
    assert sign_flip(np.zeros(5)) == sign_flip(np.empty(0)) == 1


def test_many_signs_are_drawn() -> None:
    a, b = two_runs(3, 120, 4, 0.06)
    moved = sources(a).earned - sources(b).earned
    p = sign_flip(moved)
    assert p == sign_flip(moved) != sign_flip(moved, seed=1)
    assert p == pytest.approx(difference(a, b).p, abs=0.02)
    assert 0.001 < p < 0.9


def test_the_bootstrap_draws_whole_sources() -> None:
    a, b = two_runs(4, 150, 6, 0.05)
    p, low, high = cluster_bootstrap(a, b)
    found = difference(a, b)
    assert (low, high) == pytest.approx((found.ci_low, found.ci_high), abs=0.004)
    sums = np.bincount(np.repeat(np.arange(150), 6), a.graded - b.graded) / 6
    want = stats.bootstrap((sums,), np.mean, method="percentile", n_resamples=4000, rng=0)
    assert (low, high) == pytest.approx(tuple(want.confidence_interval), abs=0.004)
    assert p == pytest.approx(found.p, abs=0.02)


def test_the_bootstrap_draws_the_parts_of_a_source_together() -> None:
    a, b = two_runs(5, 80, 4, 0.1)
    twice = [Mean("average", (one, one)) for one in (a, b)]
    assert cluster_bootstrap(*twice)[1:] == pytest.approx(cluster_bootstrap(a, b)[1:])


def test_equal_runs_have_no_opinion() -> None:
    a, _ = two_runs(6, 30, 2, 0.0)
    found = opinions(a, a)
    assert (found.mcnemar_p, found.bootstrap_p, found.sign_flip_p) == (1, 1, 1)
    assert (found.bootstrap_low, found.bootstrap_high) == (0, 0)
