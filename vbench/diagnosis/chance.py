"""Whether credits are above chance: one test for all shortcuts."""

from __future__ import annotations

import numpy as np
from scipy import special

from vbench.metrics.outcomes import Floats

_ZERO = 1e-9
"""A standard error below this is rounding noise around an exact zero."""


def above_chance(credit: Floats, chance: Floats, clusters: np.ndarray) -> float:
    """Returns the p-value of mean credit above mean chance, one-sided.

    Student's t on differences summed by source, as vbench's intervals are (docs/statistics.md).
    Where no source differs from another there is no spread to go by: sources that all are right,
    each at chance, are as improbable as the product of their chances.

    Args:
        credit: (n,), 0 to 1.
        chance: (n,), what random scores earn on average.
        clusters: (n,), the source of each sample.

    Returns:
        1 where there is nothing above chance.

    >>> ones, names = np.ones(10), np.arange(10)
    >>> round(above_chance(ones, ones / 2, names), 6), above_chance(0 * ones, ones / 2, names)
    (0.000977, 1.0)
    """
    gain = credit - chance
    mean = float(gain.mean()) if len(gain) else 0.0
    if mean <= _ZERO:
        return 1.0
    _, index = np.unique(clusters, return_inverse=True)
    count = int(index.max()) + 1
    summed, share = np.zeros(count), np.zeros(count)
    np.add.at(summed, index, (gain - mean) / len(gain))
    np.add.at(share, index, 1 / len(gain))
    stderr = float(np.sqrt(count / max(count - 1, 1) * (summed @ summed)))
    if stderr < _ZERO:
        return float(chance.mean() ** count)
    freedom = max(1.0, 1 / float(share @ share) - 1)
    return float(special.stdtr(freedom, -mean / stderr))
