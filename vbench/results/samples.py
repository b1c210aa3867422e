"""samples.parquet: what a run asks, written before the first answer.

One row per (test, sample_id), with each request's rendered text and the keys of its rows in
predictions/. With those two, every answer can be looked up while the run still goes on.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from vbench.errors import RunError
from vbench.records import Request, Sample
from vbench.results.store import write_atomically

SAMPLE_SCHEMA = pa.schema(
    [
        ("test", pa.string()),
        ("sample_id", pa.string()),
        ("kind", pa.string()),
        ("cluster", pa.string()),
        ("question", pa.string()),
        ("texts", pa.list_(pa.string())),
        ("letters", pa.list_(pa.string())),  # what the dataset calls each text; none: A, B, C, …
        ("target", pa.string()),
        ("groups", pa.map_(pa.string(), pa.string())),
        (
            "clips",
            pa.list_(
                pa.struct(
                    [
                        ("video_id", pa.string()),
                        ("path", pa.string()),
                        ("start_s", pa.float64()),
                        ("end_s", pa.float64()),
                        ("content", pa.string()),  # hash of the file's bytes
                    ]
                )
            ),
        ),
        (
            "requests",
            pa.list_(
                pa.struct(
                    [
                        ("clips", pa.list_(pa.int32())),  # indices into the sample's clips
                        ("text", pa.string()),  # exactly what the model reads, or its message
                        ("system", pa.string()),
                        ("render", pa.string()),  # of a message: chat or raw
                        ("continuations", pa.list_(pa.string())),
                        ("keys", pa.list_(pa.string())),
                    ]
                )
            ),
        ),
    ]
)


def write_samples(
    folder: Path,
    asked: Sequence[tuple[Sample, Sequence[Request]]],
    keys: Mapping[Request, Sequence[str]],
    contents: Mapping[str, str],
) -> int:
    """Writes samples.parquet atomically.

    Args:
        folder: The run folder.
        asked: Each sample with its requests, in the scorer's order.
        keys: The stored rows each request needs.
        contents: Hash of the file's bytes by a clip's key; empty for a model that opens no file.

    Returns:
        How many of the samples that an earlier start has asked are not asked so any more: they
        have changed, or are gone.

    Raises:
        RunError: The folder cannot be written.
    """
    rows = [_row(sample, requests, keys, contents) for sample, requests in asked]
    table = pa.Table.from_pylist(rows, schema=SAMPLE_SCHEMA)
    changed = _changed(folder, table)
    write_atomically(folder / "samples.parquet", lambda aside: pq.write_table(table, aside))
    return changed


def _changed(folder: Path, now: pa.Table) -> int:
    """Counts the samples of an earlier start that a table does not hold.

    Where files lie and what is in them is of no concern: a video that has come since is no change.
    """
    names = ("test", "sample_id", "kind", "cluster", "question", "texts", "target", "clips")
    try:
        before = read_samples(folder, names)
    except RunError:
        return 0
    now = now.select(before.column_names)
    if before.equals(now):
        return 0
    there, asked = ([_without_files(row) for row in one.to_pylist()] for one in (now, before))
    known = {(row["test"], row["sample_id"]): row for row in there}
    return sum(known.get((row["test"], row["sample_id"])) != row for row in asked)


def _without_files(row: dict[str, Any]) -> dict[str, Any]:
    spans = [(clip["video_id"], clip["start_s"], clip["end_s"]) for clip in row["clips"]]
    return {**row, "clips": spans}


def _row(
    sample: Sample,
    requests: Sequence[Request],
    keys: Mapping[Request, Sequence[str]],
    contents: Mapping[str, str],
) -> dict[str, object]:
    content = {
        clip: contents[key]
        for request in requests
        for clip in request.clips
        for key in keys[request]
        if key in contents
    }
    return {
        "test": sample.test,
        "sample_id": sample.sample_id,
        "kind": sample.kind,
        "cluster": sample.cluster,
        "question": sample.question,
        "texts": list(sample.texts),
        "letters": list(sample.letters),
        "target": None if sample.target is None else str(sample.target),
        "groups": list(sample.groups.items()),
        "clips": [
            {
                "video_id": clip.video_id,
                "path": clip.path,
                "start_s": clip.start_s,
                "end_s": clip.end_s,
                "content": content.get(clip),
            }
            for clip in sample.clips
        ],
        "requests": [
            {
                "clips": [sample.clips.index(clip) for clip in request.clips],
                **_told(request),
                "keys": list(keys[request]),
            }
            for request in requests
        ],
    }


def _told(request: Request) -> dict[str, object]:
    message = request.message
    if message is None:
        return {"text": request.text, "system": None, "render": None, "continuations": []}
    return {
        "text": message.text,
        "system": message.system,
        "render": message.render,
        "continuations": [one.text for one in request.continuations],
    }


def read_samples(folder: Path, columns: Sequence[str] = SAMPLE_SCHEMA.names) -> pa.Table:
    """Reads samples.parquet.

    Args:
        folder: The run folder.
        columns: Which columns.

    Raises:
        RunError: There is none, or it is damaged.
    """
    file = folder / "samples.parquet"
    try:
        known = set(pq.read_schema(file).names)
        table = pq.read_table(file, columns=[name for name in columns if name in known])
        if "letters" in columns and "letters" not in known:  # runs of earlier versions have none
            none = pa.array([[]] * len(table), SAMPLE_SCHEMA.field("letters").type)
            table = table.append_column("letters", none)
        return table
    except (OSError, pa.ArrowInvalid) as error:
        raise RunError(
            "the run folder does not say what is asked",
            where=str(file),
            why=str(error).splitlines()[0],
            mend="type the run's command again: it writes the file before it asks anything",
        ) from error


def dataset_hashes(folder: Path) -> dict[str, str | None]:
    """Returns what a run's samples amount to, wherever their files lie.

    Args:
        folder: The run folder.

    Returns:
        `annotations`: SHA-256 over ids, texts, targets and spans. `files`: over the hashes of all
        videos; None if the model opened none.
    """
    rows: list[dict[str, Any]] = read_samples(folder).to_pylist()
    clips = [clip for row in rows for clip in row["clips"]]
    files = sorted({clip["content"] for clip in clips if clip["content"]})
    for clip in clips:
        del clip["path"], clip["content"]
    annotations = [{k: v for k, v in row.items() if k != "requests"} for row in rows]
    return {"annotations": _sha256(annotations), "files": _sha256(files) if files else None}


def _sha256(value: object) -> str:
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()
