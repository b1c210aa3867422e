"""The story of one evaluation, from a composed command to a finished run folder."""

from __future__ import annotations

import errno
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vbench.errors import OtherRankError, RunError
from vbench.parts import Parts, Query, run_path
from vbench.records import Clip, Outcome, Score
from vbench.results.mirror import Mirror, NoMirror
from vbench.results.run import Run, load_run, metric_mark
from vbench.results.text import visible
from vbench.schema import compose, config_digest, identity, plain, run_name, write_hydra

if TYPE_CHECKING:
    from omegaconf import DictConfig

    from vbench.loop.job import Job
    from vbench.results.answers import Tally
    from vbench.results.store import RunFolder

_DISK = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EACCES, errno.EPERM)


def evaluate(*overrides: str) -> Run | None:
    """Does what `vbench evaluate OVERRIDES…` does.

    Args:
        *overrides: As typed on the command line: `"model=toy/clip"`, `"sampler.num_frames=8"`.

    Returns:
        The finished run; None on ranks other than the first, and while shards are missing.

    Raises:
        VbenchError: The command, the data, the model or the disk is at fault; it says which and
            how to mend it.
    """
    from vbench.loop.workers import refuse_to_run_in_a_worker

    refuse_to_run_in_a_worker()
    return run(compose(overrides))


def run(config: DictConfig) -> Run | None:
    """Runs a composed command (see `evaluate`)."""
    return run_parts(Parts.build(config), config)


@dataclass(frozen=True)
class Share:
    """What a job of a sweep does for the others: who opens a file first decodes for all."""

    wishes: Mapping[str, Sequence[tuple[Clip, Any]]]
    """By path: every clip of it with a sampler, of any job."""
    frame_gb: float
    """Decoded frames that are kept."""


def run_parts(
    parts: Parts, config: DictConfig, *, ask: bool = True, share: Share | None = None
) -> Run | None:
    """Runs a command whose parts are built (see `evaluate`).

    Args:
        parts: From `Parts.build`.
        config: What they were built from.
        ask: False: what is not answered stays so; the model is left alone.
        share: What other jobs of the same sweep want; None: it is alone.
    """
    from vbench.loop.predict import led, make_trainer
    from vbench.results.answers import Tally
    from vbench.results.store import RunFolder, open_run

    query = Query.of(parts, config)
    trainer = make_trainer(parts.trainer) if ask else None
    first = trainer is None or trainer.is_global_zero
    folder = RunFolder(run_path(config), (config.shard, config.shards))
    tally = Tally(folder, query.samples, query.plan.keys, parts.scorer, parts.sampler)

    def open_folder() -> bool:
        open_run(folder.path, plain(config), identity, fresh=config.fresh)
        with _failure_told(folder, NoMirror()):
            _write_samples(folder, query)
            tally.read()
        return not query.plan.all_keys() <= tally.done()

    left = open_folder() if trainer is None else led(trainer, open_folder)
    live = first and config.shards == 1  # shards have no one process that sees them all
    mirror: Mirror = _opened(parts.logger, config) if live else NoMirror()
    with _failure_told(folder, mirror):
        if trainer is not None and left:
            _answer(_job(parts, config, query, trainer, share), tally, mirror, parts.metric.outcome)
        complete = first and _complete(tally, config)
    if not complete:
        return None
    mirror = mirror if live else _opened(parts.logger, config)
    with _failure_told(folder, mirror):
        _finish(parts, tally, mirror, config)
    return load_run(folder.path)


def _write_samples(folder: RunFolder, query: Query) -> None:
    from vbench.results.samples import write_samples

    plan = query.plan
    changed = write_samples(folder.path, query.samples, plan.keys, plan.contents())
    if changed:  # files of a dataset are no settings, so the folder is the same
        sys.stderr.write(
            f"vbench: {changed} samples are not what this folder asked before: the dataset has "
            f"changed; its tables will be of what it is now ({folder.path})\n"
        )


@contextmanager
def _failure_told(folder: RunFolder, mirror: Mirror) -> Iterator[None]:
    """Notes in the run folder and its mirror what ends the run."""
    from vbench.results.store import cannot_write

    try:
        yield
    except BaseException as error:
        state = "interrupted" if isinstance(error, KeyboardInterrupt) else "failed"
        told = isinstance(error, OtherRankError) and folder.state() == "failed"
        with suppress(RunError):  # it may be the disk that has failed
            if not told:  # else the rank that knows why has said so
                folder.write_status(state, error=visible(" ".join(str(error).split())))
        mirror.fail()
        if isinstance(error, OSError) and error.errno in _DISK:
            raise cannot_write(folder.path, error) from error
        raise


