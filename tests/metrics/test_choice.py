from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vbench.metrics.choice import choose, grade_choice

FEW_VALUES = st.sampled_from([-np.inf, 0.0, 0.25, 0.5])


def wins_in_share_of_orders(values, target):
    """The definition: order ties by every permutation, count how often the target is last."""
    orders = list(permutations(range(len(values))))
    winners = [max(range(len(values)), key=lambda i: (values[i], order[i])) for order in orders]
    return winners.count(target) / len(orders)


@given(st.lists(FEW_VALUES, min_size=1, max_size=5), st.data())
def test_half_credit_is_the_mean_over_all_orders_of_ties(values, data):
    target = data.draw(st.integers(0, len(values) - 1))
    credit = choose(np.array([values]), np.array([target]))
    assert credit.half[0] == pytest.approx(wins_in_share_of_orders(values, target))
    others = values[:target] + values[target + 1 :]
    assert credit.strict[0] == all(values[target] > other for other in others)
    assert credit.chance[0] == 1 / len(values)


@given(st.lists(st.lists(FEW_VALUES, min_size=1, max_size=4), min_size=1, max_size=6))
def test_samples_of_different_width_are_graded_as_if_alone(score, rows):
    scores = [score("mcq", row, target=len(row) - 1) for row in rows]
    together = grade_choice(scores)
    for i, one in enumerate(scores):
        alone = grade_choice([one])
        assert together.strict[i] == alone.strict[0]
        assert together.half[i] == alone.half[0]
        assert together.chance[i] == alone.chance[0] == 1 / len(rows[i])


def test_a_tie_below_the_top_does_not_matter():
    credit = choose(np.array([[3.0, 1.0, 1.0], [0.0, 1.0, 1.0]]), np.array([0, 0]))
    assert credit.strict.tolist() == credit.half.tolist() == [1.0, 0.0]


def test_all_tied_is_a_miss_or_one_in_k():
    credit = choose(np.zeros((1, 4)), np.array([2]))
    assert (credit.strict[0], credit.half[0]) == (0.0, 0.25)


def test_the_smallest_difference_is_no_tie():
    above = np.nextafter(0.3, 1)
    credit = choose(np.array([[above, 0.3], [0.3, above]]), np.array([0, 0]))
    assert credit.strict.tolist() == credit.half.tolist() == [1.0, 0.0]
