"""Permutation tests on a handful of values: every arrangement is looked at, where that is possible.

With eight models nothing but the arrangements themselves is a distribution: a t-test's tables are
about samples that nobody has drawn. The p-value is the share of arrangements whose statistic lies
at least as far from zero as the observed one; it can be no smaller than one over their number.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, permutations

import numpy as np
from scipy.stats import rankdata

from vbench.errors import DataError

MOST = 400_000
"""Arrangements that are enumerated (10 values would have 3.6 million orders); beyond, draws."""

_DRAWS = 99_999
_SAME = 1e-9
"""Statistics that differ by less differ by rounding only."""


@dataclass(frozen=True)
class Permuted:
    """A statistic with its two-sided p-value."""

    statistic: float
    p: float
    n: int
    """Values that were arranged."""
    arrangements: int
    """How many were looked at."""
    exact: bool
    """Whether these are all there are; else they were drawn at random with seed 0."""

    @property
    def text(self) -> str:
        """As a table shows it.

        >>> Permuted(-0.5, 0.25, 5, 120, True).text
        '-0.50 (p = 0.250, n = 5)'
        """
        sign = "=" if self.exact else "≈"
        return f"{self.statistic:+.2f} (p {sign} {self.p:.3f}, n = {self.n})"


def mean_difference(a: Sequence[float], b: Sequence[float]) -> Permuted:
    """Tests whether the mean of a group differs from that of another.

    Args:
        a: (n_a,) values of the first group.
        b: (n_b,) values of the second.

    Returns:
        Mean of a minus mean of b, over all ways to deal the values to groups of these sizes.

    Raises:
        DataError: A group is empty.

    >>> mean_difference([4.0, 5.0], [1.0, 2.0, 3.0]).p
    0.2
    """
    if not a or not b:
        raise DataError("nothing to compare", where="a permutation test", why="a group is empty")
    values = np.array([*a, *b], dtype=np.float64)
    size, total = len(a), float(values.sum())

    def difference(first: float) -> float:
        return first / size - (total - first) / len(b)

    ways = math.comb(len(values), size)
    exact = ways <= MOST
    chosen: Iterator[Sequence[int]]
    if exact:
        chosen = combinations(range(len(values)), size)
    else:
        draw = np.random.default_rng(0)
        chosen = (draw.permutation(len(values))[:size].tolist() for _ in range(_DRAWS))
    found = (difference(float(values[list(own)].sum())) for own in chosen)
    return _compared(difference(float(values[:size].sum())), found, len(values), exact)


def rank_correlation(x: Sequence[float], y: Sequence[float]) -> Permuted:
    """Tests whether two rankings go together (Spearman's rho, equal values share a rank).

    Args:
        x: (n,) values.
        y: (n,) values of the same things.

    Returns:
        Rho, over all orders of y.

    Raises:
        DataError: There are fewer than three, or one is the same everywhere.

    >>> found = rank_correlation([1, 2, 3, 4], [10, 20, 40, 30])
    >>> round(found.statistic, 3), found.arrangements, round(found.p, 4)
    (0.8, 24, 0.3333)
    """
    if len(x) != len(y) or len(x) < 3 or len(set(x)) < 2 or len(set(y)) < 2:
        raise DataError("no rankings to compare", where="a permutation test", why=f"n = {len(x)}")
    a, b = (_standard(rankdata(of)) for of in (x, y))
    exact = math.factorial(len(x)) <= MOST
    orders: Iterator[Sequence[int]]
    if exact:
        orders = permutations(range(len(x)))
    else:
        draw = np.random.default_rng(0)
        orders = (draw.permutation(len(x)).tolist() for _ in range(_DRAWS))
    found = (float(a @ b[list(order)]) for order in orders)
    return _compared(float(a @ b), found, len(x), exact)


def _standard(ranks: np.ndarray) -> np.ndarray:
    centred = ranks - ranks.mean()
    scaled: np.ndarray = centred / np.sqrt(centred @ centred)
    return scaled


def _compared(observed: float, others: Iterator[float], n: int, exact: bool) -> Permuted:
    far = seen = 0
    for other in others:
        seen += 1
        far += abs(other) >= abs(observed) - _SAME
    # A random draw may miss the observed arrangement, which is one of those that are as far.
    p = far / seen if exact else (far + 1) / (seen + 1)
    return Permuted(observed, p, n, seen, exact)
