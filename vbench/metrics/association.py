"""IVAT: two clips and two captions of one video must find each other (VELOCITI §3.2, §4.4).

Clip i belongs to caption i. `independent` grades the two halves of a sample apart, `matching` wants
both, `group` wants both directions. t2v: a caption picks its clip; v2t: a clip picks its caption.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import permutations
from types import MappingProxyType

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray

from vbench.errors import DataError
from vbench.metrics.outcomes import Credit, Floats
from vbench.records import Score

CHANCE: Mapping[str, float] = MappingProxyType(
    {
        "independent_t2v": 1 / 2,
        "independent_v2t": 1 / 2,
        "matching_t2v": 1 / 4,
        "matching_v2t": 1 / 4,
        "group": 1 / 6,
    }
)
"""IVAT's five scores, and what four random scores earn. Group: of the 4! orders, the 2! x 2! with
both right pairs above both wrong ones."""

_Cell = tuple[int, int]
_ORDERS = np.array(list(permutations(range(4)))).reshape(24, 2, 2)
"""Every order of four scores, as ranks (24, clip, text)."""


def associate(scores: Float[np.ndarray, "n 2 2"]) -> dict[str, Credit]:
    """Grades 2 x 2 samples in five ways.

    Under half ties, all four scores are ordered together: a constant scorer then has every one of
    the 24 orders with equal weight and earns 1/2, 1/4 and 1/6, which is chance.

    Args:
        scores: (n, 2, 2), clips x texts.

    Returns:
        A credit per name of CHANCE.

    >>> constant = associate(np.zeros((1, 2, 2)))
    >>> [round(float(credit.half[0]), 4) for credit in constant.values()]
    [0.5, 0.5, 0.25, 0.25, 0.1667]
    >>> {float(credit.strict[0]) for credit in constant.values()}
    {0.0}
    """

    def beats(winner: _Cell, loser: _Cell) -> NDArray[np.bool_]:
        greater: NDArray[np.bool_] = np.greater(scores[:, *winner], scores[:, *loser])
        return greater

    def beats_in_order(winner: _Cell, loser: _Cell) -> NDArray[np.bool_]:
        tied = np.equal(scores[:, *winner], scores[:, *loser])
        first = np.greater(_ORDERS[:, *winner], _ORDERS[:, *loser])
        won: NDArray[np.bool_] = beats(winner, loser)[:, None] | (tied[:, None] & first)
        return won

    strict, ordered = _grades(beats), _grades(beats_in_order)
    return {
        name: Credit(strict[name], ordered[name].mean(axis=1), np.full(len(scores), chance))
        for name, chance in CHANCE.items()
    }


def _grades(beats: Callable[[_Cell, _Cell], NDArray[np.bool_]]) -> dict[str, Floats]:
    t2v = beats((0, 0), (1, 0)), beats((1, 1), (0, 1))
    v2t = beats((0, 0), (0, 1)), beats((1, 1), (1, 0))
    both_t2v, both_v2t = t2v[0] & t2v[1], v2t[0] & v2t[1]
    return {
        "independent_t2v": (t2v[0] * 0.5 + t2v[1] * 0.5),
        "independent_v2t": (v2t[0] * 0.5 + v2t[1] * 0.5),
        "matching_t2v": both_t2v.astype(np.float64),
        "matching_v2t": both_v2t.astype(np.float64),
        "group": (both_t2v & both_v2t).astype(np.float64),
    }


def grade_association(scores: Sequence[Score], name: str) -> Credit:
    """Grades answered `match` samples by one of IVAT's five scores.

    Raises:
        DataError: A sample has other than two clips and two texts.
    """
    for sample in (score.sample for score in scores):
        if (len(sample.clips), len(sample.texts)) != (2, 2):
            raise DataError(
                f"{len(sample.clips)} clips x {len(sample.texts)} texts cannot be associated",
                where=f"sample {sample.sample_id} of {sample.test}",
                mend="give samples of kind 'match' two clips and two texts",
            )
    values = np.array([score.values for score in scores], dtype=np.float64)
    return associate(values.reshape(-1, 2, 2))[name]
