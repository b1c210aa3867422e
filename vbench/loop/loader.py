"""Feeds the loop: work is prepared ahead, and what prepares it can be killed.

A decoder may hang, crash or eat all memory. torch's DataLoader waits for ever for the first and
ends the run with the others; here each costs the one file it happened to. A thread per worker hands
it one piece of work at a time, so that there is never a doubt which piece it died of.
"""

from __future__ import annotations

import queue
import threading
from collections import deque
from collections.abc import Generator
from contextlib import closing

from vbench.loop.data import Batch, Prepared, PreparedFile
from vbench.loop.workers import (
    StartMethod,
    Worker,
    WorkerLostError,
    WorkSource,
    lost,
    prepare,
)

BATCH_BYTES, WAITING_BYTES = 2**28, 2**29
"""Of pixel values: a batch that has so many is full, and with so many waiting nothing is begun."""


class Loader:
    """Batches of prepared work, in the order of the work whatever is finished first.

    Args:
        source: The work.
        batch_size: Pieces of work per batch, fewer where they are large.
        workers: Processes that prepare; 0: this one does, and nothing can stop a hanging decoder.
        timeout_s: A piece that takes a worker longer is given up.
        start_method: How processes are made; None: forked where that is safe.
    """

    def __init__(
        self,
        source: WorkSource,
        batch_size: int,
        workers: int,
        timeout_s: float,
        start_method: StartMethod | None = None,
    ) -> None:
        self.source = source
        self.batch_size = batch_size
        self.workers = min(workers, len(source.work))
        self.timeout_s = timeout_s
        self.start_method = start_method
        self._batches: Generator[Batch, None, None] | None = None

    def __len__(self) -> int:
        """The number of batches at most, which is all that Lightning needs."""
        return len(self.source.work)

    def __iter__(self) -> Generator[Batch, None, None]:
        self.close()
        self._batches = self._prepare()
        return self._batches

    def close(self) -> None:
        """Kills the workers, whatever they are doing."""
        if self._batches is not None:
            self._batches.close()

    def _prepare(self) -> Generator[Batch, None, None]:
        batch: list[Prepared] = []
        with closing(self._in_workers() if self.workers else self._here()) as items:
            for item in items:
                batch.append(item)
                del item  # it may be large: nothing but the batch is to hold it
                if len(batch) == self.batch_size or sum(map(_size, batch)) >= BATCH_BYTES:
                    yield Batch(batch)
                    batch = []
            if batch:
                yield Batch(batch)

    def _here(self) -> Generator[Prepared, None, None]:
        for index in range(len(self.source.work)):
            yield prepare(self.source, index)

    def _in_workers(self) -> Generator[Prepared, None, None]:
        with closing(_Crew(self)) as crew:
            yield from crew.items()


class _Crew:
    """Workers, and for each a thread that hands it work and takes in what it prepared."""

    def __init__(self, loader: Loader) -> None:
        self.loader = loader
        self.work = loader.source.work
        self.todo = deque(range(len(self.work)))
        # The next batch may wait complete, beside one piece in the hands of each worker.
        self.most_out = loader.batch_size + loader.workers
        self.out = 0
        self.waiting_bytes = 0
        self.changed = threading.Condition()
        self.results: queue.SimpleQueue[tuple[int, Prepared | Exception]] = queue.SimpleQueue()
        self.workers: list[Worker] = []
        self.threads: list[threading.Thread] = []

    def items(self) -> Generator[Prepared, None, None]:
        """Yields prepared work in order.

        Raises:
            RunError: Workers cannot be started, or the disk fails them.
        """
        for _ in range(self.loader.workers):
            self._hire()
        early: dict[int, Prepared] = {}
        for wanted in range(len(self.work)):
            while wanted not in early:
                self._take(early)
            with self.changed:
                self.out -= 1
                self.waiting_bytes -= _size(early[wanted])
                self.changed.notify_all()
            yield early.pop(wanted)

    def close(self) -> None:
        """Kills the workers and waits for their threads to end."""
        with self.changed:
            self.todo.clear()
            self.changed.notify_all()
        for worker in self.workers:
            worker.process.kill()
        for thread in self.threads:
            thread.join()
        for worker in self.workers:
            worker.close()

    def _take(self, early: dict[int, Prepared]) -> None:
        index, result = self.results.get()
        if isinstance(result, WorkerLostError):
            if self.todo:
                self._hire()  # here, for processes should be forked by the thread of the loop
            early[index] = lost(self.work[index], str(result))
        elif isinstance(result, Exception):
            raise result
        else:
            early[index] = result

    def _hire(self) -> None:
        worker = Worker(self.loader.source, self.loader.timeout_s, self.loader.start_method)
        thread = threading.Thread(target=self._feed, args=[worker], daemon=True)
        self.workers.append(worker)
        self.threads.append(thread)
        thread.start()

    def _feed(self, worker: Worker) -> None:
        """Feeds a worker until there is no more work, or no more worker."""
        index = 0
        try:
            worker.greet()
            for index in self._claims():
                self._put(index, worker.ask(index))
        except Exception as error:  # whatever it is: else the loop would wait for ever
            self.results.put((index, error))

    def _claims(self) -> Generator[int, None, None]:
        while True:
            with self.changed:
                self.changed.wait_for(self._may_claim)
                if not self.todo:
                    return
                self.out += 1
                index = self.todo.popleft()
            yield index

    def _may_claim(self) -> bool:
        # What is wanted first has been claimed first: it never waits for room.
        room = self.out < self.most_out and self.waiting_bytes < WAITING_BYTES
        return room or not self.todo

    def _put(self, index: int, item: Prepared) -> None:
        with self.changed:
            self.waiting_bytes += _size(item)
        self.results.put((index, item))


def _size(item: Prepared) -> int:
    pixels = item.pixels if isinstance(item, PreparedFile) else None
    return 0 if pixels is None else pixels.nbytes
