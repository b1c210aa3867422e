"""Commands with the words of conf/: scored, generated, merged, shared or apart."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ..assembled_runs import PAIRS, Rows, same_scores_apart, scores


@pytest.fixture
def evaluate(owl: Path, evaluating: Callable[..., Any]) -> Callable[..., Rows]:
    """Evaluates two rows about each of two videos and returns the stored replies."""
    return evaluating({"a": 0, "b": 60}, owl)


def test_a_caption_is_scored_as_velociti_did(evaluate: Callable[..., Rows], owl_con: Path) -> None:
    words = ("prompt=velociti_v1_owl", "scorer=entailment", *PAIRS)
    plain = evaluate("shared", "model=mplug_owl_video_7b", *words)
    reply = plain[0]["reply"]
    assert "questions.\nHuman: <|video|>\nHuman: Carefully watch" in reply["prompt"]
    assert reply["prompt"].endswith("\nAI: ")
    assert (reply["visual_tokens"], reply["frame_shape"]) == (5, [4, 16, 16])
    found = scores("shared")
    assert all(0 < score < 1 for score in found)
    yes, no = reply["log_probs"]
    assert any(math.isclose(1 / (1 + math.exp(no - yes)), s, rel_tol=1e-6) for s in found)
    same_scores_apart(plain, evaluate, "model=mplug_owl_video_7b", *words)
    merged = evaluate(
        "merged", "model=owl_con_7b", f"model.adapter.checkpoint={owl_con}",
        "model.adapter.alpha=3", *words,
    )  # fmt: skip
    assert merged[0]["reply"]["frame_shape"] == [29, 16, 16]  # distinct among 32 of 30
    assert {row["key"] for row in merged}.isdisjoint(row["key"] for row in plain)


def test_a_question_is_answered(evaluate: Callable[..., Rows]) -> None:
    written = evaluate("written", "model=mplug_owl_video_7b", "scorer=letters", "generation=short")
    assert written[0]["reply"]["prompt"].endswith("\nAI: ")
    assert all(row["reply"]["reply_tokens"] >= 1 for row in written)
    assert len({row["reply"]["text"] for row in written}) > 1
