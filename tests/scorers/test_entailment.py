"""P(Yes) among Yes and No, from a reply's two log-probabilities."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vbench.prompts import Template
from vbench.records import Answer, Clip, Continuation, Reply, Sample
from vbench.scorers.entailment import Entailment, bf16, bf16_share, sigmoid
from vbench.scorers.replies import Tokens

CLIPS = (Clip("a", "a.mp4", 0.0, 4.0), Clip("a", "a.mp4", 6.0, 10.0))
PAIR = Sample("chrono", "1", "v2t", "yt", CLIPS[:1], ("A cat sits.", "A dog sits."), 0)
ASK = Template("Is it so? {caption}")


def told(*log_probs: float, ids: tuple[tuple[int, ...], ...] = ()) -> Answer:
    return Answer("ok", reply=Reply(log_probs=log_probs, token_ids=ids))


def test_requests_are_clips_by_captions_and_ask_for_both_words() -> None:
    sample = Sample("ivat", "1", "match", "yt", CLIPS, ("one", "two"))
    requests = Entailment(yes_word="yes", no_word="no").requests(sample, ASK)
    asked = [(r.clips[0], r.message.text) for r in requests if r.message]
    assert asked == [(clip, f"Is it so? {text}") for clip in CLIPS for text in ("one", "two")]
    assert {r.continuations for r in requests} == {(Continuation("yes"), Continuation("no"))}
    assert {r.task for r in requests} == {Entailment.task}


def test_the_score_is_yes_among_yes_and_no() -> None:
    answers = [told(math.log(0.6), math.log(0.2)), told(math.log(0.001), math.log(0.003))]
    score = Entailment().score(PAIR, answers)
    assert score.status == "ok"
    assert score.values == pytest.approx((0.75, 0.25), rel=1e-12)


def test_tiny_probabilities_are_still_told_apart() -> None:
    """Where softmax underflows, 0 / 0 or a tie would be published."""
    score = Entailment().score(PAIR, [told(-900.0, -901.0), told(-900.0, -900.5)])
    assert score.values == pytest.approx((sigmoid(1.0), sigmoid(0.5)))


@pytest.mark.parametrize(
    ("tokens", "log_probs", "ids", "expected"),
    [
        ("sum", (0.2, 0.3, 0.1, 0.1), ((1,), (2,), (3,), (4,)), 0.5 / 0.7),
        ("sum", (0.2, 0.2, 0.1, 0.3), ((1,), (1,), (3,), (4,)), 0.2 / 0.6),
        ("sum", (0.2, 0.3, 0.1, 0.1), (), 0.5 / 0.7),
        ("space", (0.3, 0.1), ((2,), (4,)), 0.75),
    ],
)
def test_spellings_are_added_once_each(
    tokens: Tokens, log_probs: tuple[float, ...], ids: tuple[tuple[int, ...], ...], expected: float
) -> None:
    answers = [told(*map(math.log, log_probs), ids=ids)] * 2
    scorer = Entailment(tokens=tokens)
    assert len(scorer.requests(PAIR, ASK)[0].continuations) == len(log_probs)
    assert scorer.score(PAIR, answers).values == pytest.approx((expected, expected), rel=1e-12)


def test_a_word_of_untold_probability_leaves_the_sample_unparsed() -> None:
    score = Entailment().score(PAIR, [told(-0.1, -3.0), told(-0.1, math.nan)])
    assert (score.status, score.values, score.rule) == ("unparsed", (), "no_probability")
    assert "probability of No" in score.reason


def test_a_failed_request_leaves_the_sample_with_its_status() -> None:
    score = Entailment().score(PAIR, [told(-0.1, -3.0), Answer("overlong", reason="5000 tokens")])
    assert (score.status, score.reason, score.values) == ("overlong", "5000 tokens", ())


def torch_share(yes: float, no: float) -> float:
    import torch

    p = torch.tensor([yes, no]).exp().bfloat16()
    return float(p[0] / (p[0] + p[1]))


@settings(derandomize=True)  # near a midpoint, another exp() may round the other way
@given(st.floats(-80, 0, width=32), st.floats(-80, 0, width=32))
def test_bf16_arithmetic_is_torchs(yes: float, no: float) -> None:
    assert bf16_share(yes, no) == torch_share(yes, no)


@given(st.floats(0, 1, width=32))
def test_bf16_rounds_as_torch_does(value: float) -> None:
    import torch

    assert bf16(value) == float(torch.tensor(value).bfloat16())


def test_bf16_ties_where_fp32_does_not() -> None:
    """Owl-Con's published scores (VideoCon, atphard_scores.csv) have 66 distinct values."""
    rng = np.random.default_rng(1)
    captions = [(math.log(p), math.log1p(-p)) for p in rng.uniform(0.97, 0.999, 40)]
    coarse = Entailment(arithmetic="bf16")
    answers = [told(*one) for one in captions]
    sample = Sample("t", "1", "v2t", "yt", CLIPS[:1], tuple(map(str, range(40))), 0)
    assert len(set(Entailment().score(sample, answers).values)) == 40
    assert len(set(coarse.score(sample, answers).values)) < 10
    gone = coarse.score(PAIR, [told(-200.0, -300.0), told(-1.0, -1.0)])
    assert (gone.status, gone.rule) == ("unparsed", "no_probability")
