"""What runs make of single samples: the hardest, those they disagree on, and how far they agree."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from scipy.stats import rankdata

from vbench.metrics.accuracy import deciding
from vbench.metrics.outcomes import failure, has_target
from vbench.records import Score
from vbench.results.agreement import cohen_kappa

Name = tuple[str, str]
"""A sample's test and sample_id."""


@dataclass(frozen=True)
class Item:
    """One sample as several runs answered it."""

    test: str
    sample_id: str
    cluster: str
    outcomes: tuple[str, ...]
    """By run: right, wrong, tie or unscored."""
    right: int
    """Runs that are right."""
    graded: int
    """Runs that have an outcome."""
    ease: float
    """Mean place of its margin among those of its test in the same run, 0 (worst) to 1."""


@dataclass(frozen=True)
class Agreement:
    """Two runs, by whether they are right on the same samples."""

    a: int
    b: int
    test: str | None
    """None: all tests together."""
    n: int
    """Samples that both have an outcome for."""
    same: float
    """Share of those on which both are right or neither is."""
    kappa: float | None
    """Cohen's, which takes off what their accuracies alone would give; None where one outcome is
    all there is."""


def items(outcomes: Sequence[Mapping[Name, str]], scores: Sequence[Sequence[Score]]) -> list[Item]:
    """Returns the samples that all runs ask, the hardest first.

    Hard is what few of the runs get right; among equals, what they get right by the least or wrong
    by the most. Margins of different models share no unit, so each counts by its rank in its run.

    Args:
        outcomes: Each run's outcomes by sample.
        scores: Each run's samples.
    """
    ease = [_ranks(own) for own in scores]
    clusters = {_name(score): score.sample.cluster for score in scores[0]}
    found = []
    for name in outcomes[0]:
        if not all(name in own for own in outcomes):
            continue
        seen = tuple(own[name] for own in outcomes)
        graded = sum(outcome != "unscored" for outcome in seen)
        ranks = [own[name] for own in ease if name in own]
        mean = sum(ranks) / len(ranks) if ranks else 0.0
        found.append(Item(*name, clusters[name], seen, seen.count("right"), graded, mean))
    return sorted(
        (item for item in found if item.graded),
        key=lambda item: (item.right / item.graded, item.ease, item.test, item.sample_id),
    )


def disagreements(found: Sequence[Item]) -> list[Item]:
    """Returns the items that some runs get right and some do not, the most disputed first."""
    split = [item for item in found if 0 < item.right < item.graded]
    return sorted(split, key=lambda item: abs(2 * item.right - item.graded))


def agreements(found: Sequence[Item], runs: int) -> list[Agreement]:
    """Returns how far every two runs agree, over all tests and then by test.

    Args:
        found: From `items`.
        runs: How many there are.
    """
    tests = dict.fromkeys(item.test for item in sorted(found, key=lambda item: item.test))
    kept: list[Agreement] = []
    for test in (None, *tests):
        own = [item.outcomes for item in found if test in (None, item.test)]
        for a, b in combinations(range(runs), 2):
            pairs = [
                (_word(seen[a]), _word(seen[b]))
                for seen in own
                if "unscored" not in (seen[a], seen[b])
            ]
            same = sum(x == y for x, y in pairs) / len(pairs) if pairs else math.nan
            kept.append(Agreement(a, b, test, len(pairs), same, cohen_kappa(pairs)))
    return [one for one in kept if one.n]


def _word(outcome: str) -> str:
    """A tie is a miss here, as under strict ties."""
    return "right" if outcome == "right" else "wrong"


def _ranks(scores: Sequence[Score]) -> dict[Name, float]:
    """Returns the place of each answered sample among those of its test, by its margin."""
    margins: dict[str, dict[Name, float]] = {}
    for score in scores:
        if failure(score) is None and has_target(score):
            right, wrong = deciding(score)
            margin = 0.0 if right == wrong else right - wrong
            margins.setdefault(score.sample.test, {})[_name(score)] = margin
    found: dict[Name, float] = {}
    for own in margins.values():
        ranks: Any = rankdata(list(own.values()))
        found |= {name: float(rank) / len(own) for name, rank in zip(own, ranks, strict=True)}
    return found


def _name(score: Score) -> Name:
    return score.sample.test, score.sample.sample_id
