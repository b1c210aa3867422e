"""The story of `vbench plan`: what an evaluation would do, before any weight is loaded."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from vbench.frames.source import open_source
from vbench.loop.extent import (
    Asked,
    DecodeRate,
    FileExtent,
    MeasureFile,
    asked_per_sample,
    decode_rate,
)
from vbench.loop.plan import FileWork, Plan, TextWork, Work
from vbench.loop.recall import keys_of
from vbench.loop.survey import survey
from vbench.parts import Parts, Query, run_path
from vbench.records import FINAL
from vbench.results.outlook import Amount, Answers, Bytes, Outlook, Time, lines, to_json
from vbench.results.pace import find_pace
from vbench.results.store import RunFolder, check_same, read_config
from vbench.schema import identity, plain, run_name

if TYPE_CHECKING:
    from omegaconf import DictConfig


def forecast(config: DictConfig) -> Outlook:
    """Plans a composed `evaluate` command without carrying it out.

    Files are hashed and their packets read; two of them are decoded to take the time. What is
    written: hashes, to the cache; and what a dataset that generates itself lacks.

    Args:
        config: From `schema.compose`.

    Returns:
        What there is to do.

    Raises:
        VbenchError: Evaluating would fail with it too.
    """
    parts = Parts.build(config)
    query = Query.of(parts, config)
    plan = query.plan
    share = parts.loader.texts_per_batch, config.shard, config.shards
    stored = _stored(config) & plan.all_keys()
    cached = set(query.cache.get(keys_of(plan.work(stored, *share))))
    left = plan.work(stored | cached, *share)
    scale = _Scale.of(plan, parts)
    return Outlook(
        name=run_name(config),
        run_dir=str(run_path(config)),
        samples=dict(Counter(sample.test for sample, _ in query.samples)),
        requests=sum(len(requests) for _, requests in query.samples),
        unique_requests=len(plan.keys),
        per_sample=scale.per_sample(query.samples),
        planned=scale.amount(plan.work((), parts.loader.texts_per_batch)),
        answers=Answers(len(plan.all_keys()), len(stored), len(cached)),
        left=scale.amount(left),
        bytes=scale.bytes(),
        time=scale.time(left, config),
        faults={path: e.fault for path, e in scale.extents.items() if e.fault},
    )


def present(outlook: Outlook, *, as_json: bool) -> int:
    """Prints an outlook to stdout.

    Returns:
        The exit code: 0.
    """
    for line in [to_json(outlook)] if as_json else lines(outlook):
        sys.stdout.write(f"{line}\n")
    return 0


def _stored(config: DictConfig) -> set[str]:
    """Returns the keys with a final row in the run folder: what a resumed run would not ask."""
    folder = run_path(config)
    if config.fresh or not (folder / "config.yaml").is_file():
        return set()
    check_same(folder, identity(read_config(folder)), identity(plain(config)))
    rows = RunFolder(folder).new_predictions()
    return {key for key, row in rows.items() if row.status in FINAL}


@dataclass(frozen=True)
class _Scale:
    """A plan with what was found out about its files."""

    plan: Plan
    parts: Parts
    extents: Mapping[str, FileExtent]
    """By path; none for a model that opens no file."""
    rate: DecodeRate | None

    @classmethod
    def of(cls, plan: Plan, parts: Parts) -> _Scale:
        """Reads the packets of every file, and decodes two."""
        loader = parts.loader
        decodes = "frames" in parts.model.needs
        files = {path: file for path, file in plan.files.items() if file.clips and decodes}
        sources = MeasureFile(files, parts.sampler, open_source)
        extents = {
            path: FileExtent(path, fault=found) if isinstance(found, str) else found
            for path, found in survey(
                sources, list(files), loader.num_workers, loader.decode_timeout_s
            )
        }
        preprocess = getattr(parts.model, "preprocess", None)
        rate = decode_rate(list(extents.values()), sources, preprocess) if preprocess else None
        return cls(plan, parts, extents, rate)

    def amount(self, work: Sequence[Work]) -> Amount:
        """Adds up pieces of work."""
        files = [item for item in work if isinstance(item, FileWork)]
        decoded = [file for file in files if file.path in self.extents and file.clips]
        return Amount(
            files=len(decoded),
            clips=sum(len(file.clips) for file in decoded),
            frames=sum(self.extents[f.path].frames([key for key, _ in f.clips]) for f in decoded),
            texts=sum(len(item.texts) for item in work if isinstance(item, TextWork)),
            pairs=sum(len(file.pairs) for file in files),
            replies=sum(len(file.asks) for file in files),
        )

    def per_sample(self, asked: Asked) -> Amount:
        """Counts what asking sample by sample would take."""
        every = [request for _, requests in asked for request in requests]
        told = sum(request.message is not None for request in every)
        if not self.extents:
            alone = "texts" if self.plan.texts else "pairs"
            return Amount(**{alone: len(every) - told}, replies=told)
        shown = [clip for extent in self.extents.values() for clip in extent.of_clip.items()]
        frames_of = {key: len(frames) for key, frames in shown}
        clips, frames, texts = asked_per_sample(asked, self.plan, frames_of)
        return Amount(files=clips, clips=clips, frames=frames, texts=texts, replies=told)

    def bytes(self) -> Bytes:
        """Adds up sizes."""
        extents = self.extents.values()
        frames = sum(extent.frames() for extent in extents)
        width = getattr(self.parts.model, "embedding_width", None)
        vectors = sum(len(file.clips) for file in self.plan.files.values()) + len(self.plan.texts)
        return Bytes(
            videos=sum(extent.size for extent in extents),
            decoded=sum(3 * extent.pixels * extent.frames() for extent in extents),
            prepared=round(self.rate.bytes_per_frame * frames) if self.rate else None,
            embeddings=4 * width * vectors if width else None,
        )

    def time(self, left: Sequence[Work], config: DictConfig) -> Time:
        """Estimates how long the rest takes."""
        files = [w.path for w in left if isinstance(w, FileWork) and w.clips]
        todo = [self.extents[path] for path in files if path in self.extents]
        rest, pace = self.amount(left), None
        if self.extents:
            pace = find_pace(Path(config.paths.outputs), run_path(config), plain(config))
        return Time(
            decode_cpu_s=self.rate.seconds(todo) if self.rate else None,
            decode_workers=self.parts.loader.workers(),
            measured_on=self.rate.files if self.rate else (),
            total_s=pace.seconds(rest.frames, rest.texts) if pace else None,
            pace=pace,
        )
