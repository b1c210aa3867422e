"""One process's share of a run: what of the plan is its own, and how that is put to the model."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import lightning

from vbench.loop.cache import EmbeddingCache
from vbench.loop.data import WorkDataset
from vbench.loop.family import ask_for
from vbench.loop.loader import Loader
from vbench.loop.plan import Plan, Work
from vbench.loop.predict import Predictor, predict
from vbench.loop.recall import CachedFrames, Recall, keys_of
from vbench.loop.settings import LoaderSettings, check_precision
from vbench.loop.sources import Source
from vbench.loop.views import ReadAudio
from vbench.loop.writer import PredictionWriter, Progress, Store
from vbench.records import Prediction


@dataclass(frozen=True)
class Job:
    """A shard's and in it a rank's part of a plan."""

    plan: Plan
    model: Any
    sampler: Any
    trainer: lightning.Trainer
    loader: LoaderSettings
    precision: str
    open_source: Callable[[str], Source]
    cache: EmbeddingCache
    shard: int = 0
    shards: int = 1
    on_error: Literal["record", "fail"] = "record"
    strips: Path | None = None
    """Where frame strips are left, if anybody shows them."""
    read_audio: ReadAudio | None = None
    """Decodes sound; for a model that needs it."""

    def work(self, done: Collection[str]) -> list[Work]:
        """Returns what is left to do.

        Args:
            done: Keys that need no more work.
        """
        ranks = self.trainer.world_size
        share = self.shard * ranks + self.trainer.global_rank
        return self.plan.work(done, self.loader.texts_per_batch, share, self.shards * ranks)

    def recall(self, done: Collection[str]) -> tuple[list[Prediction], dict[str, Any]]:
        """Looks up in the cache what is left to do.

        Args:
            done: Keys that need no more work.

        Returns:
            The rows that were found, and an account by kind of what was asked, found and missed.
        """
        recall, keys = self._recall(), keys_of(self.work(done))
        rows = recall.rows(keys)
        return rows, recall.account(keys, {row.key for row in rows})

    def run(
        self,
        work: list[Work],
        store: Store,
        after_flush: Callable[[], None],
    ) -> None:
        """Puts work through the loop and waits for the other ranks.

        Args:
            work: From `work`.
            store: Takes the answers.
            after_flush: Called on rank 0 when answers have been stored.

        Raises:
            ConfigError: The device that `trainer=auto` found lacks the precision.
        """
        # Here and not where the trainer is made: who reads what a GPU has answered needs no GPU.
        if getattr(type(self.model), "module", None):  # what has no weights has no precision
            check_precision(self.precision, self.trainer.strategy.root_device.type)
        preprocess = getattr(self.model, "preprocess", None)
        frames = CachedFrames(self.cache, self.plan.frame_base) if self.plan.frame_base else None
        dataset = WorkDataset(
            work,
            self.open_source,
            self.sampler,
            preprocess,
            self.strips,
            frames,
            self.read_audio if "audio" in getattr(self.model, "needs", ()) else None,
        )
        loader = Loader(
            dataset,
            self.loader.batch_size,
            workers=self.loader.workers(self.trainer.num_devices) if preprocess else 0,
            timeout_s=self.loader.decode_timeout_s,
        )
        weights = getattr(self.model, "module", None)
        predictor = Predictor(ask_for(self.model, self.loader), weights, self.precision)
        kept = Keeping(store, self._recall())
        writer = PredictionWriter(kept, self.loader.flush_seconds, self.on_error, after_flush)
        with closing(loader):
            predict(self.trainer, predictor, loader, [writer, Progress(len(work))])

    def _recall(self) -> Recall:
        return Recall(self.plan, self.cache, self.strips)


@dataclass(frozen=True)
class Keeping:
    """A store that also remembers answers for other runs."""

    store: Store
    recall: Recall

    def write_predictions(self, rows: Sequence[Prediction], rank: int) -> None:
        """Writes rows, then caches them."""
        frames = [row for row in rows if row.kind == "frame"]
        answers = [row for row in rows if row.kind != "frame"]
        self.store.write_predictions(answers, rank)
        self.recall.keep(answers)
        self.recall.keep_frames(frames)
