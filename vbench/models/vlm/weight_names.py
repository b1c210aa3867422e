"""The names of a checkpoint's weights, read without the weights."""

from __future__ import annotations

import json
from pathlib import Path

import torch

from vbench.checkpoints import Checkpoint
from vbench.models.loading import explained, quietly

_INDICES = ("model.safetensors.index.json", "pytorch_model.bin.index.json")
_WHOLE = ("model.safetensors", "pytorch_model.bin")


def weight_names(checkpoint: Checkpoint) -> frozenset[str]:
    """Returns the names in the index of a checkpoint's shards, or in its one file.

    A hub's index is downloaded, and its one file where it has no index. No tensor is read, and
    nothing that a file holds is run.

    Returns:
        None of them where the checkpoint holds no weights.

    Raises:
        ModelError: A file is unreadable.
    """
    with explained(checkpoint.name, "weights"), quietly():
        for name in (*_INDICES, *_WHOLE):
            path = _file(checkpoint, name)
            if path is not None:
                return _names(path)
    return frozenset()


def _file(checkpoint: Checkpoint, name: str) -> Path | None:
    from transformers.utils import cached_file

    found = cached_file(
        checkpoint.source,
        name,
        _raise_exceptions_for_missing_entries=False,
        **checkpoint.load_options(),
    )
    return None if found is None else Path(found)


def _names(path: Path) -> frozenset[str]:
    if path.suffix == ".json":
        return frozenset(json.loads(path.read_text(encoding="utf-8"))["weight_map"])
    if path.suffix == ".safetensors":
        from safetensors import safe_open

        with safe_open(path, framework="pt") as file:
            return frozenset(file.keys())
    return frozenset(torch.load(path, map_location="meta", weights_only=True))
