"""Commands with the words of conf/: scored, written, shared or apart."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ..assembled_runs import PAIRS, Rows, same_scores_apart, scores


@pytest.fixture
def evaluate(pllava: Path, evaluating: Callable[..., Any]) -> Callable[..., Rows]:
    """Evaluates two rows about a video and returns the stored replies."""
    return evaluating({"a": 0}, pllava, "model=pllava_7b", "sampler.num_frames=4")


def test_a_caption_is_scored_as_velociti_did(
    evaluate: Callable[..., Rows],
) -> None:
    words = ("prompt=velociti_v1_pllava", "scorer=entailment", *PAIRS)
    shared = evaluate("shared", *words)
    reply = shared[0]["reply"]
    assert reply["prompt"].startswith("USER:<image> Carefully watch")
    assert reply["prompt"].endswith(" ASSISTANT:")
    assert (reply["visual_tokens"], reply["frame_shape"]) == (2304, [4, 48, 48])
    found = scores("shared")
    assert len(found) == 4
    assert all(0 < score < 1 for score in found)
    yes, no = reply["log_probs"]
    assert any(math.isclose(1 / (1 + math.exp(no - yes)), s, rel_tol=1e-6) for s in found)
    same_scores_apart(shared, evaluate, *words)


def test_a_question_is_answered(evaluate: Callable[..., Rows]) -> None:
    written = evaluate("written", "scorer=letters", "model.generation.max_new_tokens=3")
    assert written[0]["reply"]["prompt"].startswith("USER: <image>\n")
    assert written[0]["reply"]["prompt"].endswith(" ASSISTANT:")
    assert all(row["reply"]["reply_tokens"] >= 1 for row in written)
    assert any(row["reply"]["text"] for row in written)
