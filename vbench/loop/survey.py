"""Looks at many files in processes that can be killed, as the loop does when it decodes."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from typing import Generic, TypeVar, cast

from vbench.loop.data import PreparedFile
from vbench.loop.loader import Loader
from vbench.loop.plan import FileWork
from vbench.loop.workers import WorkSource
from vbench.records import Clip

Found = TypeVar("Found")


def survey(
    look: Callable[[str], Found], paths: Sequence[str], workers: int | None, timeout_s: float
) -> Iterator[tuple[str, Found | str]]:
    """Looks at each file, several at once; a bar on stderr where that is a terminal.

    Args:
        look: Picklable; what it raises is taken for a fault of the file.
        paths: Files and folders.
        workers: Processes; None: as many as there are cores. 0: this one looks, and nothing can
            stop a decoder that hangs.
        timeout_s: A file that takes longer is given up.

    Yields:
        Each path, in order, with what was found, or why nothing was: the decoder crashed or hung.
    """
    from rich.console import Console
    from rich.progress import track

    source = _Source(look, paths)
    count = os.cpu_count() or 1 if workers is None else workers
    loader = Loader(cast(WorkSource, source), 1, count, timeout_s)
    console = Console(stderr=True)
    with closing(iter(loader)) as batches:
        shown = track(
            batches, "files", len(paths), console=console, disable=not sys.stderr.isatty()
        )
        for path, batch in zip(paths, shown, strict=True):
            (item,) = cast(list[Found | PreparedFile], batch.work)
            yield path, item.clips[0].reason if isinstance(item, PreparedFile) else item


class _Source(Generic[Found]):
    """Paths in the clothes of the loop's work, with a clip each, which is told of a lost worker."""

    def __init__(self, look: Callable[[str], Found], paths: Sequence[str]) -> None:
        self.look = look
        self.work = [FileWork(path, (("", Clip("", path)),)) for path in paths]

    def __getitem__(self, index: int) -> Found:
        return self.look(self.work[index].path)
