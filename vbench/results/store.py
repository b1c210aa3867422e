"""The run folder: the one truth about a run, readable with pandas or duckdb alone.

    config.yaml  environment.json  status.json   what was asked, where it ran, how far it got
    samples.parquet                              what is asked: one row per sample, with its keys
    predictions/*.parquet                        one row per stored result, written as they come
    records.parquet  summary.json  tables/       one row per sample, the estimates, the tables
    frames/<key>.jpg                             the frames the model saw, when a logger shows them

Every file appears under its final name complete or not at all (written aside, then renamed).
"""

from __future__ import annotations

import json
import os
import time
import uuid
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import yaml

from vbench.errors import RunError
from vbench.records import FINAL, Prediction
from vbench.results.discard import discard, discard_unfinished
from vbench.results.process import this_process
from vbench.results.shards import read_made, read_shard, to_table


def cannot_write(path: Path, error: OSError) -> RunError:
    """Returns the error of a full disk, or of one that may not be written to."""
    return RunError(
        "cannot write to the run folder",
        where=str(path),
        why=str(error),
        mend="free space or permissions, then type the same command again: it resumes",
    )


def cannot_write_out(path: Path, error: OSError) -> RunError:
    """Returns the error of a file that no run needs, in a folder that the command names."""
    return RunError(
        f"cannot write to the folder '{path.parent}'",
        where=str(path),
        why=str(error),
        mend="name another folder, or free space or permissions there",
    )


def write_atomically(
    path: Path,
    write: Callable[[Path], object],
    refused: Callable[[Path, OSError], RunError] = cannot_write,
) -> None:
    """Calls `write` with a temporary path beside `path`, then renames it into place.

    Args:
        path: The file.
        write: Writes it, at the path it is given.
        refused: Makes the error.

    Raises:
        RunError: The disk is full or the folder cannot be written.
    """
    aside = path.with_name(f".{path.name}.{os.getpid()}.{uuid.uuid4().hex[:8]}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write(aside)
        with aside.open("rb") as written:
            os.fsync(written)  # else the name may outlive the bytes when the power fails
        aside.replace(path)
    except OSError as error:
        with suppress(OSError):
            aside.unlink(missing_ok=True)
        raise refused(path, error) from error


def write_json(path: Path, value: object) -> None:
    """Writes strict JSON (no NaN), indented, atomically."""
    text = json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)
    write_atomically(path, lambda aside: aside.write_text(text + "\n", encoding="utf-8"))


class RunFolder:
    """One run's folder. Safe for many writers of predictions and one writer of everything else.

    Args:
        path: The folder.
        share: Shard and number of shards, where several processes share the work.
    """

    def __init__(self, path: Path, share: tuple[int, int] = (0, 1)) -> None:
        self.path = path
        self.share = share
        self._seen: set[str] = set()

    @property
    def frames(self) -> Path:
        """Where frame strips lie, one JPEG per clip key."""
        return self.path / "frames"

    def write_predictions(
        self,
        rows: Iterable[Prediction],
        rank: int = 0,
        made: Sequence[Mapping[str, object]] = (),
    ) -> None:
        """Writes rows as one new file, named by time, rank and shard; no rows write nothing.

        Args:
            rows: The rows.
            rank: Of the process that writes.
            made: Where they were made, as far as that is known.
        """
        table = to_table(rows, made)
        if len(table):
            writer = f"{rank:04d}-{self.share[0]:04d}-{uuid.uuid4().hex[:8]}"
            file = self.path / "predictions" / f"{time.time_ns():019d}-{writer}.parquet"
            write_atomically(file, lambda aside: pq.write_table(table, aside))

    def new_predictions(self) -> dict[str, Prediction]:
        """Returns the rows of shards not read before by this object, the best row of each key.

        Raises:
            RunError: A shard is unreadable.
        """
        rows: dict[str, Prediction] = {}
        for shard in prediction_files(self.path):
            if shard.name not in self._seen:
                self._seen.add(shard.name)
                for row in read_shard(shard):
                    merge(rows, row)
        return rows

    def predictions(self, keys: Collection[str]) -> dict[str, Prediction]:
        """Returns the best stored row of each of these keys that has one.

        Raises:
            RunError: A shard is unreadable.
        """
        rows: dict[str, Prediction] = {}
        wanted = pc.field("key").isin(pa.array(list(keys), pa.string()))
        for shard in prediction_files(self.path):
            for row in read_shard(shard, wanted):
                merge(rows, row)
        return rows

    def made(self) -> list[dict[str, Any]]:
        """Returns where the stored answers were made, each place once, in the order of answers."""
        found: list[dict[str, Any]] = []
        for shard in prediction_files(self.path):
            found += [place for place in read_made(shard) if place not in found]
        return found

    def write_status(self, state: str, **details: object) -> None:
        """Notes how far the run got, and which process says so.

        Args:
            state: running, waiting (for other shards), done, failed or interrupted.
            **details: Whatever else is known.
        """
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        shard, count = self.share
        note = {"state": state, "updated": now, **details, "process": this_process()}
        if count > 1:
            note |= {"shard": shard, "shards": count}
            write_json(self.path / "status" / f"{shard}.json", note)
        write_json(self.path / "status.json", note)

    def state(self) -> str | None:
        """Returns what was last noted of this shard, by any of its ranks."""
        name = f"status/{self.share[0]}.json" if self.share[1] > 1 else "status.json"
        with suppress(OSError, ValueError):
            return str(json.loads((self.path / name).read_text(encoding="utf-8"))["state"])
        return None


