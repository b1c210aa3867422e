"""What a sweep's folder says in the end: the tables and figures of its finished runs."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from vbench.errors import RunError
from vbench.metrics.outcomes import Row
from vbench.results.ablation import ablations
from vbench.results.curves import drawing
from vbench.results.drawing import save_drawing
from vbench.results.folders import existing, is_finished, is_run, runs_under
from vbench.results.graded import graded_rows
from vbench.results.jobs import JobNote, read_jobs
from vbench.results.layouts import RunSummary, tables
from vbench.results.naming import run_names
from vbench.results.run import Run, load_run, metric_mark
from vbench.results.tables import save
from vbench.results.text import visible


def finished(sweep: Path) -> list[Path]:
    """Returns the folders of a sweep's finished runs, in the order of its jobs.

    Args:
        sweep: Its folder, or any that holds runs.
    """
    there = [run for run in runs_under(sweep) if is_finished(run)]
    places = {_place(sweep, job).resolve(): job.number for job in read_jobs(sweep)}
    return sorted(there, key=lambda run: places.get(run.resolve(), len(places)))


def missing(sweep: Path) -> list[str]:
    """Returns what of a sweep is not finished: its jobs as they are typed, and other runs' folders.

    Args:
        sweep: Its folder, or any that holds runs.
    """
    jobs = [job for job in read_jobs(sweep) if not is_finished(_place(sweep, job))]
    known = {_place(sweep, job).resolve() for job in jobs}
    others = [run for run in runs_under(sweep) if not is_finished(run)]
    told = [f"{job.words}{' (failed)' if job.code == 1 else ''}" for job in jobs]
    return [*told, *(str(run) for run in others if run.resolve() not in known)]


def runs_of(paths: Sequence[str]) -> list[Path]:
    """Returns the runs among folders and the finished ones in them; says on stderr which are not.

    Args:
        paths: Run folders, or folders that hold some: a sweep.

    Raises:
        RunError: A folder holds runs of which none is finished.
    """
    found: list[Path] = []
    for path in map(existing, paths):
        if is_run(path) or not (runs_under(path) or read_jobs(path)):
            found.append(path)
            continue
        done, left = finished(path), missing(path)
        if not done:
            raise RunError("no run is finished yet", where=str(path), mend=f"vbench status {path}")
        found += done
        if left:
            sys.stderr.write(f"vbench: not finished, and left out: {len(left)} of {path}\n")
        sys.stderr.writelines(f"  {visible(words)}\n" for words in left)
    return list(dict.fromkeys(found))


def _place(sweep: Path, job: JobNote) -> Path:
    """Returns a job's folder, though the sweep's may have moved since."""
    inside = sweep.joinpath(*Path(job.run_dir).parts[-3:])  # dataset, model, sampler-id
    return inside if inside.is_dir() else Path(job.run_dir)


def write_sweep(sweep: Path) -> list[Path]:
    """Writes tables/ and figures/ of what is finished.

    Args:
        sweep: The sweep's folder.

    Returns:
        The figures' files.

    Raises:
        RunError: The folder cannot be written, or a run cannot be read.
    """
    runs = [load_run(run) for run in finished(sweep)]
    if not runs:
        return []
    rows, reason = graded_rows(runs)
    if reason:
        sys.stderr.write(f"vbench: nothing is compared: {visible(reason)}\n")
    shown = [
        RunSummary(name, run.summary, run.config["limit"], metric_mark(run.config), own)
        for name, run, own in zip(run_names(runs), runs, rows, strict=True)
    ]
    for name, table in tables(shown).items():
        save(table, sweep / "tables", name)
    return write_figures(runs, rows, sweep / "figures")


def write_figures(
    runs: Sequence[Run], rows: Sequence[Mapping[str, Row]], folder: Path
) -> list[Path]:
    """Writes a figure per axis and headline test along which the runs can be compared.

    Args:
        runs: Finished runs, in the order of their sweep.
        rows: From `graded.graded_rows`.
        folder: Where to.

    Returns:
        The files.

    Raises:
        RunError: The folder cannot be written.
    """
    files = []
    for found in ablations(runs, rows):
        test = re.sub(r"[^\w.-]+", "-", found.test)
        files += save_drawing(drawing(found), folder, f"{found.axis.name}_{test}")
    return files
