"""The story of one evaluation, from a composed command to a finished run folder."""

from __future__ import annotations

import errno
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vbench.checks import check_metric, check_pairing
from vbench.errors import RunError
from vbench.records import Clip, Outcome, Request, Sample, Score
from vbench.results.mirror import Mirror, NoMirror
from vbench.results.run import Run, load_run, metric_mark
from vbench.results.text import visible
from vbench.schema import (
    compose,
    config_digest,
    identity,
    instantiate,
    plain,
    run_name,
    write_hydra,
)

if TYPE_CHECKING:
    from omegaconf import DictConfig

    from vbench.loop.cache import EmbeddingCache
    from vbench.loop.job import Job
    from vbench.results.answers import Tally
    from vbench.results.store import RunFolder

_DISK = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EACCES, errno.EPERM)


@dataclass(frozen=True)
class Parts:
    """What a command composes, built."""

    dataset: Any
    prompt: Any
    scorer: Any
    metric: Any
    trainer: Any
    loader: Any
    logger: Any
    sampler: Any
    model: Any

    @classmethod
    def build(cls, config: DictConfig) -> Parts:
        """Builds each node of the config under its own name, the model last."""
        return cls(**{part.name: instantiate(config, part.name) for part in fields(cls)})


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
    from vbench.loop.predict import make_trainer
    from vbench.results.answers import Tally
    from vbench.results.samples import write_samples
    from vbench.results.store import RunFolder, cannot_write, open_run

    samples = samples_of(parts, config)
    asked = [(sample, parts.scorer.requests(sample, parts.prompt)) for sample in samples]
    trainer = make_trainer(parts.trainer)
    path = run_path(config)
    folder = RunFolder(path, (config.shard, config.shards))
    requests = [request for _, of_sample in asked for request in of_sample]
    job = _job(parts, config, trainer, requests, folder, share)
    first = trainer.is_global_zero
    if first:
        open_run(path, plain(config), identity, fresh=config.fresh)
    tally = Tally(folder, asked, job.plan.keys, parts.scorer)
    live = first and config.shards == 1  # shards have no one process that sees them all
    mirror: Mirror = _opened(parts.logger, path, config) if live else NoMirror()
    try:
        if first:
            write_samples(path, asked, job.plan.keys, job.plan.contents())
        if ask:
            _answer(job, tally, mirror, parts.metric.outcome)
        if not first:
            return None
        tally.read()
        if config.shards > 1 and tally.missing():
            _wait(tally, config)
            return None
        mirror = mirror if live else _opened(parts.logger, path, config)
        _finish(parts, tally, mirror, config, trainer.strategy.root_device.type)
    except BaseException as error:
        _note_failure(folder, error)
        mirror.fail()
        if isinstance(error, OSError) and error.errno in _DISK:
            raise cannot_write(path, error) from error
        raise
    return load_run(path)


def _note_failure(folder: RunFolder, error: BaseException) -> None:
    state = "interrupted" if isinstance(error, KeyboardInterrupt) else "failed"
    with suppress(RunError):  # it may be the disk that has failed
        folder.write_status(state, error=visible(" ".join(str(error).split())))


def _opened(mirror: Mirror, path: Path, config: DictConfig) -> Mirror:
    mirror.start(path, config_digest(config), run_name(config), identity(plain(config)))
    return mirror


def run_path(config: DictConfig) -> Path:
    """Returns the folder that a composed command runs in."""
    return Path(config.run_dir or Path(config.paths.outputs, "runs", run_name(config)))


def samples_of(parts: Parts, config: DictConfig) -> Sequence[Sample]:
    """Returns the samples that a command asks, after checking that the parts fit together.

    Raises:
        ConfigError: They do not.
        DataError: The dataset cannot be read.
    """
    from vbench.loop.draw import draw

    check_metric(parts.metric, parts.model, parts.scorer)
    samples = draw(parts.dataset.samples(), config.limit, config.seed)
    check_pairing(parts.dataset, parts.model, parts.scorer, parts.prompt, samples)
    if "facts" in parts.model.needs:
        parts.model.bind(parts.dataset.facts())
    return samples


def embedding_cache(parts: Parts, config: DictConfig) -> EmbeddingCache:
    """Returns the cache that a command shares with other runs."""
    from vbench.loop.cache import EmbeddingCache

    place = Path(config.paths.cache).expanduser() / "embeddings.sqlite"
    limit = int(parts.loader.cache_gb * 1e9)
    return EmbeddingCache(place, limit, enabled=parts.loader.cache)


