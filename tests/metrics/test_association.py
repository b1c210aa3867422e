from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vbench.errors import DataError
from vbench.metrics.association import CHANCE, associate, grade_association

SCORES = st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=4, max_size=4)


def grades(a, b, c, d):
    """VELOCITI §4.4 in plain words; a, d are the right pairs, rows are clips."""
    t2v, v2t = [a > c, d > b], [a > b, d > c]
    return {
        "independent_t2v": sum(t2v) / 2,
        "independent_v2t": sum(v2t) / 2,
        "matching_t2v": float(all(t2v)),
        "matching_v2t": float(all(v2t)),
        "group": float(all(t2v) and all(v2t)),
    }


def mean_over_orders(values):
    """Ranks the four scores under every order of ties, grades the ranks, and averages."""
    graded = []
    for order in permutations(range(4)):
        ascending = sorted(range(4), key=lambda i: (values[i], order[i]))
        graded.append(grades(*(ascending.index(i) for i in range(4))))
    return {name: np.mean([one[name] for one in graded]) for name in CHANCE}


@given(SCORES)
def test_credits_follow_the_definitions(values):
    credits_ = associate(np.array(values).reshape(1, 2, 2))
    strict, half = grades(*values), mean_over_orders(values)
    assert list(credits_) == list(CHANCE)
    for name, credit in credits_.items():
        assert credit.strict[0] == strict[name]
        assert credit.half[0] == pytest.approx(half[name], abs=1e-12)


@given(SCORES)
def test_half_credit_exceeds_strict_only_where_a_tie_decides(values):
    for credit in associate(np.array(values).reshape(1, 2, 2)).values():
        assert credit.half[0] >= credit.strict[0]
        if len(set(values)) == 4:
            assert credit.half[0] == credit.strict[0]


def test_chance_is_the_mean_over_the_orders_of_four_different_scores():
    orders = np.array(list(permutations(range(4))), dtype=float).reshape(-1, 2, 2)
    for name, credit in associate(orders).items():
        assert credit.strict.mean() == pytest.approx(CHANCE[name], abs=1e-12)
        assert credit.chance.tolist() == [CHANCE[name]] * 24


def test_a_constant_scorer_gets_nothing_or_exactly_chance():
    for name, credit in associate(np.full((3, 2, 2), 0.7)).items():
        assert credit.strict.tolist() == [0.0] * 3
        assert credit.half.tolist() == [CHANCE[name]] * 3


def test_many_samples_are_graded_as_if_alone():
    values = np.random.default_rng(0).integers(0, 3, (50, 2, 2)).astype(float)
    together = associate(values)
    for i in range(50):
        for name, credit in associate(values[i : i + 1]).items():
            assert together[name].half[i] == credit.half[0]
            assert together[name].strict[i] == credit.strict[0]


def test_rows_are_clips(score):
    # Caption 0 prefers clip 0 and caption 1 clip 1; both clips prefer caption 0.
    one = [score("match", [5, 1, 4, 2])]
    assert grade_association(one, "matching_t2v").strict[0] == 1
    assert grade_association(one, "matching_v2t").strict[0] == 0


def test_other_shapes_are_refused(score):
    from dataclasses import replace

    one = score("match", [1, 2, 3, 4])
    wide = replace(one, sample=replace(one.sample, texts=("a", "b", "c", "d")))
    with pytest.raises(DataError, match="2 clips x 4 texts"):
        grade_association([wide], "group")
