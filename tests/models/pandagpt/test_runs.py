"""Commands with the words of conf/: scored, written, shared or apart."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ..assembled_runs import Rows, log_probs, same_scores_apart

pytestmark = pytest.mark.slow


@pytest.fixture
def evaluate(pandagpt: Path, evaluating: Callable[..., Any]) -> Callable[..., Rows]:
    """Evaluates two rows about each of two videos and returns the stored replies."""
    return evaluating({"a": 0, "b": 60}, pandagpt, "model=pandagpt_7b")


def test_options_are_scored(evaluate: Callable[..., Rows]) -> None:
    words = ("scorer=option_probability", "prompt=videobench/paper")
    shared = evaluate("shared", *words)
    reply = shared[0]["reply"]
    assert reply["prompt"].startswith("### Human: <Img><video></Img> ")
    assert reply["prompt"].endswith("\n### Assistant:")
    assert reply["visual_tokens"] == 1
    assert reply["frame_shape"][1] == 16
    assert len(set(log_probs(shared))) > 4, "two videos, alike in all but brightness"
    same_scores_apart(shared, evaluate, *words)


def test_a_question_is_answered(evaluate: Callable[..., Rows]) -> None:
    written = evaluate("written", "scorer=letters", "generation=short")
    assert all(row["reply"]["reply_tokens"] >= 1 for row in written)
    assert len({row["reply"]["text"] for row in written}) > 1
    assert not any("##" in row["reply"]["text"] for row in written)
