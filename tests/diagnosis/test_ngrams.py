"""The classifier against a general optimiser, and against leaks between its folds."""

from __future__ import annotations

import random

import numpy as np
import pytest
from scipy import optimize

from vbench.diagnosis.ngrams import PENALTY, _fit, cross_validated, features
from vbench.records import Clip, Sample


def sample(i: int, texts: tuple[str, ...], target: int, source: str, kind: str = "mcq") -> Sample:
    clip = Clip(source, f"{source}.mp4")
    return Sample("t", str(i), kind, source, (clip,), texts, target)  # type: ignore[arg-type]


def test_weights_minimise_the_penalised_conditional_likelihood() -> None:
    dice = random.Random(0)
    words = ["red", "blue", "green"]
    options = [[set(dice.sample(words, dice.randint(1, 2))) for _ in range(3)] for _ in range(40)]
    targets = [dice.randrange(3) for _ in options]
    fitted = _fit(options, targets)

    def loss(weights: np.ndarray) -> float:
        known = dict(zip(sorted(words), weights, strict=True))
        total = PENALTY / 2 * float(weights @ weights)
        for own, target in zip(options, targets, strict=True):
            scores = np.array([sum(known[word] for word in option) for option in own])
            total -= scores[target] - np.log(np.exp(scores).sum())
        return total

    best = optimize.minimize(loss, np.zeros(3), method="Nelder-Mead", options={"xatol": 1e-7})
    assert [fitted.weights[word] for word in sorted(words)] == pytest.approx(best.x, abs=1e-3)


def test_what_is_learned_is_told_of_other_sources() -> None:
    dice = random.Random(0)
    names = [f"word{i}" for i in range(9)]
    made = []
    for i in range(60):
        target = dice.randrange(2)
        texts = [f"{dice.choice(names)} walks", f"{dice.choice(names)} walks"]
        texts[target] = texts[target].replace("walks", "runs")
        made.append(sample(i, tuple(texts), target, f"s{i // 3}"))
    scores = cross_validated(made)
    assert scores is not None
    assert all(own[int(s.target or 0)] == max(own) for s, own in zip(made, scores, strict=True))
    assert cross_validated(made) == scores


def test_a_source_tells_nothing_of_itself() -> None:
    """Each source has a word of its own in all its right texts: useless elsewhere."""
    made = []
    for i in range(60):
        texts = [f"other{i // 6}", f"other{i // 6}"]
        texts[i % 2] = f"word{i // 6}"
        made.append(sample(i, tuple(texts), i % 2, f"s{i // 6}"))
    scores = cross_validated(made)
    assert scores is not None
    lead = [own[int(s.target or 0)] - own[1 - int(s.target or 0)]
            for s, own in zip(made, scores, strict=True)]  # fmt: skip
    assert all(abs(value) < 1e-9 for value in lead)


def test_captions_known_by_heart_do_not_count() -> None:
    """Each caption is right of one clip and wrong of the next, as control sets are made."""
    dice = random.Random(0)
    words = [f"w{i}" for i in range(40)]
    captions = [" ".join(dice.sample(words, 6)) for _ in range(100)]
    made = []
    for i, caption in enumerate(captions):
        texts, target = [caption, captions[i - 1]], i % 2
        made.append(sample(i, tuple(texts[:: 1 - 2 * target]), target, f"s{i}", "v2t"))
    scores = cross_validated(made)
    assert scores is not None
    right = np.mean([own[int(s.target or 0)] > own[1 - int(s.target or 0)]
                     for s, own in zip(made, scores, strict=True)])  # fmt: skip
    assert 0.35 < right < 0.65


def test_one_source_leaves_nothing_to_learn_from() -> None:
    assert cross_validated([sample(i, ("a", "b"), 0, "only") for i in range(9)]) is None
    (first, second) = [sample(i, ("a", "b"), 0, f"s{i}") for i in range(2)]
    assert cross_validated([first, second]) == [(0.0, 0.0)] * 2


def test_features_are_words_and_neighbours() -> None:
    assert features("") == {"< >"}
    assert features("A a") == {"a", "< a", "a a", "a >"}
