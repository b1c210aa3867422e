"""Single samples as several runs answered them."""

from __future__ import annotations

import pytest

from vbench.metrics.accuracy import outcome
from vbench.records import Clip, Sample, Score
from vbench.results.items import agreements, disagreements, items


def scores(*margins: float | None) -> list[Score]:
    """One sample per margin of the right text over the wrong one; None: no answer."""
    found = []
    for number, margin in enumerate(margins):
        sample = Sample("t", str(number), "v2t", "v", (Clip("v", "v.mp4"),), ("a", "b"), 0)
        if margin is None:
            found.append(Score(sample, "decode_error", reason="gone"))
        else:
            found.append(Score(sample, "ok", (margin, 0.0)))
    return found


RUNS = [scores(3, -1, -9, 1, None, None), scores(0.1, 0.3, -0.2, -0.1, 0.5, None)]
OUTCOMES = [{(s.sample.test, s.sample.sample_id): outcome(s) for s in own} for own in RUNS]


def test_the_hardest_come_first_and_margins_count_by_rank() -> None:
    found = items(OUTCOMES, RUNS)
    assert [item.sample_id for item in found] == ["2", "3", "1", "0", "4"]  # 5: nobody answered
    hardest = found[0]
    assert (hardest.right, hardest.graded, hardest.outcomes) == (0, 2, ("wrong", "wrong"))
    assert hardest.ease == pytest.approx((1 / 4 + 1 / 5) / 2)
    assert (found[-1].right, found[-1].graded) == (1, 1)


def test_disagreements_are_right_and_wrong_at_once() -> None:
    assert [item.sample_id for item in disagreements(items(OUTCOMES, RUNS))] == ["3", "1"]


def test_agreement_is_over_what_both_answered() -> None:
    whole, own = agreements(items(OUTCOMES, RUNS), 2)
    assert (whole.test, own.test, whole.n, whole.same) == (None, "t", 4, 0.5)
    assert whole.kappa == pytest.approx(0)


def test_what_not_all_runs_ask_is_no_item() -> None:
    assert [i.sample_id for i in items([OUTCOMES[0], {("t", "0"): "right"}], RUNS)] == ["0"]
