"""Finds run folders on disk."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from vbench.errors import RunError, did_you_mean


def is_run(folder: Path) -> bool:
    """Says whether a folder is a run's, finished or not."""
    with suppress(OSError, ValueError):
        return "\ncommand:" in (folder / "config.yaml").read_text(encoding="utf-8")
    return False


def runs_under(folder: Path) -> list[Path]:
    """Returns the run folders at or below a folder, sorted; it does not look into runs."""
    found = []
    for place, below, _ in os.walk(folder):
        if is_run(Path(place)):
            found.append(Path(place))
            below.clear()
        below[:] = sorted(name for name in below if not name.startswith("."))
    return found


def run_folder(path: str | Path) -> Path:
    """Returns the one run's folder that a path names.

    Raises:
        RunError: It names nothing, or something else than one run.
    """
    folder = existing(path)
    if is_run(folder):
        return folder
    inside = runs_under(folder)
    raise RunError(
        "not a run folder",
        where=str(folder),
        why=f"it holds {len(inside)} runs" if inside else "it has no config.yaml of vbench",
        mend=f"name one: {inside[0]}" if inside else "name a folder that `vbench evaluate` wrote",
    )


def existing(path: str | Path) -> Path:
    """Returns the folder a path names.

    Raises:
        RunError: There is no such folder.
    """
    folder = Path(path)
    if folder.is_dir():
        return folder
    parent = next((p for p in folder.parents if p.is_dir()), Path())
    name = folder.relative_to(parent).parts[0]
    hint = did_you_mean(name, (entry.name for entry in parent.iterdir() if entry.is_dir()))
    raise RunError(
        "there is no such run folder",
        where=str(folder),
        why=f"{parent} has no folder '{name}'",
        mend=hint or f"`vbench status {parent}` lists the runs there are",
    )
