"""The command that goes on with a run or a sweep, read from what it left in its folder."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from vbench.errors import VbenchError
from vbench.records import FINAL
from vbench.results.jobs import read_jobs
from vbench.results.progress import Progress
from vbench.results.store import read_config


def resume_run(folder: Path, now: Progress) -> list[str]:
    """Returns the commands that would go on with a run: one, or one per unfinished shard.

    Args:
        folder: The run folder.
        now: How far it is.
    """
    if now.state == "done" and all(row.status in FINAL for row in now.failed):
        return []
    if now.state == "done":  # what failed, failed in any shard
        return [_command(folder, {"shard": None, "shards": None})]
    unfinished = [share.shard for share in now.shares if share.state not in ("running", "waiting")]
    return [_command(folder, {} if k is None else {"shard": str(k)}) for k in unfinished]


def _command(folder: Path, changes: Mapping[str, str | None]) -> str:
    """Returns the command as it was typed, with some words changed, or left out for None."""
    config = read_config(folder)
    words = config["command"]["overrides"]
    changed = {"fresh": None, **changes}  # fresh=true would discard what is done
    home = Path(config["paths"]["outputs"], "runs").resolve()
    if config["run_dir"] is not None or home not in folder.resolve().parents:
        changed["run_dir"] = _quoted(folder)  # a sweep chose it, or the folder has moved since
    plain = [word.lstrip("+") for word in words]
    kept = [word for word in plain if word.partition("=")[0] not in changed]
    added = [f"{key}={value}" for key, value in changed.items() if value is not None]
    return "vbench evaluate " + shlex.join([*kept, *added])


def _quoted(path: Path) -> str:
    """Writes a path as Hydra reads it back."""
    text = str(path)
    if re.fullmatch(r"[\w./-]+", text, re.ASCII):
        return text
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


@dataclass(frozen=True)
class SweepCommand:
    """A sweep by what Hydra noted of it."""

    folder: str
    jobs: int
    command: str
    failed: tuple[str, ...] = ()
    """The jobs that failed when it was last started, as they are typed."""


def sweep_command(folder: Path) -> SweepCommand | None:
    """Returns what a sweep's folder says of its jobs; None if it is no sweep's.

    Args:
        folder: Any folder.
    """
    from vbench.overrides import jobs

    with suppress(OSError, ValueError, TypeError, KeyError, yaml.YAMLError, VbenchError):
        text = (folder / "multirun.yaml").read_text(encoding="utf-8")
        noted: dict[str, Any] = yaml.safe_load(text)
        words = [word.lstrip("+") for word in noted["hydra"]["overrides"]["task"]]
        launcher = [
            word
            for word in noted["hydra"]["overrides"].get("hydra", ())
            if re.match(r"\+*hydra[/.]launcher", word)
        ]
        failed = tuple(job.words for job in read_jobs(folder) if job.code == 1)
        command = f"vbench -m {shlex.join([*words, *launcher])}"
        return SweepCommand(str(folder), len(jobs(words)), command, failed)
    return None
