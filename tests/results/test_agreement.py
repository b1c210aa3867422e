import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vbench.results.agreement import cohen_kappa, kappas, krippendorff_alpha

# Krippendorff, "Computing Krippendorff's Alpha-Reliability" (2011), example C: nominal alpha 0.743.
KRIPPENDORFF = {
    "A": "1 2 3 3 2 1 4 1 2 . . .",
    "B": "1 2 3 3 2 2 4 1 2 5 . 3",
    "C": ". 3 3 3 2 3 4 2 2 5 1 .",
    "D": "1 2 3 3 2 4 4 1 2 5 1 .",
}


def test_krippendorffs_own_example() -> None:
    answers: dict[int, dict[str, str]] = {}
    for person, row in KRIPPENDORFF.items():
        for item, value in enumerate(row.split()):
            if value != ".":
                answers.setdefault(item, {})[person] = value
    assert krippendorff_alpha(answers) == pytest.approx(0.743, abs=5e-4)


def test_cohens_textbook_table() -> None:
    pairs = [("y", "y")] * 20 + [("y", "n")] * 5 + [("n", "y")] * 10 + [("n", "n")] * 15
    assert cohen_kappa(pairs) == pytest.approx(0.4)


def test_what_has_no_agreement_to_speak_of() -> None:
    assert krippendorff_alpha({}) is None
    assert krippendorff_alpha({1: {"a": "x"}, 2: {"b": "y"}}) is None
    assert krippendorff_alpha({1: {"a": "x", "b": "x"}}) is None
    assert cohen_kappa([]) is None
    assert cohen_kappa([("x", "x")] * 3) is None


def test_kappa_of_every_two_who_share_items() -> None:
    answers = {1: {"a": "x", "b": "x"}, 2: {"a": "y", "b": "x", "c": "y"}, 3: {"d": "x"}}
    found = kappas(answers)
    assert set(found) == {("a", "b"), ("a", "c"), ("b", "c")}
    assert found["a", "b"] == pytest.approx(0.0)


@given(st.integers(0, 10**6))
def test_alpha_is_near_zero_for_dice_and_one_for_twins(seed: int) -> None:
    dice = random.Random(seed)
    random_ones = {i: {p: dice.choice("AB") for p in "abc"} for i in range(400)}
    alpha = krippendorff_alpha(random_ones)
    assert alpha is not None
    assert abs(alpha) < 0.15
    twins = {i: dict.fromkeys("abc", dice.choice("AB")) for i in range(50)}
    assert krippendorff_alpha(twins) == pytest.approx(1.0)
