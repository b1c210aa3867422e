"""A classifier of words and word pairs: which options read like right ones?

A conditional logit (McFadden, 1974) over the options of a sample, on which unigrams and bigrams
each has; for two captions that is logistic regression on the difference. Trained and applied on
different sources.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import optimize, sparse

from vbench.diagnosis.shortcuts import Values
from vbench.metrics.outcomes import Floats
from vbench.records import Sample

FOLDS = 5
PENALTY = 1.0
"""Times half the squared length of the weights, added to the summed loss."""
LEAST = 2
"""Options of the training folds in which a feature must occur."""

_TOKEN = re.compile(r"\w+|[^\w\s]")


def features(text: str) -> set[str]:
    """Returns the words and pairs of neighbours, beginning and end included.

    >>> sorted(features("A cat."))
    ['.', '. >', '< a', 'a', 'a cat', 'cat', 'cat .']
    """
    words = _TOKEN.findall(text.lower())
    pairs = {f"{a} {b}" for a, b in zip(["<", *words], [*words, ">"], strict=True)}
    return {*words, *pairs}


def cross_validated(samples: Sequence[Sample], seed: int = 0) -> list[Values] | None:
    """Scores each sample by a classifier that has not seen its source.

    Nor its captions: benchmarks that balance captions use what is right in one sample as what is
    wrong in another, and a classifier that knew those by heart would be wrong more often than
    chance. Options, which are few and recur, are left to be known.

    Args:
        samples: Of one test, each with a target.
        seed: Of the draw of sources into folds.

    Returns:
        One number per text of each sample; None with fewer than two sources, which leaves nothing
        to train on.
    """
    names = sorted({sample.cluster for sample in samples})
    if len(names) < 2:
        return None
    order = np.random.default_rng(seed).permutation(len(names))
    fold_of = {names[at]: place % FOLDS for place, at in enumerate(order)}
    folds = np.array([fold_of[sample.cluster] for sample in samples])
    found: list[Values] = [()] * len(samples)
    texts = [[features(text) for text in sample.texts] for sample in samples]
    for fold in range(min(FOLDS, len(names))):
        test = np.flatnonzero(folds == fold).tolist()
        known = {text for i in test if samples[i].kind == "v2t" for text in samples[i].texts}
        rest = np.flatnonzero(folds != fold).tolist()
        train = [i for i in rest if known.isdisjoint(samples[i].texts)]
        model = _fit([texts[i] for i in train], [int(samples[i].target or 0) for i in train])
        for i in test:
            found[i] = model.scores(texts[i])
    return found


@dataclass(frozen=True, eq=False)
class _Logit:
    weights: dict[str, float]

    def scores(self, options: Sequence[set[str]]) -> Values:
        # In sorted order: the order of a set, and with it the rounding, differs between processes.
        return tuple(sum(self.weights.get(f, 0.0) for f in sorted(own)) for own in options)


def _fit(samples: Sequence[Sequence[set[str]]], targets: Sequence[int]) -> _Logit:
    counts = Counter(feature for options in samples for own in options for feature in own)
    known = {f: at for at, f in enumerate(sorted(f for f, n in counts.items() if n >= LEAST))}
    if not known:
        return _Logit({})
    rows = [[known[f] for f in own if f in known] for options in samples for own in options]
    ends = np.cumsum([0, *(len(row) for row in rows)])
    columns = np.concatenate([np.array(row, dtype=np.int64) for row in rows])
    ones = np.ones(len(columns))
    matrix = sparse.csr_matrix((ones, columns, ends), shape=(len(rows), len(known)))
    starts = np.cumsum([0, *(len(options) for options in samples)])[:-1]
    right = starts + np.array(targets)
    sizes = np.array([len(options) for options in samples])

    def loss(weights: Floats) -> tuple[float, Floats]:
        scores = matrix @ weights
        top = np.repeat(np.maximum.reduceat(scores, starts), sizes)
        powers = np.exp(scores - top)
        total = np.repeat(np.add.reduceat(powers, starts), sizes)
        value = float((np.log(total) + top - scores)[right].sum())
        slope = powers / total
        slope[right] -= 1
        penalty = PENALTY / 2 * float(weights @ weights)
        return value + penalty, matrix.T @ slope + PENALTY * weights

    best = optimize.minimize(loss, np.zeros(len(known)), jac=True, method="L-BFGS-B")
    return _Logit(dict(zip(known, best.x.tolist(), strict=True)))
