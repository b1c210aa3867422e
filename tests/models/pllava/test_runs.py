"""Commands with the words of conf/: scored, written, shared or apart."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import pytest

from ..assembled_runs import PAIRS, Rows, log_probs, replies, scores, write_rows


@pytest.fixture
def evaluate(
    pllava: Path, tmp_path: Path, write_grey: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Rows]:
    """Evaluates two rows about a video and returns the stored replies."""
    write_rows(tmp_path, write_grey, {"a": 0})
    monkeypatch.chdir(tmp_path)
    shown = ("model=pllava_7b", "sampler.num_frames=4")
    return lambda name, *words: replies(name, pllava, *shown, *words)


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
    apart = evaluate("apart", "model.prefix.strategy=full", "fresh=true", *words)
    assert log_probs(apart) == pytest.approx(log_probs(shared), abs=1e-4)


def test_a_question_is_answered(evaluate: Callable[..., Rows]) -> None:
    written = evaluate("written", "scorer=letters", "model.generation.max_new_tokens=3")
    assert written[0]["reply"]["prompt"].startswith("USER: <image>\n")
    assert written[0]["reply"]["prompt"].endswith(" ASSISTANT:")
    assert all(row["reply"]["reply_tokens"] >= 1 for row in written)
    assert any(row["reply"]["text"] for row in written)
