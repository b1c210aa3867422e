"""A checkpoint on disk, evaluated by a command: what is stored of each reply."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import vbench

FIXED = ("sampler=uniform_midpoints", "sampler.num_frames=3", "loader.num_workers=0")


@pytest.fixture
def evaluate(
    checkpoint: Callable[[str], Path],
    tmp_path: Path,
    write_grey: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
) -> Callable[..., list[dict[str, Any]]]:
    """Evaluates two questions about two videos and returns the stored replies."""
    rows = []
    for name, first in (("a", 0), ("b", 60)):
        write_grey(tmp_path / f"{name}.mp4", first)
        options = ["a circle", "a square", "a long story about the agent"]
        said = {"question": f"What is in {name}?", "options": options, "answer": "A"}
        pair = {"positive": "a circle", "negative": f"a square in {name}"}
        rows.append({"video": f"{name}.mp4", **said, **pair})
    (tmp_path / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)))
    monkeypatch.chdir(tmp_path)

    def run(name: str, *words: str) -> list[dict[str, Any]]:
        made = vbench.evaluate(
            "dataset=table", "dataset.file=rows.jsonl", "model=hf/vlm", "trainer=cpu",
            f"model.checkpoint={checkpoint('qwen2_vl')}", "logger=none", f"run_dir={name}",
            *(() if "sampler=native" in words else FIXED),
            *words,
        )  # fmt: skip
        assert made is not None
        return replies(made.path)

    return run


def replies(run: Path) -> list[dict[str, Any]]:
    shards = [pq.read_table(path).to_pylist() for path in sorted(run.glob("predictions/*.parquet"))]
    rows = [row for shard in shards for row in shard]
    return sorted((row for row in rows if row["kind"] == "reply"), key=lambda row: row["key"])


def values(rows: Sequence[dict[str, Any]]) -> list[list[float]]:
    return [row["reply"]["log_probs"] for row in rows]


def test_scores_and_texts_are_stored_with_what_it_takes_to_check_them(
    evaluate: Callable[..., list[dict[str, Any]]],
) -> None:
    scored = evaluate("scored", "scorer=option_probability")
    assert [row["status"] for row in scored] == ["ok", "ok"]
    reply = scored[0]["reply"]
    assert "<|vision_start|><|video_pad|><|vision_end|>" in reply["prompt"]
    assert len(reply["log_probs"]) == len(reply["token_ids"]) == 3
    assert reply["frame_shape"] == [4, 16, 24]  # three, the last twice: a temporal patch is two
    assert reply["visual_tokens"] == 2 * 2 * 3
    assert reply["dtype"] == "float32"
    written = evaluate("written", "scorer=letters", "generation=short")
    assert all(row["reply"]["finish_reason"] in ("stop", "length") for row in written)
    assert all(row["reply"]["reply_tokens"] <= 16 for row in written)
    again = evaluate("scored", "scorer=option_probability", "model.batch_size=1")
    assert values(again) == values(scored)  # nothing is asked twice


PAIRS = ("dataset.kind=pairs", "dataset.question=null", "dataset.answer=null")


@pytest.mark.parametrize("scorer", [("entailment", *PAIRS), ("option_probability",)])
def test_how_replies_are_generated_changes_no_score(
    evaluate: Callable[..., list[dict[str, Any]]], scorer: Sequence[str]
) -> None:
    def run(name: str, *words: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        rows = evaluate(name, "paths.cache=cache", *words)
        account: dict[str, Any] = json.loads(Path(name, "cache.json").read_text())["reply"]
        return account, rows

    words = (f"scorer={scorer[0]}", *scorer[1:])
    first, scored = run("one", *words, "generation=greedy")
    assert first["found"] == 0
    again, same = run("two", *words, "generation=sampled", "model.generation.seed=7")
    assert again == {"asked": first["asked"], "found": first["asked"], "missed": {}}
    assert [row["key"] for row in same] == [row["key"] for row in scored]
    assert values(same) == values(scored)
    if not scorer[1:]:  # what is written does depend on it
        run("three", "scorer=letters", "generation=short")
        other, _ = run(
            "four", "scorer=letters", "generation=short", "model.generation.max_new_tokens=9"
        )
        (why,) = other["missed"]
        assert (other["found"], why[:6]) == (0, "model:")


def test_blind_models_and_precision_change_what_is_asked(
    evaluate: Callable[..., list[dict[str, Any]]],
) -> None:
    scored = evaluate("seen", "scorer=option_probability")
    none = evaluate("none", "scorer=option_probability", "visual=none")
    black = evaluate("black", "scorer=option_probability", "visual=black")
    half = evaluate("half", "scorer=option_probability", "trainer.precision=bf16-true")
    assert {row["reply"]["visual_tokens"] for row in none} == {0}
    assert {row["reply"]["visual_tokens"] for row in black} == {12}
    assert {row["reply"]["dtype"] for row in half} == {"bfloat16"}
    everything = [*scored, *none, *black, *half]
    assert len({row["key"] for row in everything}) == len(everything)


def test_native_frames_and_decode_processes(
    evaluate: Callable[..., list[dict[str, Any]]],
) -> None:
    """The processor works in a process of its own, and three seconds at two a second are six."""
    words = ["scorer=option_probability", "loader.num_workers=1", "sampler=native"]
    rows = evaluate("native", *words)
    assert [row["status"] for row in rows] == ["ok", "ok"]
    assert {tuple(row["reply"]["frame_shape"]) for row in rows} == {(6, 16, 24)}
