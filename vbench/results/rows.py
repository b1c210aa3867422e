"""records.parquet: one row per (test, sample_id), everything needed to look a sample up again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from vbench.errors import RunError
from vbench.records import Outcome, Prediction, Score
from vbench.results.store import write_atomically

RECORD_SCHEMA = pa.schema(
    [
        ("test", pa.string()),
        ("sample_id", pa.string()),
        ("video_id", pa.string()),
        ("cluster", pa.string()),
        ("kind", pa.string()),
        ("question", pa.string()),
        ("texts", pa.list_(pa.string())),
        ("target", pa.string()),
        ("scores", pa.list_(pa.float64())),
        ("outcome", pa.string()),
        ("status", pa.string()),
        ("reason", pa.string()),
        ("truncated", pa.bool_()),
        ("response", pa.string()),
        ("rule", pa.string()),
        ("observed", pa.map_(pa.string(), pa.float64())),
        ("groups", pa.map_(pa.string(), pa.string())),
        ("clip_keys", pa.list_(pa.string())),
        ("clip_paths", pa.list_(pa.string())),
        ("clip_spans_s", pa.list_(pa.list_(pa.float64()))),
        ("frame_indices", pa.list_(pa.list_(pa.int32()))),
        ("timestamps_s", pa.list_(pa.list_(pa.float64()))),
    ]
)


def record(score: Score, outcome: Outcome, clips: Sequence[Prediction | None]) -> dict[str, object]:
    """Returns one row.

    Args:
        score: The sample with its matrix.
        outcome: What the metric makes of it.
        clips: The stored clip rows behind `score.sample.clips`; None where a model sees no frames.
    """
    sample = score.sample
    return {
        "test": sample.test,
        "sample_id": sample.sample_id,
        "video_id": sample.clips[0].video_id,
        "cluster": sample.cluster,
        "kind": sample.kind,
        "question": sample.question,
        "texts": list(sample.texts),
        "target": None if sample.target is None else str(sample.target),
        "scores": list(score.values),
        "outcome": outcome,
        "status": score.status,
        "reason": score.reason,
        "truncated": score.truncated,
        "response": score.response,
        "rule": score.rule,
        "observed": list(score.observed.items()),
        "groups": list(sample.groups.items()),
        "clip_keys": [clip.key if clip else None for clip in clips],
        "clip_paths": [clip.path for clip in sample.clips],
        "clip_spans_s": [[clip.start_s, clip.end_s] for clip in sample.clips],
        "frame_indices": [list(clip.frame_indices) if clip else [] for clip in clips],
        "timestamps_s": [list(clip.timestamps_s) if clip else [] for clip in clips],
    }


def write_records(path: Path, rows: Sequence[Mapping[str, object]]) -> None:
    """Writes the records table atomically."""
    table = pa.Table.from_pylist(list(rows), schema=RECORD_SCHEMA)
    write_atomically(path, lambda aside: pq.write_table(table, aside))


def read_records(
    folder: Path, columns: Sequence[str] | None = None, filters: Any = None
) -> pa.Table:
    """Reads records.parquet.

    Args:
        folder: The run folder.
        columns: Which columns; None: all.
        filters: Which rows, as `pyarrow.parquet.read_table` takes it; None: all.

    Raises:
        RunError: There is none, or it is damaged.
    """
    file = folder / "records.parquet"
    try:
        return pq.read_table(file, columns=columns, filters=filters)
    except (OSError, pa.ArrowInvalid) as error:
        raise unreadable(file, error) from error


def unreadable(file: Path, error: Exception) -> RunError:
    """Returns what is raised where records cannot be read.

    Args:
        file: records.parquet.
        error: What the reader says.
    """
    return RunError(
        "the run's records cannot be read",
        where=str(file),
        why=str(error).splitlines()[0],
        mend="type the run's command again: it writes them at its end",
    )