def _job(
    parts: Parts,
    config: DictConfig,
    trainer: Any,
    requests: Sequence[Request],
    folder: RunFolder,
    share: Share | None,
) -> Job:
    from vbench.frames.audio import read_audio
    from vbench.frames.cache import FrameCache, Opener
    from vbench.loop.family import plan_for
    from vbench.loop.job import Job

    loader, cache = parts.loader, embedding_cache(parts, config)
    precision = parts.trainer.precision
    plan = plan_for(parts.model, requests, parts.sampler, precision, cache.file_hash)
    kept_gb = max(loader.frame_cache_gb, share.frame_gb if share else 0.0)
    frames = FrameCache(cache.path.with_name("frames"), int(kept_gb * 1e9))
    return Job(
        plan=plan,
        model=parts.model,
        sampler=parts.sampler,
        trainer=trainer,
        loader=loader,
        precision=precision,
        open_source=Opener(
            loader.decode == "planned",
            frames if kept_gb else None,
            {path: file.fingerprint for path, file in plan.files.items()},
            share.wishes if share else None,
        ),
        cache=cache,
        shard=config.shard,
        shards=config.shards,
        on_error=config.on_error,
        strips=folder.frames if parts.logger.wants_frames else None,
        read_audio=read_audio,
    )


def _answer(job: Job, tally: Tally, mirror: Mirror, outcome: Callable[[Score], Outcome]) -> None:
    """Answers what is not answered yet of this process's share, from the cache or the model."""
    from vbench.results.store import write_json

    folder = tally.folder
    tally.read()
    rows, account = job.recall(tally.done())
    folder.write_predictions(rows, job.trainer.global_rank)
    tally.read()
    if job.trainer.is_global_zero:
        folder.write_status("running", keys=len(job.plan.all_keys()), done=len(tally.done()))
        if account:
            write_json(folder.path / "cache.json", account)
    work = job.work(tally.done())

    def show() -> None:
        mirror.add(tally.records(tally.newly_complete(), outcome))

    if work or job.trainer.world_size > 1:
        job.run(work, folder, show)


def _wait(tally: Tally, config: DictConfig) -> None:
    missing = tally.missing()
    tally.folder.write_status("waiting", missing=missing)
    sys.stderr.write(
        f"vbench: shard {config.shard} of {config.shards} is done; {missing} answers are still to "
        "come from the others, the last of them writes the tables\n"
    )


def _finish(parts: Parts, tally: Tally, mirror: Mirror, config: DictConfig, device: str) -> None:
    """Turns stored answers into records, estimates and tables."""
    from vbench.results.environment import environment
    from vbench.results.layouts import RunSummary, tables
    from vbench.results.rows import write_records
    from vbench.results.statistics import summary
    from vbench.results.store import write_json
    from vbench.results.tables import save

    path, scores = tally.folder.path, tally.scores()
    records = tally.records(scores, parts.metric.outcome)
    found = summary(parts.metric(scores), scores, tally.failures()) | tally.audio()
    write_records(path / "records.parquet", records)
    write_json(path / "environment.json", environment(**_facts(parts, device, tally)))
    write_hydra(config, path)
    shown = RunSummary(run_name(config), found, config.limit, metric_mark(plain(config)))
    for name, table in tables([shown]).items():
        save(table, path / "tables", name)
    write_json(path / "summary.json", found)
    tally.folder.write_status("done", samples=len(scores), answered=found["coverage"]["answered"])
    mirror.finish(records, found["tests"], tally.folder.frames)


def _facts(parts: Parts, device: str, tally: Tally) -> dict[str, object]:
    """Returns what environment.json says of the data, the model and where it ran."""
    from vbench.results.samples import dataset_hashes

    preprocess = getattr(parts.model, "preprocess", None)
    # A language model says so with each reply; asking its weights might load them for nothing.
    dtypes = {row.reply.dtype for row in tally.rows.values() if row.reply and row.reply.dtype}
    if not hasattr(type(parts.model), "answer") and (
        weights := getattr(parts.model, "module", None)
    ):
        dtypes = {str(weight.dtype).removeprefix("torch.") for weight in weights.parameters()}
    return {
        "dataset": dataset_hashes(tally.folder.path),
        "model": parts.model.identity(),
        "preprocess": preprocess.digest() if preprocess is not None else None,
        "weight_dtype": ", ".join(sorted(dtypes)) or None,
        "precision": parts.trainer.precision,
        "device": device,
        "devices": parts.trainer.devices * parts.trainer.num_nodes,
    }
