"""Second opinions on a paired difference, from counts and draws instead of a formula."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from vbench.metrics.outcomes import Floats, Row
from vbench.results.statistics import LEVEL, sources, weighted_mean

if TYPE_CHECKING:
    from collections.abc import Iterator

DRAWS = 9_999

_CELLS = 4_000_000
"""Numbers in memory at once."""

_SAME = 1e-9
"""Sums that differ by less differ by rounding only."""


@dataclass(frozen=True)
class Opinions:
    """What other tests make of the same two rows."""

    mcnemar_p: float | None
    """Exact and two-sided. It takes samples for independent, so it is a test of its own right only
    where each source has one. None for credits other than 0 and 1, and for means of rows."""
    bootstrap_p: float
    bootstrap_low: float
    bootstrap_high: float
    """Ends of the 95 % percentile interval; sources are drawn with replacement."""
    sign_flip_p: float
    """Share of all ways to swap the runs source by source that are at least as far from zero."""


def opinions(a: Row, b: Row, seed: int = 0) -> Opinions:
    """Compares two rows in three further ways.

    Args:
        a: A row.
        b: The same row of another run on the same samples, in the same order.
        seed: Of the draws; both runs are drawn together.
    """
    p, low, high = cluster_bootstrap(a, b, seed)
    moved = sources(a).earned - sources(b).earned
    return Opinions(mcnemar(a, b), p, low, high, sign_flip(moved, seed))


def mcnemar(a: Row, b: Row) -> float | None:
    """Returns the exact p-value of McNemar's test, on samples; see `Opinions`."""
    from scipy.stats import binomtest

    if len(a.parts) != 1:
        return None
    ours, theirs = a.parts[0].graded, b.parts[0].graded
    if not np.isin(np.concatenate([ours, theirs]), (0.0, 1.0)).all():
        return None
    wins, losses = int((ours > theirs).sum()), int((ours < theirs).sum())
    return float(binomtest(wins, wins + losses).pvalue) if wins + losses else 1.0


def sign_flip(moved: Floats, seed: int = 0) -> float:
    """Returns the two-sided p-value of a sum under random signs.

    Args:
        moved: (clusters,) by how much two runs differ in each source.
        seed: Of the draws.

    Returns:
        Over all signs where these are no more than the draws, else over 9,999 draws and the
        observed one.

    >>> sign_flip(np.ones(5)), sign_flip(np.array([1.0, -1.0, 0.0]))
    (0.0625, 1.0)
    """
    values = moved[np.abs(moved) > _SAME * max(1e-300, float(np.abs(moved).max(initial=0.0)))]
    observed = abs(float(values.sum()))
    least = observed - _SAME * float(np.abs(values).sum())
    if 2 ** min(len(values), 64) <= DRAWS + 1:
        number = np.arange(2 ** len(values))
        signs = 1 - 2 * ((number[:, None] >> np.arange(len(values))) & 1)
        return float((np.abs(signs @ values) >= least).mean())
    draw = np.random.default_rng(seed)
    far = 0
    for size in _chunks(len(values)):
        signs = 1 - 2 * draw.integers(0, 2, (size, len(values)), dtype=np.int8)
        far += int((np.abs(signs @ values) >= least).sum())
    return (far + 1) / (DRAWS + 1)


def cluster_bootstrap(a: Row, b: Row, seed: int = 0) -> tuple[float, float, float]:
    """Draws sources with replacement, and with each all its samples in all parts.

    Args:
        a: A row.
        b: The same row of another run, sample by sample.
        seed: Of the draws.

    Returns:
        The two-sided p-value (twice the share of draws on the other side of zero) and the ends of
        the percentile interval of the difference.
    """
    names = np.concatenate([part.clusters for part in a.parts])
    distinct, index = np.unique(names, return_inverse=True)
    ends = np.cumsum([len(part.credit) for part in a.parts])[:-1]
    own = np.split(index, ends)
    count = np.column_stack([np.bincount(i, minlength=len(distinct)) for i in own])
    apart = [x.graded - y.graded for x, y in zip(a.parts, b.parts, strict=True)]
    pairs = zip(own, apart, strict=True)
    moved = np.column_stack([np.bincount(i, d, minlength=len(distinct)) for i, d in pairs])
    whole = moved.sum(0) / count.sum(0)
    draw = np.random.default_rng(seed)
    even = np.full(len(distinct), 1 / len(distinct))
    found = []
    for size in _chunks(len(distinct)):
        times = draw.multinomial(len(distinct), even, size).astype(np.float64)
        asked, earned = times @ count, times @ moved
        # A part of which no source was drawn keeps its value.
        means = np.where(asked > 0, earned / np.maximum(asked, 1), whole)
        found.append(means @ np.array(a.weights))
    values = np.concatenate(found)
    low, high = np.quantile(values, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    below, above = (int((values <= 0).sum()), int((values >= 0).sum()))
    p = min(1.0, 2 * (min(below, above) + 1) / (DRAWS + 1))
    if weighted_mean(a) == weighted_mean(b):
        p = 1.0
    return p, float(low), float(high)


def _chunks(width: int) -> Iterator[int]:
    """Yields how many draws to hold at once, DRAWS in all."""
    left, most = DRAWS, max(1, _CELLS // max(width, 1))
    while left:
        size = min(left, most)
        yield size
        left -= size