def prediction_files(path: Path) -> list[Path]:
    """Returns a run folder's files of predictions, oldest first."""
    return sorted((path / "predictions").glob("[!.]*.parquet"))


def merge(rows: dict[str, Prediction], row: Prediction) -> None:
    """Adds a row, keeping a final one over one that is to be tried again, else the newer."""
    known = rows.get(row.key)
    if known is None or known.status not in FINAL:
        rows[row.key] = row


def open_run(
    path: Path,
    config: Mapping[str, object],
    identity: Callable[[Mapping[str, object]], Mapping[str, object]],
    *,
    fresh: bool = False,
) -> RunFolder:
    """Creates a run folder, or continues the one that is there.

    Args:
        path: The folder.
        config: The whole resolved configuration, plain and nested.
        identity: Reduces a configuration to its settings that can change a score, flattened:
            `{"sampler.num_frames": 8, …}`.
        fresh: Discard what an earlier run left there.

    Raises:
        RunError: The folder holds something else than a run, a run with other settings, or one
            that is to be discarded while another process writes it.
    """
    known_file = path / "config.yaml"
    if path.exists() and not path.is_dir():
        raise RunError("run_dir is not a folder", where=str(path), mend="choose another run_dir")
    # First: should another process open the same run now, its config.yaml comes before all else.
    holds = path.exists() and any(not entry.name.startswith(".") for entry in path.iterdir())
    if known_file.exists() and fresh:
        discard(path)
    elif known_file.exists():
        check_same(path, identity(read_config(path)), identity(config))
    elif holds:
        raise RunError(
            "run_dir holds files that are not a vbench run",
            where=str(path),
            mend="choose an empty or new folder; vbench never overwrites what it did not write",
        )
    if fresh:
        discard_unfinished(path)
    text = yaml.safe_dump(dict(config), sort_keys=False, allow_unicode=True)
    write_atomically(known_file, lambda aside: aside.write_text(text, encoding="utf-8"))
    return RunFolder(path)


def read_config(path: Path) -> dict[str, Any]:
    """Returns the configuration a run folder was written with.

    Raises:
        RunError: There is none, or it is damaged.
    """
    file = path / "config.yaml"
    try:
        return dict(yaml.safe_load(file.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError, yaml.YAMLError) as error:
        raise RunError(
            "not a run folder, or its config.yaml is damaged",
            where=str(file),
            why=" ".join(str(error).split()),
            mend="name a folder that `vbench evaluate` wrote",
        ) from error


def check_same(path: Path, known: Mapping[str, object], wanted: Mapping[str, object]) -> None:
    """Checks that a run folder was written with the settings that are wanted now.

    Args:
        path: The folder.
        known: Its settings that can change a score, flattened.
        wanted: Those of the command.

    Raises:
        RunError: They differ; it names them.
    """
    missing = object()
    keys = sorted(
        key
        for key in known.keys() | wanted.keys()
        if known.get(key, missing) != wanted.get(key, missing)
    )
    if keys:
        shown = [f"{key}: {known.get(key, '-')} there, {wanted.get(key, '-')} now" for key in keys]
        more = f" … and {len(keys) - 8} more" if len(keys) > 8 else ""
        raise RunError(
            "run_dir holds a run with other settings",
            where=str(path),
            why="; ".join(shown[:8]) + more,
            mend="choose another run_dir, or discard the old run with fresh=true",
        )
