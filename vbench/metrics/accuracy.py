"""`metric=accuracy`: the share of samples answered right, for any dataset with known targets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from vbench.metrics.association import grade_association
from vbench.metrics.choice import grade_choice
from vbench.metrics.outcomes import REGROUPED, Credit, Row, Tie, collect, failure, has_target
from vbench.records import Outcome, Score


@dataclass(frozen=True)
class Accuracy:
    """One row per test, then one per value of each `group_by` column, named `<column>=<value>`."""

    tie: Tie = "strict"

    def __call__(self, scores: Sequence[Score]) -> list[Row]:
        """Grades a run's samples.

        Args:
            scores: All samples of the run, unanswered ones included.

        Raises:
            ConfigError: A sample asks for a free answer.
            DataError: A score matrix does not fit its sample.
        """
        tests = split(scores, lambda score: [score.sample.test])
        groups = split(scores, group_names)
        return [
            collect(name, own, grade, self.tie, beside=REGROUPED if name in groups else "")
            for name, own in (tests | groups).items()
        ]

    def outcome(self, score: Score) -> Outcome:
        """Returns how one sample went; a tie is named as such whatever it is worth."""
        return outcome(score)


def split(
    scores: Sequence[Score], names: Callable[[Score], Sequence[str]]
) -> dict[str, list[Score]]:
    """Sorts samples into named rows, in order of first appearance."""
    rows: dict[str, list[Score]] = {}
    for score in scores:
        for name in names(score):
            rows.setdefault(name, []).append(score)
    return rows


def group_names(score: Score) -> list[str]:
    """Returns the group rows a sample belongs to."""
    if not score.sample.groups:
        return []
    return [f"{column}={value}" for column, value in score.sample.groups.items()]


def grade(scores: Sequence[Score]) -> Credit:
    """Grades answered samples of any kind, one credit each; `match` by IVAT's group score."""
    matched = np.array([score.sample.kind == "match" for score in scores])
    credit = Credit(*(np.empty(len(scores)) for _ in range(3)))
    for own, rule in (
        (matched, partial(grade_association, name="group")),
        (~matched, grade_choice),
    ):
        if own.any():
            part = rule([score for score, mine in zip(scores, own, strict=True) if mine])
            credit.strict[own], credit.half[own] = part.strict, part.half
            credit.chance[own] = part.chance
    return credit


def outcome(score: Score) -> Outcome:
    """Says in one word how a sample went: the winner must score above every other candidate.

    A `match` sample is right if both right pairs score above both wrong ones (IVAT's group score).
    One sample at a time, in plain Python: it agrees with `grade`, which does many at once.
    """
    if failure(score) is not None or not has_target(score):
        return "unscored"
    right, best_wrong = deciding(score)
    if right == best_wrong:
        return "tie"
    return "right" if right > best_wrong else "wrong"


def deciding(score: Score) -> tuple[float, float]:
    """Returns the two scores whose comparison decides a sample: the right one, the best wrong one.

    Of a `match` sample these are the lower of the right pairs and the higher of the wrong ones.

    Args:
        score: An answered sample with a known target.
    """
    values = score.values
    if score.sample.kind == "match":
        return min(values[0], values[3]), max(values[1], values[2])
    target = int(score.sample.target or 0)
    return values[target], max((*values[:target], *values[target + 1 :]), default=-np.inf)
