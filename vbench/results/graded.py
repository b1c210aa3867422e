"""From records.parquet back to graded rows: a run's samples, one credit each, without its model."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

import pyarrow as pa
import pyarrow.parquet as pq

from vbench.errors import RunError
from vbench.metrics.outcomes import Row
from vbench.records import Clip, Kind, Sample, Score, Status
from vbench.results.run import Run
from vbench.schema import instantiate

_PLAIN = ("test", "sample_id", "video_id", "cluster", "kind", "question", "target")
_LISTS = ("texts", "scores", "clip_paths", "clip_spans_s", "groups")
_OF_THE_ANSWER = ("outcome", "status", "reason", "truncated")


def graded(run: Run) -> list[Row]:
    """Returns a run's rows as its own metric grades them.

    Args:
        run: A finished run.

    Raises:
        RunError: Its records cannot be read.
        VbenchError: Its metric cannot be built, or refuses the scores.
    """
    from omegaconf import OmegaConf

    metric = instantiate(OmegaConf.create(run.config), "metric")
    rows: list[Row] = metric(read_scores(run.path))
    return rows


def read_scores(folder: Path) -> list[Score]:
    """Reads all samples of a run with their filled matrices, in the run's order.

    Clips know their first video only by name (records.parquet keeps one per sample); a metric looks
    at none of this.

    Args:
        folder: The run folder.

    Raises:
        RunError: There are no records, or they are damaged.
    """
    names = (*_PLAIN, *_LISTS, *_OF_THE_ANSWER)
    try:
        table = pq.read_table(folder / "records.parquet", columns=list(names))
    except (OSError, pa.ArrowInvalid) as error:
        raise RunError(
            "the run's records cannot be read",
            where=str(folder / "records.parquet"),
            why=str(error).splitlines()[0],
            mend="type the run's command again: it writes them at its end",
        ) from error
    columns = {name: _column(table[name]) for name in names}
    clips: dict[tuple[Any, ...], tuple[Clip, ...]] = {}
    return [
        _score(dict(zip(names, values, strict=True)), clips)
        for values in zip(*columns.values(), strict=True)
    ]


def _score(row: Mapping[str, Any], clips: dict[tuple[Any, ...], tuple[Clip, ...]]) -> Score:
    key = (row["video_id"], row["clip_paths"], row["clip_spans_s"])
    if key not in clips:
        clips[key] = tuple(
            Clip(row["video_id"], path, *span)
            for path, span in zip(row["clip_paths"], row["clip_spans_s"], strict=True)
        )
    kind, target = cast(Kind, row["kind"]), row["target"]
    sample = Sample(
        test=row["test"],
        sample_id=row["sample_id"],
        kind=kind,
        cluster=row["cluster"],
        clips=clips[key],
        texts=row["texts"],
        target=target if target is None or kind == "open" else int(target),
        question=row["question"],
        groups=dict(row["groups"]),
    )
    status = cast(Status, row["status"])
    return Score(sample, status, row["scores"], row["reason"], bool(row["truncated"]))


def _column(column: pa.ChunkedArray) -> Sequence[Any]:
    """Returns a column as Python values, lists as tuples; equal texts are one object."""
    array = column.combine_chunks()
    if isinstance(array, pa.ChunkedArray):  # of no or of several chunks
        array = pa.concat_arrays(array.chunks) if array.num_chunks else pa.array([], column.type)
    return _values(array)


def _values(array: pa.Array) -> Sequence[Any]:
    if pa.types.is_map(array.type):
        pairs = list(zip(_values(array.keys), _values(array.items), strict=True))
        return _split(pairs, array.offsets)
    if pa.types.is_list(array.type):
        return _split(_values(array.values), array.offsets)
    if pa.types.is_floating(array.type):
        return [math.nan if value is None else value for value in array.to_pylist()]
    if pa.types.is_string(array.type):
        known: Sequence[Any]
        encoded = array.dictionary_encode()
        known = encoded.dictionary.to_pylist()
        return [None if i is None else known[i] for i in encoded.indices.to_pylist()]
    return cast(list[Any], array.to_pylist())


def _split(values: Sequence[Any], offsets: pa.Array) -> list[tuple[Any, ...]]:
    return [tuple(values[low:high]) for low, high in pairwise(offsets.to_pylist())]
