"""What happens to predictions: written down every few seconds, whatever happens next."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from typing import Any, Literal, Protocol

import lightning
from lightning.pytorch.callbacks import BasePredictionWriter

from vbench.errors import RunError
from vbench.records import Prediction


class Store(Protocol):
    """Where predictions go."""

    def write_predictions(self, rows: Sequence[Prediction], rank: int) -> None:
        """Writes rows durably."""
        ...


class PredictionWriter(BasePredictionWriter):
    """Buffers rows and flushes them by age, at the end, and when the loop breaks.

    Args:
        store: The run folder.
        flush_seconds: Rows older than this are on disk.
        on_error: `record` goes on after a failed row, `fail` ends the run with it.
        after_flush: Called on rank 0 after each flush.
    """

    def __init__(
        self,
        store: Store,
        flush_seconds: float,
        on_error: Literal["record", "fail"] = "record",
        after_flush: Callable[[], None] | None = None,
    ) -> None:
        super().__init__(write_interval="batch")
        self.store = store
        self.flush_seconds = flush_seconds
        self.on_error = on_error
        self.after_flush = after_flush
        self.buffer: list[Prediction] = []
        self.flushed = time.monotonic()
        self._told: set[str] = set()

    def write_on_batch_end(
        self, trainer: lightning.Trainer, pl_module: Any, prediction: Any, *unused: Any
    ) -> None:
        """Takes a batch's rows.

        Raises:
            RunError: A row failed and `on_error` is `fail`.
        """
        self.buffer += prediction
        for row in prediction:
            if row.status != "ok":
                self._failed(row)
        if time.monotonic() - self.flushed >= self.flush_seconds:
            self.flush(trainer)

    def flush(self, trainer: lightning.Trainer) -> None:
        """Writes what is buffered as one shard."""
        rows, self.buffer = self.buffer, []
        self.store.write_predictions(rows, trainer.global_rank)
        self.flushed = time.monotonic()
        if self.after_flush is not None and trainer.global_rank == 0:
            self.after_flush()

    def _failed(self, row: Prediction) -> None:
        line = f"{row.status}: {row.path or row.kind}: {row.reason}"
        if not line.isprintable():  # a name may hold a line break
            line = ascii(line)[1:-1]
        if self.on_error == "fail":
            raise RunError(
                f"{row.status}, and on_error=fail ends the run",
                where=row.path or row.kind,
                why=row.reason,
                mend="mend the file, or go on without it with on_error=record; either resumes",
            )
        if line not in self._told:  # once a file, however many clips of it are asked for
            self._told.add(line)
            sys.stderr.write(f"{line}\n")

    def on_predict_end(self, trainer: lightning.Trainer, pl_module: Any) -> None:
        """Flushes the rest."""
        self.flush(trainer)

    def on_exception(
        self, trainer: lightning.Trainer, pl_module: Any, exception: BaseException
    ) -> None:
        """Saves what is already answered before the exception goes on its way."""
        self.store.write_predictions(self.buffer, trainer.global_rank)
        self.buffer = []


class Progress(lightning.Callback):
    """Pieces of work done, rate and time left, on stderr: a bar on a terminal, lines elsewhere.

    Args:
        total: Pieces of work of this rank.
        every_seconds: How often a line is printed where there is no terminal.
    """

    def __init__(self, total: int, every_seconds: float = 15.0) -> None:
        self.total = total
        self.done = 0
        self.every_seconds = every_seconds
        self.started = self.printed = time.monotonic()

    def on_predict_start(self, trainer: lightning.Trainer, pl_module: Any) -> None:
        """Starts the clock."""
        self.started = self.printed = time.monotonic()

    def on_predict_batch_end(
        self, trainer: lightning.Trainer, pl_module: Any, outputs: Any, batch: Any, *unused: Any
    ) -> None:
        """Counts a batch."""
        self.done += len(batch.work)
        terminal = sys.stderr.isatty()
        now = time.monotonic()
        due = now - self.printed >= (0.2 if terminal else self.every_seconds)
        last = self.done == self.total
        if trainer.global_rank == 0 and (due or last):
            self.printed = now
            end = "\n" if last or not terminal else ""
            sys.stderr.write("\r" * terminal + self.line(now) + end)
            sys.stderr.flush()

    def line(self, now: float) -> str:
        """Returns the line to print at a moment of the monotonic clock."""
        rate = self.done / max(now - self.started, 1e-9)
        left = int((self.total - self.done) / max(rate, 1e-9))
        share = self.done / max(self.total, 1)
        return (
            f"predict {share:4.0%}  {self.done}/{self.total}  {rate:.1f}/s"
            f"  {left // 60}:{left % 60:02d} left"
        )
