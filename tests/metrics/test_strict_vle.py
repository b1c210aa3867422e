import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vbench.errors import ConfigError
from vbench.metrics.outcomes import OTHER_RULE
from vbench.metrics.strict_vle import StrictVLE, entail
from vbench.metrics.velociti import AVERAGED

P = st.sampled_from([0.0, 0.2, 0.5, 0.8, 1.0])


@given(P, P)
def test_entailment_follows_the_definition(right, wrong):
    credit = entail(np.array([right]), np.array([wrong]))
    assert credit.strict[0] == (right > 0.5 and wrong < 0.5)
    # A score of exactly 0.5 may go either way.
    ways = [
        (r > 0.5 and w < 0.5)
        for r in ([0, 1] if right == 0.5 else [right])
        for w in ([0, 1] if wrong == 0.5 else [wrong])
    ]
    assert credit.half[0] == np.mean(ways)


def test_both_numbers_per_test(score):
    scores = [
        score("v2t", [0.9, 0.1], test="chrono"),
        score("v2t", [0.9, 0.6], test="chrono"),
        score("t2v", [0.2, 0.3], target=1, test="control_t2v"),
        score("match", [1, 0, 0, 1], test="ivat"),
    ]
    found = {row.name: (row.credit.tolist(), row.chance) for row in StrictVLE()(scores)}
    assert found == {
        "control_t2v": ([0.0], 0.25),
        "chrono": ([1.0, 0.0], 0.25),
        "chrono_classic": ([1.0, 1.0], 0.5),
        "control_t2v_classic": ([1.0], 0.5),
    }


def test_averages_of_both(score):
    scores = [score("v2t", [0.9, 0.6], test=test) for test in AVERAGED]
    rows = {row.name: row for row in StrictVLE()(scores)}
    assert [part.credit.tolist() for part in rows["average"].parts] == [[0.0]] * 7
    assert [part.credit.tolist() for part in rows["average_classic"].parts] == [[1.0]] * 7
    assert rows["average_classic"].parts[0].name == "agent_iden_classic"


def test_the_target_may_come_second(score):
    (strict, classic) = StrictVLE()([score("v2t", [0.1, 0.9], target=1)])
    assert strict.credit.tolist() == classic.credit.tolist() == [1.0]


@pytest.mark.parametrize("values", [[1.2, 0.0], [0.5, -0.1], [math.inf, 0]])
def test_scores_that_are_no_probabilities_are_refused(score, values):
    with pytest.raises(ConfigError, match="outside 0 to 1"):
        StrictVLE()([score("v2t", values)])


@pytest.mark.parametrize(
    ("values", "word"),
    [([0.9, 0.1], "right"), ([0.9, 0.6], "wrong"), ([0.5, 0.1], "tie"), ([0.5, 0.6], "wrong"),
     ([0.5, 0.5], "tie"), ([math.nan, 0], "unscored")],
)  # fmt: skip
def test_outcome(score, values, word):
    assert StrictVLE().outcome(score("v2t", values)) == word


def test_kinds_without_one_right_and_one_wrong_pair_are_left_out(score):
    assert StrictVLE().outcome(score("match", [1, 0, 0, 1])) == "unscored"
    assert StrictVLE()([score("match", [1, 0, 0, 1]), score("mcq", [1, 0, 0])]) == []


def test_classic_shows_the_tests_again(score):
    rows = StrictVLE()([score("v2t", [0.9, 0.1], test=test) for test in AVERAGED])
    assert [row.name for row in rows if not row.beside] == [*AVERAGED, "average"]
    assert {row.beside for row in rows} == {"", OTHER_RULE}
