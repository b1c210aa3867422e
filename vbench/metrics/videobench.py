"""`metric=videobench`: Video-Bench's scores by dataset, level and altogether (arXiv 2311.16103).

A level is the weighted mean of its datasets and the final score the mean of the levels; with the
published weights this reproduces the published averages (docs/videobench.md). The official scripts
leave out every question without a valid judgement; here such a question is wrong, and the official
number stands beside as `<row>_legacy`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from vbench.errors import ConfigError
from vbench.metrics.accuracy import group_names, outcome, split
from vbench.metrics.choice import grade_choice
from vbench.metrics.outcomes import (
    OTHER_RULE,
    REGROUPED,
    Credit,
    Mean,
    Outcomes,
    Row,
    Tie,
    collect,
    failure,
    has_target,
)
from vbench.records import Outcome, Score

Levels = Mapping[str, Mapping[str, float]]

LEVELS: Levels = {
    "video_exclusive": {
        "ActivityNet": 1.0, "MSVD": 1.0, "MSRVTT": 1.0, "TGIF": 1.0, "Youcook2": 1.0,
        "Ucfcrime": 1.0, "MOT": 0.5,
    },
    "prior_knowledge": {"TVQA": 1.0, "MV": 1.0, "NBA": 1.0},
    "comprehension_decision": {
        "Driving-exam": 0.5, "Driving-decision-making": 1.0, "SQA3D": 1.0,
    },
}  # fmt: skip
"""The thirteen datasets by the names of their files, and what each weighs in its level (section 4.1
of the paper: half for tasks of few questions; the toolkit's score script as of November 2023)."""

FINAL, LEGACY = "final", "_legacy"


@dataclass(frozen=True)
class VideoBench:
    """One row per dataset, per level and for all; then the same as the official scripts count.

    A level or final score that lacks a dataset says so in its name: `final (without MOT)`.
    """

    levels: Levels = field(default_factory=lambda: LEVELS)
    """Per level the weight of each of its tests; levels count alike."""
    tie: Tie = "strict"

    def __call__(self, scores: Sequence[Score]) -> list[Row]:
        """Grades a run's samples.

        Args:
            scores: All samples of the run, unanswered ones included.

        Raises:
            ConfigError: A sample is no choice among options.
            DataError: A score matrix does not fit its sample.
        """
        _check_kinds(scores)
        by_test = split(scores, lambda score: [score.sample.test])
        groups = split(scores, group_names)
        rows: list[Row] = []
        for suffix in ("", LEGACY):
            found = {
                name: _collect(f"{name}{suffix}", own, self.tie, OTHER_RULE if suffix else "")
                for name, own in by_test.items()
            }
            rows += self._in_order(found)
            rows += self.means(found, suffix)
            if not suffix:
                rows += [_collect(name, own, self.tie, REGROUPED) for name, own in groups.items()]
        return rows

    def outcome(self, score: Score) -> Outcome:
        """Returns how one sample went; without an answer it is wrong, as in the strict scores."""
        if failure(score) is not None and has_target(score):
            return "wrong"
        return outcome(score)

    def _in_order(self, found: Mapping[str, Outcomes]) -> list[Outcomes]:
        known = [name for tests in self.levels.values() for name in tests if name in found]
        return [found[name] for name in dict.fromkeys([*known, *found])]

    def means(self, found: Mapping[str, Outcomes], suffix: str = "") -> list[Mean]:
        """Returns the levels and the final score.

        Args:
            found: Row of each test; one that is absent or empty is missing.
            suffix: Of the names; with one they are no results of their own.
        """
        beside = OTHER_RULE if suffix else ""
        graded = {name for name, row in found.items() if len(row.credit)}
        means: list[Mean] = []
        parts: list[Outcomes] = []
        weights: list[float] = []
        missing: list[str] = []
        for level, tests in self.levels.items():
            own = [name for name in tests if name in graded]
            lacking = [name for name in tests if name not in graded]
            missing += lacking
            if not own:
                continue
            level_row = Mean(
                _named(f"{level}{suffix}", lacking),
                tuple(found[name] for name in own),
                tuple(tests[name] for name in own),
                beside or REGROUPED,
            )
            means.append(level_row)
            parts += level_row.parts
            weights += level_row.weights
        if means:
            name = _named(f"{FINAL}{suffix}", missing)
            means.append(Mean(name, tuple(parts), tuple(weights), beside))
        return means


def _named(name: str, missing: Sequence[str]) -> str:
    return f"{name} (without {', '.join(missing)})" if missing else name


def _collect(name: str, scores: Sequence[Score], tie: Tie, beside: str) -> Outcomes:
    if beside == OTHER_RULE:  # the official scripts': a question without an answer is left out
        return collect(name, scores, grade_choice, tie, beside=beside)
    return collect(name, scores, _grade_all, tie, "graded", beside)


def _grade_all(scores: Sequence[Score]) -> Credit:
    """Grades answered and unanswered samples alike: the latter earn nothing."""
    answered = np.array([failure(score) is None for score in scores])
    chance = np.array([1 / len(score.sample.texts) for score in scores])
    credit = Credit(np.zeros(len(scores)), np.zeros(len(scores)), chance)
    if answered.any():
        own = grade_choice([s for s, mine in zip(scores, answered, strict=True) if mine])
        credit.strict[answered], credit.half[answered] = own.strict, own.half
    return credit


def _check_kinds(scores: Sequence[Score]) -> None:
    for score in scores:
        if score.sample.kind not in ("mcq", "yes_no"):
            raise ConfigError(
                f"metric=videobench grades choices among options, not {score.sample.kind}",
                where=f"sample {score.sample.sample_id} of {score.sample.test}",
                mend="use metric=accuracy or metric=velociti",
            )
