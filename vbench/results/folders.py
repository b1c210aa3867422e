"""Finds run folders on disk."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from vbench.errors import RunError, did_you_mean


def is_run(folder: Path) -> bool:
    """Says whether a folder is a run's, finished or not."""
    with suppress(OSError, ValueError):
        return "\ncommand:" in (folder / "config.yaml").read_text(encoding="utf-8")
    return False


def is_finished(run: Path) -> bool:
    """Says whether a run's folder has what tables and reports read."""
    wanted = ("samples.parquet", "records.parquet", "summary.json")
    return all((run / name).is_file() for name in wanted)


def runs_under(folder: Path) -> list[Path]:
    """Returns the run folders at or below a folder, sorted; it does not look into runs."""
    return [place for place in _outside_runs(folder) if is_run(place)]


def sweeps_under(folder: Path) -> list[Path]:
    """Returns the folders of sweeps at or below a folder, sorted."""
    return [place for place in _outside_runs(folder) if (place / "multirun.yaml").is_file()]


def sweep_of(run: Path) -> str | None:
    """Returns the name of the sweep that a run's folder lies in, if it does."""
    around = list(run.resolve().parents)[:3]  # dataset, model, sampler-id
    return next((place.name for place in around if (place / "multirun.yaml").is_file()), None)


def _outside_runs(folder: Path) -> Iterator[Path]:
    for name, below, _ in os.walk(folder):
        place = Path(name)
        yield place
        below[:] = [] if is_run(place) else sorted(n for n in below if not n.startswith("."))


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
    try:
        if folder.is_dir():
            return folder
        parent = next((p for p in folder.parents if p.is_dir()), Path())
        siblings = [entry.name for entry in parent.iterdir() if entry.is_dir()]
    except OSError as error:
        raise RunError("the folder cannot be read", where=str(folder), why=str(error)) from error
    name = folder.relative_to(parent).parts[0]
    hint = did_you_mean(name, siblings)
    close = hint.startswith("did you mean")  # a list of all there is would name strange things
    raise RunError(
        "there is no such run folder",
        where=str(folder),
        why=f"{parent} has no folder '{name}'",
        mend=hint if close else "`vbench status outputs` lists the runs there are",
    )
