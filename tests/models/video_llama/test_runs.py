"""Commands with the words of conf/: scored, written, cut where a reply ends."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from vbench.models.video_llama.processor import VideoLlamaProcessor

from ..assembled_runs import Rows, log_probs, same_scores_apart


@pytest.fixture
def evaluate(video_llama: Path, evaluating: Callable[..., Any]) -> Callable[..., Rows]:
    """Evaluates two rows about a video and returns the stored replies."""
    return evaluating({"a": 0}, video_llama, "model=video_llama_7b", "sampler.num_frames=3")


OPTIONS = ("scorer=option_probability", "prompt=videobench/paper")


def test_options_are_scored(evaluate: Callable[..., Rows]) -> None:
    found = evaluate("scored", *OPTIONS)
    reply = found[0]["reply"]
    assert reply["prompt"].startswith("You are able to understand the visual content")
    assert "###Human: <ImageHere> " in reply["prompt"]
    assert reply["prompt"].endswith("###Assistant:")
    assert (reply["visual_tokens"], reply["frame_shape"]) == (5, [3, 8, 8])
    assert len(set(log_probs(found))) == 4


@pytest.mark.slow
def test_options_scored_apart_have_the_same_scores(evaluate: Callable[..., Rows]) -> None:
    same_scores_apart(evaluate("shared", *OPTIONS), evaluate, *OPTIONS)


@pytest.mark.slow
def test_a_question_is_answered_up_to_the_text_that_ends_it(
    evaluate: Callable[..., Rows], monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ("scorer=letters", "generation=short")
    written = evaluate("written", *words)
    assert all(row["reply"]["finish_reason"] == "length" for row in written)
    whole = max((row["reply"]["text"] for row in written), key=len)
    end = whole[len(whole) // 2 :][:3]
    monkeypatch.setattr(VideoLlamaProcessor, "stop_texts", (end,))
    cut = evaluate("cut", *words)
    assert {row["key"] for row in cut}.isdisjoint(row["key"] for row in written)
    said = {row["reply"]["prompt"]: row["reply"]["text"] for row in written}
    for reply in (row["reply"] for row in cut):
        assert reply["text"] == said[reply["prompt"]].partition(end)[0].strip()
        assert reply["finish_reason"] == ("stop" if end in said[reply["prompt"]] else "length")
    assert any(row["reply"]["finish_reason"] == "stop" for row in cut)
