"""Commands with the words of conf/: options scored, captions scored, replies written."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ..assembled_runs import PAIRS, Rows, log_probs, same_scores_apart, scores
from .conftest import Places


@pytest.fixture
def evaluate(chatgpt: Places, evaluating: Callable[..., Any]) -> Callable[..., Rows]:
    """Evaluates two rows about each of two videos and returns the stored replies."""
    return evaluating({"a": 0, "b": 60}, chatgpt.base, "model=video_chatgpt_7b", chatgpt.words[1])


def test_options_are_scored(evaluate: Callable[..., Rows]) -> None:
    """Video-Bench's probability, which is published for this model alone."""
    found = evaluate("options", "scorer=option_probability", "prompt=videobench/paper")
    reply = found[0]["reply"]
    assert reply["prompt"].endswith("\n<vid_start><vid_patch><vid_end> ASSISTANT:")
    assert (reply["visual_tokens"], reply["frame_shape"]) == (116, [29, 16, 16])
    assert [len(row["reply"]["log_probs"]) for row in found] == [2] * 4
    assert len(set(log_probs(found))) == 8
    told = json.loads(json.loads(Path("options/environment.json").read_text())["model"])
    hashes = [told[part] for part in ("checkpoint", "vision", "adapter")]
    assert all(part.startswith("sha256:") for part in hashes)
    assert len(set(hashes)) == 3


@pytest.mark.slow
def test_captions_are_scored_and_questions_answered(evaluate: Callable[..., Rows]) -> None:
    shared = evaluate("shared", "scorer=entailment", *PAIRS)
    yes, no = shared[0]["reply"]["log_probs"]
    assert any(
        math.isclose(1 / (1 + math.exp(no - yes)), score, rel_tol=1e-6)
        for score in scores("shared")
    )
    same_scores_apart(shared, evaluate, "scorer=entailment", *PAIRS)
    written = evaluate("written", "scorer=letters", "model.generation.max_new_tokens=3")
    assert all(row["reply"]["reply_tokens"] >= 1 for row in written)
    assert any(row["reply"]["text"] for row in written)
