"""One of k must win: captions for a clip (v2t), clips for a caption (t2v), options, yes or no."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

import numpy as np
from jaxtyping import Float, Int

from vbench.metrics.outcomes import Credit
from vbench.records import Score


def choose(scores: Float[np.ndarray, "n k"], target: Int[np.ndarray, " n"]) -> Credit:
    """Grades a k-way choice: right if the target scores above every other (VELOCITI §4.4).

    Where the target shares the top with others it is a miss under strict ties; ordered at random,
    it would come first in one of as many cases as share the top.

    Args:
        scores: (n, k), higher is better; NaN pads rows with fewer than k candidates.
        target: (n,), the right column.

    >>> scores = np.array([[2.0, 1.0, 0.0], [1.0, 1.0, np.nan], [0.0, 2.0, 2.0]])
    >>> credit = choose(scores, np.zeros(3, int))
    >>> credit.strict.tolist(), credit.half.tolist()
    ([1.0, 0.0, 0.0], [1.0, 0.5, 0.0])
    >>> credit.chance.round(2).tolist()
    [0.33, 0.5, 0.33]
    """
    right = np.take_along_axis(scores, target[:, None], axis=1)
    unbeaten = ~(scores > right).any(axis=1)
    sharing = (scores == right).sum(axis=1)
    return Credit(
        strict=(unbeaten & (sharing == 1)).astype(np.float64),
        half=unbeaten / sharing,
        chance=1.0 / (~np.isnan(scores)).sum(axis=1),
    )


def grade_choice(scores: Sequence[Score]) -> Credit:
    """Grades answered samples of any choice kind, each with its own number of candidates."""
    sizes = np.fromiter((len(score.values) for score in scores), np.int64, len(scores))
    filled = np.arange(sizes.max()) < sizes[:, None]
    values = np.full(filled.shape, np.nan)
    values[filled] = np.fromiter(
        chain.from_iterable(score.values for score in scores), np.float64, int(sizes.sum())
    )
    target = np.fromiter((score.sample.target for score in scores), np.int64, len(scores))
    return choose(values, target)
