"""Everything a run folder holds about one sample, finished or not."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from vbench.errors import RunError, did_you_mean
from vbench.records import Prediction, Reply
from vbench.results.answers import answer
from vbench.results.progress import progress
from vbench.results.rows import read_records
from vbench.results.samples import read_samples
from vbench.results.store import RunFolder
from vbench.results.text import visible


def sample(folder: Path, name: str) -> dict[str, Any]:
    """Returns what is stored about one sample, as JSON takes it.

    Args:
        folder: The run folder.
        name: See `find_sample`.

    Raises:
        RunError: There is no such sample, or not exactly one.
    """
    table = read_samples(folder)
    row = table.slice(find_sample(table, name, folder), 1).to_pylist()[0]
    rows = RunFolder(folder).predictions({key for r in row["requests"] for key in r["keys"]})
    requests = [_request(request, rows) for request in row["requests"]]
    state = progress(folder).state
    missing = sum(request["status"] is None for request in requests)
    failed = next((r for r in requests if r["status"] not in ("ok", None)), None)
    status = failed["status"] if failed else None if missing else "ok"
    clips = [_clip(number, row, rows, folder) for number in range(len(row["clips"]))]
    graded = _record(folder, row) if state == "done" else {}
    return {
        "run": str(folder),
        "state": state,
        **{key: row[key] for key in ("test", "sample_id", "kind", "cluster", "question")},
        "groups": dict(row["groups"]),
        "texts": row["texts"],
        "letters": row["letters"] or [],
        "target": row["target"],
        "outcome": graded.get("outcome"),
        "status": status,
        "reason": failed["reason"] if failed else "",
        "truncated": any(request["truncated"] for request in requests),
        "scores": _matrix(row, graded.get("scores") or [r["score"] for r in requests]),
        "response": graded.get("response") or "",
        "rule": graded.get("rule") or "",
        "observed": dict(graded.get("observed") or ()),
        "clips": clips,
        "requests": requests,
    }


def find_sample(table: pa.Table, name: str, folder: Path) -> int:
    """Returns the row of the one sample that a name means.

    Args:
        table: samples.parquet.
        name: `test/sample_id`, a `sample_id`, or the beginning of either.
        folder: Named in errors.

    Raises:
        RunError: No sample or several samples are meant.
    """
    ids = table["sample_id"].to_pylist()
    full = [f"{test}/{own}" for test, own in zip(table["test"].to_pylist(), ids, strict=True)]
    for names, begins in ((full, False), (ids, False), (full, True), (ids, True)):
        meant = [
            n for n, own in enumerate(names) if own == name or (begins and own.startswith(name))
        ]
        if len(meant) == 1:
            return meant[0]
        if meant:
            more = f" … and {len(meant) - 8} more" if len(meant) > 8 else ""
            raise RunError(
                f"'{visible(name)}' may mean {len(meant)} samples",
                where=str(folder),
                why=", ".join(visible(full[n]) for n in meant[:8]) + more,
                mend="name one as test/sample_id",
            )
    raise RunError(
        f"there is no sample '{visible(name)}'",
        where=str(folder),
        why=f"the run asks {len(full)} samples, such as {visible(full[0])}" if full else "",
        mend=visible(did_you_mean(name, [*ids, *full])) or "name one as test/sample_id",
    )


def _request(request: Mapping[str, Any], rows: Mapping[str, Prediction]) -> dict[str, Any]:
    found = answer(request["keys"], rows)
    value = found.value if found is not None else math.nan
    return {
        **request,
        "status": found.status if found else None,
        "score": value if math.isfinite(value) else None,
        "reason": found.reason if found else "",
        "truncated": found is not None and found.truncated,
        "reply": _reply(found.reply) if found is not None and found.reply is not None else None,
    }


def _reply(reply: Reply) -> dict[str, Any]:
    told = asdict(reply)
    told["log_probs"] = [p if math.isfinite(p) else None for p in reply.log_probs]
    return told


def _clip(
    number: int, row: Mapping[str, Any], rows: Mapping[str, Prediction], folder: Path
) -> dict[str, Any]:
    keys = [key for r in row["requests"] if r["clips"] == [number] for key in r["keys"]]
    seen = next((rows[key] for key in keys if key in rows and rows[key].kind == "clip"), None)
    strip = RunFolder(folder).frames / f"{seen.key}.jpg" if seen else None
    return {
        **row["clips"][number],
        "key": seen.key if seen else None,
        "status": seen.status if seen else None,
        "reason": seen.reason if seen else "",
        "frames_wanted": seen.frames_wanted if seen else None,
        "frame_indices": list(seen.frame_indices) if seen else None,
        "timestamps_s": list(seen.timestamps_s) if seen else None,
        "strip": str(strip) if strip and strip.is_file() else None,
    }


def _matrix(
    row: Mapping[str, Any], values: Sequence[float | None]
) -> list[list[float | None]] | None:
    """Returns clips x texts scores, None where the values are no such matrix."""
    width = len(row["texts"])
    if len(values) != len(row["clips"]) * width:
        return None
    return [list(values[i : i + width]) for i in range(0, len(values), width)]


def _record(folder: Path, row: Mapping[str, Any]) -> dict[str, Any]:
    own = (pc.field("test") == row["test"]) & (pc.field("sample_id") == row["sample_id"])
    found: list[dict[str, Any]] = read_records(folder, filters=own).to_pylist()
    return found[0] if found else {}
