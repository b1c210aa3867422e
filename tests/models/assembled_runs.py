"""Commands on a table of two rows about each video, and the replies that they store."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

import vbench

PAIRS = ("dataset.kind=pairs", "dataset.question=null", "dataset.answer=null")
CAPTIONS = ("a circle jumps", "a square jumps", "no circle jumps", "two circles")

Rows = list[dict[str, Any]]


def write_rows(folder: Path, write_grey: Callable[..., None], videos: Mapping[str, int]) -> None:
    """Writes rows.jsonl and its videos, each from its first level of grey on."""
    rows = []
    for name, first in videos.items():
        write_grey(folder / f"{name}.mp4", first)
        for right, wrong in (CAPTIONS[:2], CAPTIONS[2:]):
            said = {"question": f"What of {right}?", "options": list(CAPTIONS[:2]), "answer": "A"}
            rows.append({"video": f"{name}.mp4", "positive": right, "negative": wrong, **said})
    (folder / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)))


def replies(name: str, checkpoint: Path, *words: str) -> Rows:
    """Evaluates rows.jsonl of the current folder and returns the stored replies, by key."""
    made = vbench.evaluate(
        "dataset=table", "dataset.file=rows.jsonl", f"model.checkpoint={checkpoint}",
        "trainer=cpu", "loader.num_workers=0", "logger=none", f"run_dir={name}", *words,
    )  # fmt: skip
    assert made is not None
    shards = sorted(made.path.glob("predictions/*.parquet"))
    found = [row for shard in shards for row in pq.read_table(shard).to_pylist()]
    kept = [row for row in found if row["kind"] == "reply"]
    assert {row["status"] for row in kept} == {"ok"}
    return sorted(kept, key=lambda row: str(row["key"]))


def log_probs(rows: Rows) -> list[float]:
    return [value for row in rows for value in row["reply"]["log_probs"]]


def scores(name: str) -> set[float]:
    records = pq.read_table(f"{name}/records.parquet").to_pylist()
    return {score for row in records for score in row["scores"]}
