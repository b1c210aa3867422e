import math

from hypothesis import given
from hypothesis import strategies as st

from vbench.metrics.accuracy import Accuracy, grade, outcome
from vbench.metrics.outcomes import REGROUPED

WORTH = {"right": (1, 1), "wrong": (0, 0)}


def test_a_row_per_test_and_per_group_value(score):
    rows = Accuracy()(
        [
            score("mcq", [1, 2, 3], target=2, test="sports", groups={"genre": "x", "year": "1"}),
            score("mcq", [1, 2], target=0, test="sports", groups={"genre": "y"}),
            score("yes_no", [2, 1], target=0, test="news", groups={"genre": "x"}),
            score("yes_no", test="news", status="oom", groups={"genre": "z"}),
        ]
    )
    found = {row.name: (row.credit.tolist(), row.unanswered) for row in rows}
    assert found == {
        "sports": ([1.0, 0.0], 0),
        "news": ([1.0], 1),
        "genre=x": ([1.0, 1.0], 0),
        "year=1": ([1.0], 0),
        "genre=y": ([0.0], 0),
        "genre=z": ([], 1),
    }


def test_chance_is_one_in_k_averaged_over_samples(score):
    (row,) = Accuracy()([score("mcq", [1, 2, 3, 4]), score("mcq", [1, 2])])
    assert row.chance == (1 / 4 + 1 / 2) / 2


def test_kinds_may_be_mixed(score):
    credit = grade(
        [score("match", [3, 1, 1, 3]), score("t2v", [0, 1]), score("match", [1, 1, 1, 1])]
    )
    assert credit.strict.tolist() == [1.0, 0.0, 0.0]
    assert credit.half.tolist() == [1.0, 0.0, 1 / 6]
    assert credit.chance.tolist() == [1 / 6, 1 / 2, 1 / 6]


def test_the_tie_rule_reaches_every_row(score):
    rows = Accuracy(tie="half")([score("v2t", [1, 1], groups={"genre": "x"})])
    assert [row.graded.tolist() for row in rows] == [[0.5], [0.5]]


@given(
    st.sampled_from(["v2t", "t2v", "match", "mcq"]),
    st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=4, max_size=4),
    st.integers(0, 1),
)
def test_the_outcome_of_one_sample_agrees_with_its_credit(score, kind, values, target):
    one = score(kind, values[: 4 if kind in ("match", "mcq") else 2], target=target)
    credit = grade([one])
    word = outcome(one)
    if word == "tie":
        assert credit.strict[0] == 0 < credit.half[0] < 1
    else:
        assert (credit.strict[0], credit.half[0]) == WORTH[word]
    assert Accuracy().outcome(one) == word


def test_samples_without_answer_or_target_have_no_outcome(score):
    assert outcome(score("v2t", status="decode_error")) == "unscored"
    assert outcome(score("v2t", [math.nan, 0])) == "unscored"
    assert outcome(score("mcq", [1, 0], target=None)) == "unscored"
    assert outcome(score("open", target="a dog")) == "unscored"


def test_an_only_option_is_right(score):
    assert outcome(score("mcq", [0.0])) == "right"
    assert grade([score("mcq", [0.0])]).strict[0] == 1


def test_groups_show_the_tests_again(score):
    rows = Accuracy()([score("v2t", [1, 0], test="chrono", groups={"hue": "a"})])
    assert [(row.name, row.beside) for row in rows] == [("chrono", ""), ("hue=a", REGROUPED)]
