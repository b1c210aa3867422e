"""From records.parquet back to graded rows: a run's samples, one credit each, without its model."""

from __future__ import annotations

import gc
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import MISSING, fields
from itertools import pairwise, repeat
from pathlib import Path
from typing import Any, TypeVar, cast

import pyarrow as pa
import pyarrow.parquet as pq

from vbench.errors import VbenchError
from vbench.metrics.outcomes import Row
from vbench.records import Clip, Sample, Score
from vbench.results.paired import by_name
from vbench.results.pairing import check_samples
from vbench.results.rows import unreadable
from vbench.results.run import Run
from vbench.schema import instantiate

Noun = TypeVar("Noun", Sample, Score)

_REPEATED = (
    "test", "video_id", "cluster", "kind", "question", "target", "status", "reason",
)  # fmt: skip
"""Columns of texts that many rows share."""

_LISTS = ("texts", "scores", "clip_paths", "groups")

_BATCH = 65_536
"""Rows that are read at once."""


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


def graded_rows(runs: Sequence[Run]) -> tuple[list[Mapping[str, Row]], str]:
    """Returns each run's graded rows, by which runs are compared.

    Args:
        runs: Finished runs.

    Returns:
        The rows by name, and why there are none at all where the runs cannot be compared.
    """
    try:
        check_samples(runs)
        return [by_name(graded(run)) for run in runs], ""
    except VbenchError as error:
        return [{} for _ in runs], error.what


def read_scores(folder: Path) -> list[Score]:
    """Reads all samples of a run with their filled matrices, in the run's order.

    Clips have their file but not their span, and the name of the sample's first video: a metric
    looks at none of this.

    Args:
        folder: The run folder.

    Raises:
        RunError: There are no records, or they are damaged.
    """
    names = [*_REPEATED, "sample_id", "truncated", *_LISTS]
    repeated = [*_REPEATED, "texts.list.element", "clip_paths.list.element"]
    scores: list[Score] = []
    try:
        file = pq.ParquetFile(folder / "records.parquet", read_dictionary=repeated)
        with _no_collection():
            for batch in file.iter_batches(_BATCH, columns=names, use_threads=False):
                scores += _scores({name: _values(batch.column(name)) for name in names})
    except (OSError, pa.ArrowInvalid) as error:
        raise unreadable(folder / "records.parquet", error) from error
    return scores


def _scores(of: Mapping[str, Sequence[Any]]) -> list[Score]:
    """Builds a score per row, column by column: a million rows take seconds."""
    seen = list(zip(of["video_id"], of["clip_paths"], strict=True))
    clips = {own: tuple(Clip(own[0], path) for path in own[1]) for own in set(seen)}
    groups: dict[tuple[Any, ...], dict[str, str]] = {own: dict(own) for own in set(of["groups"])}
    samples = _made(
        Sample,
        {
            "test": of["test"],
            "sample_id": of["sample_id"],
            "kind": of["kind"],
            "cluster": of["cluster"],
            "clips": list(map(clips.__getitem__, seen)),
            "texts": of["texts"],
            "target": list(map(_target, of["kind"], of["target"])),
            "question": of["question"],
            "groups": list(map(groups.__getitem__, of["groups"])),
        },
    )
    return _made(
        Score,
        {
            "sample": samples,
            "status": of["status"],
            "values": of["scores"],
            "reason": of["reason"],
            "truncated": list(map(bool, of["truncated"])),
        },
    )


def _made(kind: type[Noun], columns: Mapping[str, Sequence[Any]]) -> list[Noun]:
    """Builds many records at once, slot by slot, in half the time of as many constructors.

    Args:
        kind: A frozen dataclass with slots.
        columns: Values of its fields, all of one length; other fields get their defaults.
    """
    count = len(next(iter(columns.values())))
    made: list[Noun] = list(map(object.__new__, repeat(kind, count)))
    for field in fields(kind):
        values: Iterable[Any]
        if field.name in columns:
            values = columns[field.name]
        elif field.default is not MISSING:
            values = repeat(field.default)
        else:
            values = repeat(cast(Any, field.default_factory)())
        deque(map(getattr(kind, field.name).__set__, made, values), maxlen=0)
    return made


def _target(kind: str, target: str | None) -> int | str | None:
    return target if target is None or kind == "open" else int(target)


@contextmanager
def _no_collection() -> Iterator[None]:
    """Keeps the garbage collector from looking through what is being built, over and over."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


def _values(array: pa.Array) -> Sequence[Any]:
    """Returns a column as Python values, lists as tuples; equal texts are one object."""
    if pa.types.is_map(array.type):
        pairs = list(zip(_values(array.keys), _values(array.items), strict=True))
        return _split(pairs, array.offsets)
    if pa.types.is_list(array.type):
        return _split(_values(array.values), array.offsets)
    if pa.types.is_dictionary(array.type):
        known = [*_values(array.dictionary), None]
        places = array.indices.fill_null(-1).to_numpy(zero_copy_only=False)  # -1: the None
        return [known[place] for place in places.tolist()]
    # Far faster than to_pylist; a score that is missing becomes NaN.
    return cast(list[Any], array.to_numpy(zero_copy_only=False).tolist())


def _split(values: Sequence[Any], offsets: pa.Array) -> list[tuple[Any, ...]]:
    ends: list[int] = offsets.to_numpy().tolist()
    sizes = {high - low for low, high in pairwise(ends)}
    if sizes == {0}:
        return [()] * (len(ends) - 1)
    if len(sizes) == 1:  # the usual case, and far faster than slices
        return list(zip(*[iter(values[ends[0] : ends[-1]])] * sizes.pop(), strict=True))
    return [tuple(values[low:high]) for low, high in pairwise(ends)]
