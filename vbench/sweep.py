"""The story of a sweep: one evaluation per combination of values, each in a folder of its own.

With Hydra's basic launcher all jobs run in this process and share what they can
(vbench.together). Other launchers run them in other processes, at once: those share the caches on
disk, and whoever ends last writes the sweep's tables, figures and report.
"""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from vbench.composition import multirun, runs_here
from vbench.errors import ConfigError, RunError, VbenchError
from vbench.overrides import jobs
from vbench.results.jobs import JobNote, give_up_job, note_job, note_jobs, read_jobs
from vbench.results.text import visible
from vbench.schema import compose, config_digest, run_name

if TYPE_CHECKING:
    from omegaconf import DictConfig


Run = Callable[["DictConfig"], int]
"""Evaluates one config and returns its exit code; raises nothing of class Exception."""


@dataclass(frozen=True)
class Sweep:
    """What became of a sweep."""

    folder: Path
    runs: tuple[str, ...]
    """The folders of its jobs, in order."""
    code: int
    """0 if every job is done, 1 if one failed, else 3 if one is done with failures recorded."""


def sweep(
    overrides: Sequence[str], prepare: Callable[[Sequence[DictConfig]], Run], apart: Run
) -> Sweep:
    """Runs every job of a sweep, the failing ones included.

    All jobs are composed and checked before the first one runs.

    Args:
        overrides: From `composition.sweep_overrides`.
        prepare: Is shown all jobs, and returns what runs one in this process.
        apart: Runs one in a process that a launcher has started; must be picklable.

    Raises:
        ConfigError: A job's config is wrong, or different jobs share a fixed run_dir.
        RunError: The launcher failed, or the sweep's folder cannot be written.
    """
    each = jobs(overrides)
    configs = [compose(job) for job in each]
    _check_folders(configs)
    folder = Path(configs[0].paths.outputs, "sweeps", _name(configs))
    notes = [_note(k, *job, folder) for k, job in enumerate(zip(each, configs, strict=True))]
    if _speaks():
        note_jobs(folder, notes)
    here = runs_here(overrides)
    run = prepare(configs) if here else apart
    task = _Task(folder, tuple(notes), tuple(map(tuple, each)), run, here, str(Path.cwd()))
    try:
        codes = multirun(overrides, folder, task)
    except VbenchError:
        raise
    except Exception as error:
        if here:
            raise
        _give_up(folder)
        raise RunError(
            "the launcher failed",
            where=str(folder),
            why=" ".join(f"{type(error).__name__}: {error}".split())[:400],
            mend=f"`vbench status {folder}` says how far each is; the same command goes on",
        ) from error
    _report(folder, notes, codes)
    code = next((code for code in (1, 3) if code in codes), 0)
    return Sweep(folder, tuple(dict.fromkeys(note.run_dir for note in notes)), code)


def _note(number: int, words: Sequence[str], config: DictConfig, folder: Path) -> JobNote:
    place = str(folder / run_name(config)) if config.run_dir is None else config.run_dir
    told = " ".join(text.lstrip("+") for text in words if not text.startswith("hydra"))
    return JobNote(number, told or "defaults", place)


def _speaks() -> bool:
    """Says whether this process speaks for its job: the first of the ranks that Slurm starts."""
    return os.environ.get("SLURM_PROCID", "0") == "0"


def _report(folder: Path, notes: Sequence[JobNote], codes: Sequence[int]) -> None:
    sys.stderr.write(f"\nvbench: {codes.count(0)} of {len(codes)} jobs done; {folder}\n")
    for code, note in zip(codes, notes, strict=True):
        if code:
            state = "done with failures recorded" if code == 3 else f"failed (exit code {code})"
            sys.stderr.write(f"  {state}: {note.words}\n")


