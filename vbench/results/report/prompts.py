"""What a run asked of its model about each sample, word for word, and what came back."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow.compute as pc

from vbench.records import Prediction
from vbench.results.samples import read_samples
from vbench.results.shards import read_shard
from vbench.results.store import merge, prediction_files


class Prompts:
    """The prompts and replies of one run.

    Args:
        folder: The run folder.

    Raises:
        RunError: It is damaged.
    """

    def __init__(self, folder: Path) -> None:
        rows = read_samples(folder, ("test", "sample_id", "requests")).to_pylist()
        self._requests = {(row["test"], row["sample_id"]): row["requests"] for row in rows}
        self._replies: dict[str, Prediction] = {}
        for shard in prediction_files(folder):
            for reply in read_shard(shard, pc.field("kind") == "reply"):
                merge(self._replies, reply)

    def of(self, sample: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Returns what was asked about a sample: all messages, and texts that a prompt changed.

        Args:
            sample: A row of samples.parquet.
        """
        told: list[dict[str, Any]] = []
        for request in self._requests.get((sample["test"], sample["sample_id"]), ()):
            reply = next((self._replies[k] for k in request["keys"] if k in self._replies), None)
            if request["render"] is None and request["text"] in sample["texts"]:
                continue
            one = _told(request, reply)
            if one not in told:
                told.append(one)
        return told


def _told(request: Mapping[str, Any], row: Prediction | None) -> dict[str, Any]:
    if row is None or row.reply is None:
        return {"text": request["text"], "system": request["system"]}
    reply = row.reply
    rendered = reply.prompt or None
    return {
        "clips": request["clips"],
        "text": None if rendered else request["text"],
        "system": None if rendered else request["system"],
        "prompt": rendered,
        "words": list(request["continuations"]),
        "log_probs": _finite(reply.log_probs),
        "reply": reply.text,
        "status": None if row.status == "ok" else row.status,
        "reason": row.reason,
        "tokens": [reply.prompt_tokens, reply.visual_tokens, reply.reply_tokens],
        "frame_shape": list(reply.frame_shape),
        "finish": reply.finish_reason,
    }


def _finite(values: Sequence[float]) -> list[float | None]:
    return [float(f"{value:.5g}") if math.isfinite(value) else None for value in values]
