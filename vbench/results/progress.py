"""How far a run is, from its folder alone: at any moment, finished or not, broken or not."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, get_args

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from vbench.errors import RunError
from vbench.records import FINAL, Prediction
from vbench.results.folders import is_finished
from vbench.results.process import lives
from vbench.results.samples import read_samples
from vbench.results.store import merge, prediction_files

STALLED_AFTER_S = 15 * 60
"""A run that has written nothing for so long hangs, or died where it cannot be asked."""

State = Literal["running", "failed", "stalled", "interrupted", "waiting", "not started", "done"]
"""What status.json says, but `stalled` where it says running and nothing runs; `not started` is a
shard that nobody has begun."""


@dataclass(frozen=True)
class Writers:
    """What one rank of one shard has written."""

    shard: int
    rank: int
    files: int
    rows: int
    age_s: float
    """Seconds since the last of them."""


@dataclass(frozen=True)
class Share:
    """What one process of the run last said of itself."""

    state: State
    reason: str
    """Which process runs, why it is taken to be stalled, or the error that ended it."""
    age_s: float
    """Seconds since it wrote anything."""
    shard: int | None = None
    """None where one process does all."""


@dataclass(frozen=True)
class Progress:
    """How far a run is."""

    state: State
    reason: str
    age_s: float
    """Seconds since anything was written."""
    done: int
    """Keys with a final row."""
    total: int | None
    """Keys there must be in the end; None while the run has not planned them."""
    failed: tuple[Prediction, ...]
    """The rows that are not ok."""
    shares: tuple[Share, ...]
    writers: tuple[Writers, ...]
    unreadable: tuple[str, ...]
    """Files of predictions that are damaged."""


def progress(folder: Path) -> Progress:
    """Looks at a run folder.

    Args:
        folder: A run's folder (`folders.run_folder`).
    """
    rows, writers, unreadable = _predictions(folder)
    try:
        keys = pc.list_flatten(read_samples(folder, ["requests"])["requests"])
        wanted = set(pc.list_flatten(pc.struct_field(keys, "keys")).to_pylist())
        rows = {key: row for key, row in rows.items() if key in wanted}
        total = len(wanted)
    except RunError:  # not written yet
        total = None
    shares = _shares(folder, writers)
    state, reason = _overall(shares)
    if state == "done" and not is_finished(folder):
        state, reason = "interrupted", "some of what it wrote is gone"
    return Progress(
        state,
        reason,
        age_s=min((s.age_s for s in shares), default=0.0),
        done=sum(row.status in FINAL for row in rows.values()),
        total=total,
        failed=tuple(row for row in rows.values() if row.status != "ok"),
        shares=shares,
        writers=writers,
        unreadable=unreadable,
    )


def _predictions(
    folder: Path,
) -> tuple[dict[str, Prediction], tuple[Writers, ...], tuple[str, ...]]:
    rows: dict[str, Prediction] = {}
    writers: dict[tuple[int, int], Writers] = {}
    unreadable = []
    columns = ["key", "kind", "status", "reason", "video_id", "path"]
    for file in prediction_files(folder):
        try:
            table, age = pq.read_table(file, columns=columns), _age(file)
        except (OSError, pa.ArrowInvalid):
            unreadable.append(str(file))
            continue
        for row in table.to_pylist():
            merge(rows, Prediction(**row))
        name = re.match(r"\d+-(\d+)-(\d+)-", file.name)
        rank, shard = map(int, name.groups()) if name else (0, 0)
        known = writers.get((shard, rank), Writers(shard, rank, 0, 0, age))
        writers[shard, rank] = replace(
            known, files=known.files + 1, rows=known.rows + len(table), age_s=min(age, known.age_s)
        )
    return rows, tuple(writers[key] for key in sorted(writers)), tuple(unreadable)


def _shares(folder: Path, writers: Sequence[Writers]) -> tuple[Share, ...]:
    """Returns the shards of an unfinished run that has some, else the one share there is."""
    last = _note(folder / "status.json")
    if last is None:
        reason = "it ended before it noted what it does"
        return (Share("stalled", reason, _age(folder / "config.yaml")),)
    if last["state"] == "done" or "shards" not in last:
        return (_share(last, writers),)
    shares = []
    for shard in range(last["shards"]):
        note = _note(folder / "status" / f"{shard}.json")
        if note is None or note["shards"] != last["shards"]:
            note = {"state": "not started", "shard": shard, "age_s": _age(folder / "config.yaml")}
        shares.append(_share(note, [w for w in writers if w.shard == shard]))
    return tuple(shares)


def _note(file: Path) -> dict[str, Any] | None:
    with suppress(OSError, ValueError):
        note: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        return note | {"age_s": _age(file)}
    return None


def _share(note: Mapping[str, Any], writers: Sequence[Writers]) -> Share:
    age = min([note["age_s"], *(w.age_s for w in writers)])
    shard, state, reason = note.get("shard"), note["state"], note.get("error", "")
    if state == "running":
        process = note.get("process", {})
        alive = lives(process)
        reason = name = f"process {process.get('pid')} on {process.get('host')}"
        if alive is False:
            state, reason = "stalled", f"{name} is gone"
        elif age > STALLED_AFTER_S:
            state = "stalled"
            reason = f"{name} {'lives' if alive else 'may live'} but has long written nothing"
    return Share(state, reason, age, shard)


def _overall(shares: Sequence[Share]) -> tuple[State, str]:
    """Returns the state of the whole: what still runs or else what went wrong comes first."""
    order = get_args(State)
    first = min(shares, key=lambda share: order.index(share.state))
    return first.state, first.reason


def _age(file: Path) -> float:
    return max(0.0, time.time() - file.stat().st_mtime)