def _opened(mirror: Mirror, config: DictConfig) -> Mirror:
    settings = identity(plain(config))
    mirror.start(run_path(config), config_digest(config), run_name(config), settings)
    return mirror


def _job(parts: Parts, config: DictConfig, query: Query, trainer: Any, share: Share | None) -> Job:
    from vbench.frames.audio import read_audio
    from vbench.frames.cache import FrameCache, Opener
    from vbench.loop.job import Job
    from vbench.results.store import RunFolder

    loader, plan = parts.loader, query.plan
    kept_gb = max(loader.frame_cache_gb, share.frame_gb if share else 0.0)
    frames = FrameCache(query.cache.path.with_name("frames"), int(kept_gb * 1e9))
    return Job(
        plan=plan,
        model=parts.model,
        sampler=parts.sampler,
        trainer=trainer,
        loader=loader,
        precision=parts.trainer.precision,
        open_source=Opener(
            loader.decode == "planned",
            frames if kept_gb else None,
            {path: file.fingerprint for path, file in plan.files.items()},
            share.wishes if share else None,
        ),
        cache=query.cache,
        shard=config.shard,
        shards=config.shards,
        on_error=config.on_error,
        strips=RunFolder(run_path(config)).frames if parts.logger.wants_frames else None,
        read_audio=read_audio,
    )


def _answer(job: Job, tally: Tally, mirror: Mirror, outcome: Callable[[Score], Outcome]) -> None:
    """Answers what is not answered yet of this process's share, from the cache or the model."""
    from vbench.results.environment import AnsweredHere
    from vbench.results.store import write_json

    folder, trainer = tally.folder, job.trainer
    tally.read()
    rows, account = job.recall(tally.done())
    folder.write_predictions(rows, trainer.global_rank)
    tally.read()
    if trainer.is_global_zero:
        folder.write_status("running", keys=len(job.plan.all_keys()), done=len(tally.done()))
        if account:
            write_json(folder.path / "cache.json", account)
    work = job.work(tally.done())

    def show() -> None:
        if trainer.world_size > 1 and folder.state() == "failed":
            raise OtherRankError(
                "another process of the run has failed",
                where=str(folder.path),
                why="it says so in status.json",
                mend="mend what it says, then type the same command again: it resumes",
            )
        mirror.add(tally.records(tally.newly_complete(), outcome))

    if work or trainer.world_size > 1:
        device, devices = trainer.strategy.root_device.type, trainer.num_devices * trainer.num_nodes
        job.run(work, AnsweredHere(folder, job.model, device, devices), show)


def _complete(tally: Tally, config: DictConfig) -> bool:
    """Says whether all is there for the tables; else other shards are waited for."""
    tally.read()
    missing = tally.missing() if config.shards > 1 else 0
    if missing:
        tally.folder.write_status("waiting", missing=missing)
        # Had the last of the others ended before this was noted, its `done` would be gone.
        tally.read()
        missing = tally.missing()
    if missing:
        sys.stderr.write(
            f"vbench: shard {config.shard} of {config.shards} is done; {missing} answers are still "
            "to come from the others, the last of them writes the tables\n"
        )
    return not missing


def _finish(parts: Parts, tally: Tally, mirror: Mirror, config: DictConfig) -> None:
    """Turns stored answers into records, estimates and tables."""
    from vbench.results.environment import write_environment
    from vbench.results.layouts import RunSummary, tables
    from vbench.results.rows import write_records
    from vbench.results.statistics import summary
    from vbench.results.store import write_json
    from vbench.results.tables import save

    path, scores = tally.folder.path, tally.scores()
    records = tally.records(scores, parts.metric.outcome)
    found = summary(parts.metric(scores), scores, tally.failures(), tally.frames()) | tally.audio()
    write_records(path / "records.parquet", records)
    write_environment(tally.folder, _facts(parts, path))
    write_hydra(config, path)
    choices = config.command.choices
    name = str(choices.get("entry") or choices.model)
    shown = RunSummary(name, found, config.limit, metric_mark(plain(config)))
    for name, table in tables([shown]).items():
        save(table, path / "tables", name)
    write_json(path / "summary.json", found)
    tally.folder.write_status("done", samples=len(scores), answered=found["coverage"]["answered"])
    mirror.finish(records, found["tests"], tally.folder.frames)


def _facts(parts: Parts, path: Path) -> dict[str, object]:
    """Returns what environment.json says of the data and the model; asks for no weights."""
    from vbench.results.samples import dataset_hashes

    preprocess = getattr(parts.model, "preprocess", None)
    return {
        "dataset": dataset_hashes(path),
        "model": parts.model.identity(),
        "preprocess": preprocess.digest() if preprocess is not None else None,
        "precision": parts.trainer.precision,
    }