@dataclass(frozen=True)
class _Task:
    """Runs one job; crosses to the processes of a launcher."""

    folder: Path
    notes: tuple[JobNote, ...]
    words: tuple[tuple[str, ...], ...]
    run: Run
    here: bool
    """Whether all jobs run in one process."""
    home: str
    """The folder that the command was typed in."""

    def __call__(self, config: DictConfig, number: int) -> int:
        os.chdir(self.home)  # relative paths of the command start there
        note = self.notes[number]
        config.run_dir = note.run_dir
        if config.logger.get("group", "") is None:
            config.logger.group = self.folder.name
        sys.stderr.write(f"\nvbench: job {number + 1} of {len(self.notes)}: {note.words}\n")
        words = ["evaluate", *self.words[number], f"run_dir='{config.run_dir}'"]
        if self._needs_a_process(config):
            code = _in_a_process(words, config)
        else:
            with _as_own_command(words):
                code = self.run(config)
        if _speaks():
            note_job(self.folder, replace(note, code=code))
            _conclude(self.folder)
        return code

    def _needs_a_process(self, config: DictConfig) -> bool:
        """Says whether Lightning must find a command to start further ranks with.

        It runs the command of its process again, which in a launcher's is the launcher's own. Slurm
        has started all ranks itself.
        """
        many = config.trainer.devices * config.trainer.num_nodes > 1
        return many and not self.here and "SLURM_PROCID" not in os.environ


def _conclude(folder: Path) -> None:
    """Writes the sweep's tables, figures and report if no other job is still to come."""
    if any(job.code is None for job in read_jobs(folder)):
        return
    from vbench.report import report_runs
    from vbench.results.sweeps import finished, write_sweep

    if not finished(folder):
        return
    try:
        write_sweep(folder)
        report_runs([str(folder)], strips=False)  # decodes nothing that the runs have not
    except VbenchError as error:  # the runs themselves are done
        sys.stderr.write(f"vbench: the sweep's tables and report: {visible(error.what)}\n")


def _give_up(folder: Path) -> None:
    """Counts jobs that a launcher has lost as failed; one that still runs ends as it ends."""
    for job in read_jobs(folder):
        if job.code is None:
            give_up_job(folder, job)
    _conclude(folder)


def _in_a_process(words: Sequence[str], config: DictConfig) -> int:
    group = config.logger.get("group")
    own = [word for word in words if not word.startswith("hydra")]
    named = ["hydra.mode=RUN"] + ([] if group is None else [f"logger.group='{group}'"])
    return subprocess.run([sys.executable, "-m", "vbench", *own, *named], check=False).returncode


def _check_folders(configs: Sequence[DictConfig]) -> None:
    owners: dict[str, str] = {}
    for config in configs:
        digest = config_digest(config)
        if config.run_dir is not None and owners.setdefault(config.run_dir, digest) != digest:
            raise ConfigError(
                "jobs of a sweep cannot share one run_dir",
                where=f"run_dir={config.run_dir}",
                why=f"the sweep has {len(configs)} jobs",
                mend="leave run_dir out; sweep=NAME names the folder that holds them all",
            )


def _name(configs: Sequence[DictConfig]) -> str:
    """Returns the name given, else one that the same sweep gets again, so that it resumes."""
    first = configs[0]
    given = first.sweep or first.command.choices.get("experiment")
    if not given:
        digests = sorted({config_digest(config) for config in configs})
        given = "sweep-" + hashlib.sha256(" ".join(digests).encode()).hexdigest()[:8]
    return re.sub(r"[^\w.-]+", "-", str(given))


@contextmanager
def _as_own_command(words: list[str]) -> Iterator[None]:
    """Lets a job on many devices start and end as if it were alone in this process."""
    # Lightning starts further ranks by running sys.argv again: for a job that is its own command,
    # not the whole sweep. It leaves the ranks' addresses in the environment, and the group open.
    argv, environment = sys.argv, dict(os.environ)
    sys.argv = [argv[0], *words]
    try:
        yield
    finally:
        sys.argv = argv
        os.environ.clear()
        os.environ.update(environment)
        distributed = sys.modules.get("torch.distributed")
        if distributed is not None and distributed.is_initialized():
            distributed.destroy_process_group()
