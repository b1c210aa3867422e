"""What `fresh=true` removes: what vbench wrote into a run folder, and nothing else."""

from __future__ import annotations

import json
import re
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Any

from vbench.errors import RunError
from vbench.results.process import lives, this_process

_OURS = (
    "config.yaml", "environment.json", "status.json", "status", "cache.json", "samples.parquet",
    "records.parquet", "summary.json", "report.html", "predictions", "tables", "frames", "wandb",
    "export", ".hydra",
)  # fmt: skip


def discard(path: Path) -> None:
    """Removes what an earlier run has left in its folder, but for its config.yaml.

    That stays until another one takes its place: a folder that holds anything else and no
    config.yaml is nobody's, and would be refused should this process be killed now.

    Args:
        path: The run folder.

    Raises:
        RunError: Another process writes it.
    """
    _check_left(path)
    for name in _OURS[1:]:
        entry = path / name
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry)
        else:
            entry.unlink(missing_ok=True)


def discard_unfinished(path: Path) -> None:
    """Removes what `write_atomically` has left in a run folder where its process was killed.

    Args:
        path: The run folder.
    """
    for file in path.glob(".*.tmp"):
        name = re.fullmatch(r"\.(.+)\.\d+\.[0-9a-f]{8}\.tmp", file.name)
        if name and name[1] in _OURS:
            file.unlink(missing_ok=True)


def _check_left(path: Path) -> None:
    """Checks that no other process on this machine writes a run folder."""
    for file in [path / "status.json", *(path / "status").glob("*.json")]:
        with suppress(OSError, ValueError):
            note: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
            writer = note.get("process", {})
            mine = writer == this_process()
            if note.get("state") == "running" and not mine and lives(writer):
                raise RunError(
                    "another process is writing this run",
                    where=str(path),
                    why=f"process {writer['pid']} has begun it and still runs",
                    mend="wait for it or end it; without fresh=true its answers would be used",
                )
