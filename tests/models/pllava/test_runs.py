"""Commands with the words of conf/: scored, written, shared or apart."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import vbench

PAIRS = ("dataset.kind=pairs", "dataset.question=null", "dataset.answer=null")
CAPTIONS = ("a circle jumps", "a square jumps", "no circle jumps", "two circles")


@pytest.fixture
def evaluate(
    pllava: Path,
    tmp_path: Path,
    write_grey: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
) -> Callable[..., list[dict[str, Any]]]:
    """Evaluates two rows about a video and returns the stored replies."""
    write_grey(tmp_path / "a.mp4")
    rows = []
    for right, wrong in (CAPTIONS[:2], CAPTIONS[2:]):
        said = {"question": f"What of {right}?", "options": list(CAPTIONS[:2]), "answer": "A"}
        rows.append({"video": "a.mp4", "positive": right, "negative": wrong, **said})
    (tmp_path / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)))
    monkeypatch.chdir(tmp_path)

    def run(name: str, *words: str) -> list[dict[str, Any]]:
        made = vbench.evaluate(
            "dataset=table", "dataset.file=rows.jsonl", "model=pllava_7b",
            f"model.checkpoint={pllava}", "trainer=cpu", "loader.num_workers=0", "logger=none",
            "sampler.num_frames=4", f"run_dir={name}", *words,
        )  # fmt: skip
        assert made is not None
        shards = sorted(made.path.glob("predictions/*.parquet"))
        found = [row for shard in shards for row in pq.read_table(shard).to_pylist()]
        replies = [row for row in found if row["kind"] == "reply"]
        assert {row["status"] for row in replies} == {"ok"}
        return sorted(replies, key=lambda row: str(row["key"]))

    return run


def test_a_caption_is_scored_as_velociti_did(
    evaluate: Callable[..., list[dict[str, Any]]],
) -> None:
    words = ("prompt=velociti_v1_pllava", "scorer=entailment", *PAIRS)
    shared = evaluate("shared", *words)
    reply = shared[0]["reply"]
    assert reply["prompt"].startswith("USER:<image> Carefully watch")
    assert reply["prompt"].endswith(" ASSISTANT:")
    assert (reply["visual_tokens"], reply["frame_shape"]) == (2304, [4, 48, 48])
    records = pq.read_table("shared/records.parquet").to_pylist()
    found = {score for row in records for score in row["scores"]}
    assert len(found) == 4
    assert all(0 < score < 1 for score in found)
    yes, no = reply["log_probs"]
    assert any(math.isclose(1 / (1 + math.exp(no - yes)), s, rel_tol=1e-6) for s in found)
    apart = evaluate("apart", "model.prefix.strategy=full", "fresh=true", *words)
    for one, other in zip(shared, apart, strict=True):
        assert one["reply"]["log_probs"] == pytest.approx(other["reply"]["log_probs"], abs=1e-4)


def test_a_question_is_answered(evaluate: Callable[..., list[dict[str, Any]]]) -> None:
    written = evaluate("written", "scorer=letters", "model.generation.max_new_tokens=3")
    assert written[0]["reply"]["prompt"].startswith("USER: <image>\n")
    assert written[0]["reply"]["prompt"].endswith(" ASSISTANT:")
    assert all(row["reply"]["reply_tokens"] >= 1 for row in written)
    assert any(row["reply"]["text"] for row in written)
