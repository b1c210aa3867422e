"""`metric=strict_vle`: VELOCITI v2's entailment, where a caption must be judged, not only ranked.

arXiv 2406.10889v2 (CVPR 2025) and metrics.py of its repository.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Float

from vbench.errors import ConfigError
from vbench.metrics.accuracy import split
from vbench.metrics.choice import grade_choice
from vbench.metrics.outcomes import (
    OTHER_RULE,
    Credit,
    Outcomes,
    Row,
    Tie,
    collect,
    failure,
    has_target,
)
from vbench.metrics.velociti import average, in_order
from vbench.records import Outcome, Score

THRESHOLD = 0.5
"""Above it a caption is held to be entailed, below it not; 0.5 itself is neither."""

CLASSIC = "_classic"


@dataclass(frozen=True)
class StrictVLE:
    """Per test `<test>` = StrictVLE and `<test>_classic` = ClassicVLE, and the averages of both.

    StrictVLE: P(yes) > 0.5 for the right caption and < 0.5 for the wrong one. ClassicVLE: the right
    one scores higher. Samples with other than one right and one wrong pair (IVAT, options of more
    than two) have neither and get no row.
    """

    tie: Tie = "strict"
    needs_probabilities: ClassVar[bool] = True
    """Its threshold means nothing for a cosine."""

    def __call__(self, scores: Sequence[Score]) -> list[Row]:
        """Grades a run's samples.

        Args:
            scores: All samples of the run, unanswered ones included.

        Raises:
            ConfigError: Scores are no probabilities.
            DataError: A score matrix does not fit its sample.
        """
        strict: dict[str, Outcomes] = {}
        classic: dict[str, Outcomes] = {}
        pairs = [score for score in scores if _is_pair(score)]
        for test, own in split(pairs, lambda score: [score.sample.test]).items():
            strict[test] = collect(test, own, grade_entailment, self.tie)
            name = test + CLASSIC
            classic[name] = collect(name, own, grade_choice, self.tie, beside=OTHER_RULE)
        return [
            *in_order(strict),
            *average("average", strict),
            *classic.values(),
            *average(f"average{CLASSIC}", classic, CLASSIC),
        ]

    def outcome(self, score: Score) -> Outcome:
        """Returns how one sample went under StrictVLE; `tie`: a score of exactly 0.5 decides."""
        if not _is_pair(score) or failure(score) is not None or not has_target(score):
            return "unscored"
        credit = grade_entailment([score])
        if credit.half[0] > credit.strict[0]:
            return "tie"
        return "right" if credit.strict[0] else "wrong"


def entail(right: Float[np.ndarray, " n"], wrong: Float[np.ndarray, " n"]) -> Credit:
    """Grades entailment probabilities.

    Each caption is compared with 0.5 on its own, so under half ties each comparison that is tied
    goes either way half the time: 1/2 for one, 1/4 for both.

    Args:
        right: (n,) P(yes) of the captions that are true.
        wrong: (n,) P(yes) of those that are false.

    >>> credit = entail(np.array([0.9, 0.5, 0.5, 0.4]), np.array([0.1, 0.1, 0.5, 0.1]))
    >>> credit.strict.tolist(), credit.half.tolist()
    ([1.0, 0.0, 0.0, 0.0], [1.0, 0.5, 0.25, 0.0])
    """
    return Credit(
        strict=((right > THRESHOLD) & (wrong < THRESHOLD)).astype(np.float64),
        half=np.heaviside(right - THRESHOLD, 0.5) * np.heaviside(THRESHOLD - wrong, 0.5),
        chance=np.full(len(right), 0.25),
    )


def grade_entailment(scores: Sequence[Score]) -> Credit:
    """Grades answered samples with one right and one wrong pair.

    Raises:
        ConfigError: A score lies outside 0 to 1.
    """
    values = np.array([score.values for score in scores], dtype=np.float64)
    outside = np.flatnonzero(((values < 0) | (values > 1)).any(axis=1))
    if outside.size:
        sample = scores[outside[0]].sample
        raise ConfigError(
            "StrictVLE needs probabilities, and these scores lie outside 0 to 1",
            where=f"sample {sample.sample_id} of {sample.test}",
            why="a cosine or a logit says which caption fits better, not whether one is entailed",
            mend="metric=velociti compares them (ClassicVLE)",
        )
    target = np.array([score.sample.target for score in scores], dtype=np.int64)
    rows = np.arange(len(values))
    return entail(values[rows, target], values[rows, 1 - target])


def _is_pair(score: Score) -> bool:
    sample = score.sample
    return sample.kind in ("v2t", "t2v") and len(sample.clips) * len(sample.texts) == 2
