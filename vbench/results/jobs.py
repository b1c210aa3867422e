"""The jobs of a sweep, as its folder notes them: what each is, where it runs, how it ended.

    jobs/0003.json     the words of the fourth job, its run folder, its exit code once it has one
    jobs/0003.lost     the launcher has lost it; what the job itself has noted counts for more

The driver writes all of them before any job starts, each job its own when it ends. So whoever ends
last can tell, in whatever process or on whatever machine, and anybody can see what is missing.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from vbench.results.store import write_atomically, write_json


@dataclass(frozen=True)
class JobNote:
    """One job of a sweep."""

    number: int
    """From 0, in Hydra's order."""
    words: str
    """Its command, as the sweep spells it out."""
    run_dir: str
    """As the command would spell it: from where it was typed."""
    code: int | None = None
    """How it ended: 0 done, 1 failed, 3 done with failures recorded; None: it has not, since the
    sweep was last started."""


def note_jobs(sweep: Path, jobs: Sequence[JobNote]) -> None:
    """Notes what a sweep is about to do, instead of what an earlier start has noted.

    Args:
        sweep: The sweep's folder.
        jobs: All its jobs.

    Raises:
        RunError: The folder cannot be written.
    """
    for file in [*(sweep / "jobs").glob("*.json"), *(sweep / "jobs").glob("*.lost")]:
        with suppress(OSError):
            file.unlink()
    for job in jobs:
        note_job(sweep, job)


def note_job(sweep: Path, job: JobNote) -> None:
    """Notes how one job ended.

    Args:
        sweep: The sweep's folder.
        job: The job.

    Raises:
        RunError: The folder cannot be written.
    """
    write_json(sweep / "jobs" / f"{job.number:04d}.json", asdict(job))


def give_up_job(sweep: Path, job: JobNote) -> None:
    """Notes that a launcher has lost a job: failed, unless it ends after all and says how.

    Args:
        sweep: The sweep's folder.
        job: The job.

    Raises:
        RunError: The folder cannot be written.
    """
    # Not in the job's own note: it may be written at this moment.
    write_atomically(sweep / "jobs" / f"{job.number:04d}.lost", Path.touch)


def read_jobs(sweep: Path) -> list[JobNote]:
    """Returns the jobs that a sweep noted when it was last started; a damaged note is left out.

    Args:
        sweep: The sweep's folder.
    """
    found = []
    for file in sorted((sweep / "jobs").glob("[0-9]*.json")):
        with suppress(OSError, ValueError, TypeError):
            job = JobNote(**json.loads(file.read_text(encoding="utf-8")))
            lost = job.code is None and file.with_suffix(".lost").exists()
            found.append(replace(job, code=1) if lost else job)
    return found
