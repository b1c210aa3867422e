"""Predictions as rows of Parquet, and back."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from vbench.errors import RunError
from vbench.records import Prediction, Reply

REPLY = pa.struct(
    [
        ("prompt", pa.string()),
        ("text", pa.string()),
        ("log_probs", pa.list_(pa.float64())),
        ("token_ids", pa.list_(pa.list_(pa.int32()))),
        ("prompt_tokens", pa.int32()),
        ("visual_tokens", pa.int32()),
        ("frame_shape", pa.list_(pa.int32())),
        ("reply_tokens", pa.int32()),
        ("finish_reason", pa.string()),
        ("dtype", pa.string()),
        ("model_version", pa.string()),
        ("usd", pa.float64()),
    ]
)
"""The fields of `records.Reply` but for its status and reason, which are the row's."""

PREDICTION_SCHEMA = pa.schema(
    [
        ("key", pa.string()),
        ("kind", pa.string()),
        ("status", pa.string()),
        ("embedding", pa.list_(pa.float32())),
        ("score", pa.float64()),
        ("reason", pa.string()),
        ("video_id", pa.string()),
        ("path", pa.string()),
        ("frame_indices", pa.list_(pa.int32())),
        ("timestamps_s", pa.list_(pa.float64())),
        ("frames_wanted", pa.int32()),
        ("truncated", pa.bool_()),
        ("reply", REPLY),
        ("audio", pa.string()),
    ]
)

_MADE = b"made"


def to_table(rows: Iterable[Prediction], made: Sequence[Mapping[str, object]] = ()) -> pa.Table:
    """Returns rows as a table of PREDICTION_SCHEMA.

    Args:
        rows: The rows.
        made: Where they were made; the schema's metadata hold it.
    """
    columns: dict[str, list[Any]] = {name: [] for name in PREDICTION_SCHEMA.names}
    for row in rows:
        for name, values in columns.items():
            values.append(getattr(row, name))
        if row.reply is not None:
            columns["reply"][-1] = {f.name: getattr(row.reply, f.name) for f in REPLY}
    schema = PREDICTION_SCHEMA.with_metadata({_MADE: json.dumps(list(made))})
    return pa.table(columns, schema=schema)


def read_made(shard: Path) -> list[dict[str, Any]]:
    """Returns where the rows of a shard were made; nothing where it does not say.

    Args:
        shard: A file of `predictions/`.
    """
    told = pq.read_metadata(shard).metadata or {}
    return list(json.loads(told.get(_MADE, b"[]")))


def read_shard(shard: Path, only: pc.Expression | None = None) -> Iterator[Prediction]:
    """Yields the rows of a shard.

    Args:
        shard: A file of `predictions/`.
        only: Which rows; None: all.

    Raises:
        RunError: It cannot be read.
    """
    try:
        table = pq.read_table(shard, schema=PREDICTION_SCHEMA, filters=only)
    except (OSError, pa.ArrowInvalid) as error:
        raise RunError(
            "a shard of stored predictions cannot be read",
            where=str(shard),
            why=str(error).splitlines()[0],
            mend="delete that one file and type the same command again: only its rows are redone",
        ) from error
    embeddings = table["embedding"].combine_chunks()
    flat = embeddings.values.to_numpy(zero_copy_only=False)
    bounds = embeddings.offsets.to_numpy()
    for i, row in enumerate(table.drop_columns(["embedding"]).to_pylist()):
        row["frame_indices"] = tuple(row["frame_indices"])
        row["timestamps_s"] = tuple(row["timestamps_s"])
        row["audio"] = row["audio"] or ""  # shards of earlier versions have none
        if row["reply"] is not None:
            row["reply"] = _reply(row)
        vector = flat[bounds[i] : bounds[i + 1]].astype(np.float32)
        yield Prediction(embedding=vector if len(vector) else None, **row)


def _reply(row: Mapping[str, Any]) -> Reply:
    """Turns the lists that Parquet gives back into tuples."""
    fields: dict[str, Any] = dict(row["reply"])
    fields["token_ids"] = tuple(map(tuple, fields["token_ids"]))
    for name in ("log_probs", "frame_shape"):
        fields[name] = tuple(fields[name])
    return Reply(row["status"], row["reason"], **fields)
