"""`metric=velociti`: the fourteen numbers of VELOCITI's Tables 2 and 3 (arXiv 2406.10889)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from vbench.metrics.accuracy import grade, group_names, outcome, split
from vbench.metrics.association import CHANCE, grade_association
from vbench.metrics.outcomes import OTHER_RULE, REGROUPED, Mean, Outcomes, Row, Tie, collect
from vbench.records import Outcome, Score

CONTROLS = ("control_t2v", "control_v2t")
IVAT = tuple(f"ivat_{score}" for score in CHANCE)
AVERAGED = (
    "agent_iden",
    "agent_bind",
    "agent_coref",
    "action_adv",
    "action_bind",
    "action_modif",
    "chrono",
)
"""The tests of Table 3; `average` is their unweighted mean, as in its last column."""


@dataclass(frozen=True)
class Velociti:
    """Choice tests by accuracy, IVAT by its five scores, and the average of Table 3.

    The average appears only if all of its tests have samples. Tests of other names follow in their
    own order. On VELOCITI v2 (CVPR 2025) this is its ClassicVLE: the right caption ranks higher.
    Of IVAT's five scores, which grade the same samples, `group` is the result of the test.
    """

    tie: Tie = "strict"

    def __call__(self, scores: Sequence[Score]) -> list[Row]:
        """Grades a run's samples.

        Args:
            scores: All samples of the run, unanswered ones included.

        Raises:
            ConfigError: A sample asks for a free answer.
            DataError: A score matrix does not fit its sample.
        """
        rows: dict[str, Outcomes] = {}
        for test, own in split(scores, lambda score: [score.sample.test]).items():
            if own[0].sample.kind == "match":
                for name in CHANCE:
                    rule = partial(grade_association, name=name)
                    beside = "" if name == "group" else OTHER_RULE
                    row = collect(f"{test}_{name}", own, rule, self.tie, beside=beside)
                    rows[row.name] = row
            else:
                rows[test] = collect(test, own, grade, self.tie)
        for name, own in split(scores, group_names).items():
            rows[name] = collect(name, own, grade, self.tie, beside=REGROUPED)
        return [*in_order(rows), *average("average", rows)]

    def outcome(self, score: Score) -> Outcome:
        """Returns how one sample went; IVAT's by its group score."""
        return outcome(score)


def in_order(rows: dict[str, Outcomes]) -> list[Outcomes]:
    """Returns the rows in the order of the paper's columns, others after them."""
    known = [name for name in (*CONTROLS, *IVAT, *AVERAGED) if name in rows]
    return [rows[name] for name in dict.fromkeys([*known, *rows])]


def average(name: str, rows: dict[str, Outcomes], suffix: str = "") -> list[Mean]:
    """Returns the unweighted mean over Table 3's tests, or nothing if one has no samples."""
    parts = [rows[test + suffix] for test in AVERAGED if test + suffix in rows]
    complete = len(parts) == len(AVERAGED) and all(len(part.credit) for part in parts)
    return [Mean(name, tuple(parts), beside=parts[0].beside)] if complete else []
