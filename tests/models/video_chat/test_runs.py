"""Commands with the words of conf/: scored and written."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ..assembled_runs import Rows, log_probs, same_scores_apart


@pytest.fixture
def evaluate(video_chat: Path, evaluating: Callable[..., Any]) -> Callable[..., Rows]:
    """Evaluates two rows about a video and returns the stored replies."""
    return evaluating({"a": 0}, video_chat, "model=video_chat_7b")


OPTIONS = ("scorer=option_probability", "prompt=videobench/paper")


def test_options_are_scored(evaluate: Callable[..., Rows]) -> None:
    found = evaluate("scored", *OPTIONS)
    reply = found[0]["reply"]
    assert reply["prompt"].startswith("###Human: <VideoHere>###Human: ")
    assert reply["prompt"].endswith("\n###Assistant:")
    assert (reply["visual_tokens"], reply["frame_shape"]) == (7, [8, 8, 8])
    assert len(set(log_probs(found))) == 4


@pytest.mark.slow
def test_options_scored_apart_have_the_same_scores(evaluate: Callable[..., Rows]) -> None:
    same_scores_apart(evaluate("shared", *OPTIONS), evaluate, *OPTIONS)


@pytest.mark.slow
def test_a_question_is_answered(evaluate: Callable[..., Rows]) -> None:
    written = evaluate("written", "scorer=letters", "generation=short")
    assert all(row["reply"]["reply_tokens"] >= 1 for row in written)
    assert all("###" not in row["reply"]["text"] for row in written)
    assert any(row["reply"]["text"] for row in written)
