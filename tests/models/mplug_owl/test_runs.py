"""Commands with the words of conf/: scored, generated, merged, shared or apart."""

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
    owl: Path, tmp_path: Path, write_grey: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., list[dict[str, Any]]]:
    """Evaluates two rows about each of two videos and returns the stored replies."""
    rows = []
    for name, first in (("a", 0), ("b", 60)):
        write_grey(tmp_path / f"{name}.mp4", first)
        for right, wrong in (CAPTIONS[:2], CAPTIONS[2:]):
            said = {"question": f"What of {right}?", "options": list(CAPTIONS[:2]), "answer": "A"}
            rows.append({"video": f"{name}.mp4", "positive": right, "negative": wrong, **said})
    (tmp_path / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)))
    monkeypatch.chdir(tmp_path)

    def run(name: str, *words: str) -> list[dict[str, Any]]:
        made = vbench.evaluate(
            "dataset=table", "dataset.file=rows.jsonl", f"model.checkpoint={owl}", "trainer=cpu",
            "loader.num_workers=0", "logger=none", f"run_dir={name}", *words,
        )  # fmt: skip
        assert made is not None
        shards = sorted(made.path.glob("predictions/*.parquet"))
        found = [row for shard in shards for row in pq.read_table(shard).to_pylist()]
        replies = [row for row in found if row["kind"] == "reply"]
        assert {row["status"] for row in replies} == {"ok"}
        return sorted(replies, key=lambda row: str(row["key"]))

    return run


def log_probs(rows: list[dict[str, Any]]) -> list[float]:
    return [value for row in rows for value in row["reply"]["log_probs"]]


def test_a_caption_is_scored_as_velociti_did(
    evaluate: Callable[..., list[dict[str, Any]]], owl_con: Path
) -> None:
    words = ("prompt=velociti_v1_owl", "scorer=entailment", *PAIRS)
    plain = evaluate("shared", "model=mplug_owl_video_7b", *words)
    reply = plain[0]["reply"]
    assert "questions.\nHuman: <|video|>\nHuman: Carefully watch" in reply["prompt"]
    assert reply["prompt"].endswith("\nAI: ")
    assert (reply["visual_tokens"], reply["frame_shape"]) == (5, [4, 16, 16])
    records = pq.read_table("shared/records.parquet").to_pylist()
    assert all(0 < score < 1 for row in records for score in row["scores"])
    yes, no = reply["log_probs"]
    found = {score for row in records for score in row["scores"]}
    assert any(math.isclose(1 / (1 + math.exp(no - yes)), s, rel_tol=1e-6) for s in found)
    apart = evaluate(
        "apart", "model=mplug_owl_video_7b", "model.prefix.strategy=full", "fresh=true", *words
    )
    assert log_probs(apart) == pytest.approx(log_probs(plain), abs=1e-4)
    merged = evaluate(
        "merged", "model=owl_con_7b", f"model.adapter.checkpoint={owl_con}",
        "model.adapter.alpha=3", *words,
    )  # fmt: skip
    assert merged[0]["reply"]["frame_shape"] == [29, 16, 16]  # distinct among 32 of 30
    assert {row["key"] for row in merged}.isdisjoint(row["key"] for row in plain)


def test_a_question_is_answered(evaluate: Callable[..., list[dict[str, Any]]]) -> None:
    written = evaluate("written", "model=mplug_owl_video_7b", "scorer=letters", "generation=short")
    assert written[0]["reply"]["prompt"].endswith("\nAI: ")
    assert all(row["reply"]["reply_tokens"] >= 1 for row in written)
    assert len({row["reply"]["text"] for row in written}) > 1
