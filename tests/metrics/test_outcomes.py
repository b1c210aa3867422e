import math
from dataclasses import replace

import numpy as np
import pytest

from vbench.errors import ConfigError, DataError
from vbench.metrics.choice import grade_choice
from vbench.metrics.outcomes import Mean, collect, failure, has_target


def test_unanswered_samples_are_counted_and_not_graded(score):
    scores = [
        score("v2t", [1, 0], cluster="a", truncated=True),
        score("v2t", [0, 1], cluster="b"),
        score("v2t", status="decode_error", reason="no such file"),
        score("v2t", [math.nan, 0]),
        score("v2t", [1, 0], target=None),
    ]
    row = collect("chrono", scores, grade_choice, "strict")
    assert row.credit.tolist() == [1.0, 0.0]
    assert row.clusters.tolist() == ["a", "b"]
    assert row.truncated.tolist() == [True, False]
    assert row.unanswered == 2
    assert row.chance == 0.5


def test_a_row_without_answers_is_empty(score):
    row = collect("chrono", [score("v2t", status="oom")], grade_choice, "strict")
    assert len(row.credit) == len(row.clusters) == 0
    assert row.unanswered == 1
    assert math.isnan(row.chance)


@pytest.mark.parametrize("values", [[math.nan, 1], [1, math.nan], [math.nan, math.nan]])
def test_nan_is_a_failure_whichever_side_it_is_on(score, values):
    assert failure(score("v2t", values)) == ("model_error", "the score is not a number (NaN)")


def test_infinite_scores_are_answers(score):
    assert failure(score("v2t", [math.inf, -math.inf])) is None


def test_a_failure_keeps_its_status_and_reason(score):
    one = score("v2t", status="refused", reason="blocked")
    assert failure(one) == ("refused", "blocked")


@pytest.mark.parametrize(
    ("kind", "target", "known"),
    [("v2t", 0, True), ("mcq", np.int64(1), True), ("mcq", None, False), ("mcq", "B", False),
     ("match", None, True)],
)  # fmt: skip
def test_whether_there_is_a_target(score, kind, target, known):
    assert has_target(score(kind, [1, 2, 3, 4], target=target)) is known


def test_ties_are_worth_what_the_rule_says(score):
    scores = [score("v2t", [1, 1]), score("v2t", [1, 0])]
    strict = collect("chrono", scores, grade_choice, "strict")
    half = replace(strict, tie="half")
    assert strict.graded.tolist() == [0.0, 1.0]
    assert half.graded.tolist() == [0.5, 1.0]
    assert strict.tied.tolist() == half.tied.tolist() == [True, False]


def test_a_row_is_its_own_only_part(score):
    row = collect("chrono", [score("v2t", [1, 0])], grade_choice, "strict")
    assert row.parts == (row,)
    assert Mean("average", (row, row)).parts == (row, row)


def test_a_matrix_of_the_wrong_size_is_refused(score):
    with pytest.raises(DataError, match="3 scores for 1 clips x 2 texts"):
        collect("chrono", [score("v2t", [1, 2, 3])], grade_choice, "strict")


@pytest.mark.parametrize("target", [-1, 2])
def test_a_target_that_is_no_candidate_is_refused(score, target):
    with pytest.raises(DataError, match=f"the target is number {target} of 2"):
        collect("chrono", [score("v2t", [1, 2], target=target)], grade_choice, "strict")


def test_free_answers_are_refused(score):
    with pytest.raises(ConfigError, match="free answers have no scores"):
        collect("qa", [score("open", target="a dog")], grade_choice, "strict")
