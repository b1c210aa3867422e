from dataclasses import replace

import numpy as np
import pytest

from vbench.metrics.outcomes import Mean, mean
from vbench.metrics.velociti import Velociti

PAIRS = (
    "control_v2t", "agent_iden", "agent_bind", "agent_coref", "action_adv", "action_bind",
    "action_modif", "chrono",
)  # fmt: skip
NAMES = [
    "control_t2v", "control_v2t", "ivat_independent_t2v", "ivat_independent_v2t",
    "ivat_matching_t2v", "ivat_matching_v2t", "ivat_group", "agent_iden", "agent_bind",
    "agent_coref", "action_adv", "action_bind", "action_modif", "chrono", "average",
]  # fmt: skip


@pytest.fixture
def ten_tests(score):
    """Fills all ten tests with `count` samples each from a function of (right, size)."""

    def make(fill, count=3):
        scores = [score("match", fill((0, 3), 4), test="ivat") for _ in range(count)]
        scores += [score("t2v", fill((0,), 2), test="control_t2v") for _ in range(count)]
        for test in PAIRS:
            scores += [score("v2t", fill((0,), 2), test=test) for _ in range(count)]
        return scores

    return make


def values(rows):
    return {r.name: float(np.mean([mean(part.graded) for part in r.parts])) for r in rows}


def test_names_and_order_are_those_of_the_paper(ten_tests):
    rows = Velociti()(ten_tests(lambda right, size: range(size)))
    assert [row.name for row in rows] == NAMES


def test_ten_tests_and_their_average_are_results_of_their_own(ten_tests):
    scores = ten_tests(lambda right, size: range(size))
    scores = [replace(s, sample=replace(s.sample, groups={"hue": "a"})) for s in scores]
    own = [row.name for row in Velociti()(scores) if not row.beside]
    assert own == ["control_t2v", "control_v2t", "ivat_group", *NAMES[7:]]


def test_a_perfect_scorer_has_it_all(ten_tests):
    rows = Velociti()(ten_tests(lambda right, size: [float(i in right) for i in range(size)]))
    assert values(rows) == dict.fromkeys(NAMES, 1.0)


def test_a_constant_scorer_has_nothing_under_strict_ties(ten_tests):
    rows = Velociti("strict")(ten_tests(lambda right, size: [0.3] * size))
    assert values(rows) == dict.fromkeys(NAMES, 0.0)
    assert all(part.tied.all() for row in rows for part in row.parts)


def test_a_constant_scorer_has_exactly_chance_under_half_ties(ten_tests):
    rows = Velociti("half")(ten_tests(lambda right, size: [0.3] * size))
    want = dict.fromkeys(NAMES, 0.5)
    want |= {"ivat_matching_t2v": 0.25, "ivat_matching_v2t": 0.25, "ivat_group": 1 / 6}
    assert values(rows) == want
    for row in rows:
        assert np.mean([part.chance for part in row.parts]) == want[row.name]


def test_the_average_weighs_tests_not_samples(ten_tests, score):
    scores = ten_tests(lambda right, size: [1.0, 0.0] * (size // 2))
    scores += [score("v2t", [0, 1], test="chrono")] * 9
    (average,) = [row for row in Velociti()(scores) if isinstance(row, Mean)]
    assert values([average])["average"] == pytest.approx((6 + 3 / 12) / 7)


@pytest.mark.parametrize("test", [t for t in PAIRS if t != "control_v2t"])
def test_no_average_while_a_test_is_missing_or_unanswered(ten_tests, score, test):
    scores = ten_tests(lambda right, size: range(size))
    others = [one for one in scores if one.sample.test != test]
    unanswered = [score("v2t", test=test, status="oom")]
    assert "average" not in values(Velociti()(others))
    names = [row.name for row in Velociti()([*others, *unanswered])]
    assert "average" not in names and test in names


def test_only_tests_that_were_run_have_rows(score):
    assert [row.name for row in Velociti()([score("v2t", [1, 0], test="chrono")])] == ["chrono"]
    assert Velociti()([]) == []


def test_other_tests_and_groups_follow(score):
    scores = [
        score("mcq", [1, 0, 0], test="mine", groups={"genre": "x"}),
        score("v2t", [1, 0], test="chrono"),
    ]
    assert [row.name for row in Velociti()(scores)] == ["chrono", "mine", "genre=x"]


def test_ivat_goes_by_its_group_score(score):
    metric = Velociti()
    assert metric.outcome(score("match", [2, 1, 1, 2])) == "right"
    assert metric.outcome(score("match", [2, 1, 1, 1])) == "tie"
    assert metric.outcome(score("match", [2, 1, 3, 4])) == "wrong"
    assert metric.outcome(score("match", status="oom")) == "unscored"
