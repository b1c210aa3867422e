"""Exact p-values against scipy's permutation test and by hand."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from scipy import stats

from vbench.errors import DataError
from vbench.results import permutation
from vbench.results.permutation import mean_difference, rank_correlation


def test_a_difference_of_means_against_scipy() -> None:
    draw = np.random.default_rng(5)
    for size in (2, 3, 4):
        a, b = draw.normal(size=size), draw.normal(0.8, 1, size=8 - size)
        found = mean_difference(list(a), list(b))
        # scipy doubles the smaller tail; the share of both tails is asked of the absolute value.
        theirs = stats.permutation_test(
            (a, b),
            lambda x, y: abs(np.mean(x) - np.mean(y)),
            alternative="greater",
            n_resamples=np.inf,
        )
        assert found.p == pytest.approx(theirs.pvalue)
        assert found.statistic == pytest.approx(a.mean() - b.mean())
        assert found.exact
        assert found.n == 8


def test_a_rank_correlation_against_scipy_and_all_orders() -> None:
    x = [18_000.0, 100_000.0, 2_800_000.0, 47_800.0, 649_000.0, 649_000.0]
    y = [35.41, 38.52, 37.47, 33.96, 35.31, 35.0]
    found = rank_correlation(x, y)
    rho = stats.spearmanr(x, y).statistic
    assert found.statistic == pytest.approx(rho)
    others = [stats.spearmanr(x, order).statistic for order in permutations(y)]
    assert found.arrangements == len(others) == 720
    assert found.p == pytest.approx(np.mean(np.abs(others) >= abs(rho) - 1e-9))


def test_no_p_is_smaller_than_one_over_the_arrangements() -> None:
    assert mean_difference([10.0], [1.0, 2.0, 3.0]).p == 0.25
    assert rank_correlation([1, 2, 3, 4, 5], [1, 2, 3, 4, 5]).p == pytest.approx(2 / 120)


def test_too_many_arrangements_are_drawn_and_said_to_be(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = list(range(8)), [1, 0, 3, 2, 5, 4, 7, 6]
    exact = rank_correlation(x, y)
    monkeypatch.setattr(permutation, "MOST", 100)
    monkeypatch.setattr(permutation, "_DRAWS", 4000)
    drawn = rank_correlation(x, y)
    assert not drawn.exact
    assert "≈" in drawn.text
    assert drawn.p == pytest.approx(exact.p, abs=0.005)
    assert mean_difference([1, 2, 3, 4], [3, 4, 5, 6, 7]).exact is False


def test_nothing_to_compare_is_said() -> None:
    with pytest.raises(DataError, match="a group is empty"):
        mean_difference([], [1.0])
    with pytest.raises(DataError, match="no rankings"):
        rank_correlation([1, 1, 1], [1, 2, 3])
