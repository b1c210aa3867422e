"""The story of a sweep: one evaluation per combination of values, each in a folder of its own."""

from __future__ import annotations

import hashlib
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from vbench.composition import multirun
from vbench.errors import ConfigError
from vbench.overrides import jobs
from vbench.schema import compose, config_digest, run_name

if TYPE_CHECKING:
    from omegaconf import DictConfig


Run = Callable[["DictConfig"], int]
"""Evaluates one config and returns its exit code; raises nothing of class Exception."""


def sweep(overrides: Sequence[str], prepare: Callable[[Sequence[DictConfig]], Run]) -> int:
    """Runs every job of a sweep, the failing ones included.

    All jobs are composed and checked before the first one runs.

    Args:
        overrides: From `composition.sweep_overrides`.
        prepare: Is shown all jobs, and returns what runs one.

    Returns:
        0 if every job is done, 1 if one failed, else 3 if one is done with failures recorded.

    Raises:
        ConfigError: A job's config is wrong, or different jobs share a fixed run_dir.
    """
    each = jobs(overrides)
    configs = [compose(job) for job in each]
    _check_folders(configs)
    folder = Path(configs[0].paths.outputs, "sweeps", _name(configs))
    said = [" ".join(text.lstrip("+") for text in job) or "defaults" for job in each]
    run = prepare(configs)

    def evaluate(config: DictConfig, number: int) -> int:
        if config.run_dir is None:
            config.run_dir = str(folder / run_name(config))
        sys.stderr.write(f"\nvbench: job {number + 1} of {len(each)}: {said[number]}\n")
        with _as_own_command(["evaluate", *each[number], f"run_dir='{config.run_dir}'"]):
            return run(config)

    codes = multirun(overrides, folder, evaluate)
    sys.stderr.write(f"\nvbench: {codes.count(0)} of {len(codes)} jobs done; {folder}\n")
    for code, words in zip(codes, said, strict=True):
        if code:
            state = "done with failures recorded" if code == 3 else f"failed (exit code {code})"
            sys.stderr.write(f"  {state}: {words}\n")
    return next((code for code in (1, 3) if code in codes), 0)


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
