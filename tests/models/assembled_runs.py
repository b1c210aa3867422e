"""Models of assembled files at work: loaded and asked, or told by commands about a table."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import torch
from torch import Tensor

import vbench
from vbench.checkpoints import find_checkpoint
from vbench.models.vlm.lora import Adapter
from vbench.models.vlm.prefix import Scored, score
from vbench.models.vlm.weights import Loading, load_weights, read_config

PAIRS = ("dataset.kind=pairs", "dataset.question=null", "dataset.answer=null")
CAPTIONS = ("a circle jumps", "a square jumps", "no circle jumps", "two circles")

WAYS = ("full", "features", "loop", "packed", "auto")

Rows = list[dict[str, Any]]


def load(folder: Path, precision: str = "32-true", **adapter: Any) -> Any:
    """Loads a model; `adapter`: what `model.adapter` says, None where it says nothing."""
    checkpoint = find_checkpoint(str(folder))
    said = {name: value for name, value in adapter.items() if value is not None}
    read_config(checkpoint, remote_code=False)
    change = Adapter.of(said, checkpoint) if said else None
    return load_weights(checkpoint, Loading(precision, adapter=change))


def noise(count: int, side: int, rows: int = 1) -> Tensor:
    """Draws videos (rows, count, 3, side, side), others for another count."""
    return torch.randn(rows, count, 3, side, side, generator=torch.Generator().manual_seed(count))


def two_questions(*video: int) -> list[Scored]:
    """Of two replies each, about a video of these tokens."""
    prompts = [(1, 300, 301, *video, 310 + number, 320, 331 + number) for number in range(2)]
    return [Scored(prompt, ((340,), (341, 342))) for prompt in prompts]


def sharing_changes_no_score(model: Any, questions: Sequence[Scored], pixels: Tensor) -> None:
    """Asserts that each way to share a prefix scores, within 1e-4, as the way that shares none."""
    video = {"pixel_values_videos": pixels}
    found = {
        way: [
            part.log_prob for each in score(model, questions, video, strategy=way) for part in each
        ]
        for way in WAYS
    }
    assert max(found["full"]) - min(found["full"]) > 1
    for values in found.values():
        assert values == pytest.approx(found["full"], abs=1e-4)


def shapes_of(kind: Callable[[Any], torch.nn.Module], config: Any) -> dict[str, tuple[int, ...]]:
    """Returns the shape of each weight of a model of this size, and holds none of them."""
    with torch.device("meta"):
        weights = kind(config).state_dict()
    return {name: tuple(value.shape) for name, value in weights.items()}


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


def same_scores_apart(shared: Rows, evaluate: Callable[..., Rows], *words: str) -> None:
    """Asserts that the same words score, within 1e-4, the same where no prefix is shared."""
    apart = evaluate("apart", "model.prefix.strategy=full", "fresh=true", *words)
    assert log_probs(apart) == pytest.approx(log_probs(shared), abs=1e-4)


def scores(name: str) -> set[float]:
    records = pq.read_table(f"{name}/records.parquet").to_pylist()
    return {score for row in records for score in row["scores"]}
