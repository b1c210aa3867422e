"""Reads W&B's offline run files: a 7-byte header, then leveldb log records of protobuf."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from wandb.proto.wandb_internal_pb2 import Record

_BLOCK, _HEADER = 32768, 7
_FULL, _LAST = 1, 4


def records(path: Path) -> Iterator[Any]:
    """Yields every record of a .wandb file."""
    data = path.read_bytes()
    at, parts = _HEADER, b""
    while at + _HEADER <= len(data):
        left = _BLOCK - at % _BLOCK
        if left < _HEADER:
            at += left
            continue
        _, length, kind = struct.unpack("<IHB", data[at : at + _HEADER])
        at += _HEADER
        parts += data[at : at + length]
        at += length
        if kind in (_FULL, _LAST):
            yield Record.FromString(parts)
            parts = b""


def summary(run: Path) -> dict[str, Any]:
    """Returns the last summary value of each key of an offline run's folder."""
    (file,) = run.glob("*.wandb")
    found: dict[str, Any] = {}
    for record in records(file):
        if record.WhichOneof("record_type") == "summary":
            for item in record.summary.update:
                key = item.key or "/".join(item.nested_key)
                found[key] = json.loads(item.value_json)
    return found


def config(run: Path) -> dict[str, Any]:
    """Returns the config of an offline run's folder."""
    (file,) = run.glob("*.wandb")
    found: dict[str, Any] = {}
    for record in records(file):
        if record.WhichOneof("record_type") == "run":
            found |= {item.key: json.loads(item.value_json) for item in record.run.config.update}
    return found
