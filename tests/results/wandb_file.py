"""Reads W&B's offline run files: a 7-byte header, then leveldb log records of protobuf."""

from __future__ import annotations

import json
import struct
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from wandb.proto.wandb_internal_pb2 import Record

_BLOCK, _HEADER = 32768, 7
_FULL, _LAST = 1, 4


def records(path: Path) -> list[Any]:
    """Returns every record of the .wandb file of a run that has been ended.

    W&B's own process may still write for a moment after the run's has gone on.
    """
    until = time.monotonic() + 60
    while True:
        found = list(_records(path.read_bytes()))
        if any(record.HasField("exit") for record in found) or time.monotonic() > until:
            return found
        time.sleep(0.1)


def _records(data: bytes) -> Iterator[Any]:
    at, parts = _HEADER, b""
    while at + _HEADER <= len(data):
        left = _BLOCK - at % _BLOCK
        if left < _HEADER:
            at += left
            continue
        _, length, kind = struct.unpack("<IHB", data[at : at + _HEADER])
        at += _HEADER
        if at + length > len(data):
            return  # still being written
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


def told(run: Path) -> dict[str, Any]:
    """Returns what an offline run's folder says, but for when it was said."""
    (file,) = run.glob("*.wandb")
    found: dict[str, Any] = {"exit_code": None}
    for record in records(file):
        kind = record.WhichOneof("record_type")
        if kind == "run":
            own = record.run
            found["run"] = (own.run_id, own.display_name, own.project, own.run_group, [*own.tags])
        elif kind == "exit":
            found["exit_code"] = record.exit.exit_code
    noise = ("_wandb", "_runtime", "_timestamp", "_step")
    stored = ("path", "artifact_path", "_latest_artifact_path", "size", "sha256")  # of tables
    found["config"] = {k: v for k, v in config(run).items() if k not in noise}
    found["summary"] = {
        key: value
        for key, value in summary(run).items()
        if not key.startswith(noise)
        and not isinstance(value, dict)
        and not (key.startswith("samples") and key.split("/")[-1] in stored)
    }
    tables = [json.loads(f.read_text()) for f in run.glob("files/media/table/*.table.json")]
    for name, framed in (("live", False), ("full", True)):
        own = [table for table in tables if ("frames" in table["columns"]) == framed]
        found[name] = sorted(json.dumps(row) for table in own for row in table["data"])
    return found
