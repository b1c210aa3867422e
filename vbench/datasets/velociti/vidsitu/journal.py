"""Every answer of a language model, kept for good: nothing is asked, or paid for, twice.

The file is only ever appended to, one JSON object a line, on disk before the next step. A process
that is killed leaves at most half a line, which is passed over and never mended in place.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import threading
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType

from vbench.datasets.velociti.vidsitu.prompting import Messages
from vbench.errors import DataError


@dataclass(frozen=True, slots=True)
class Reply:
    """What a language model answered."""

    text: str
    finish: str = "stop"
    """Why it ended: `stop`, `length`, `content_filter`, `refusal`, …"""
    tokens_in: int = 0
    tokens_out: int = 0


def question_key(model: Mapping[str, object], messages: Messages) -> str:
    """Returns the hash of a question: the model, its settings and every message."""
    asked = json.dumps([model, messages], sort_keys=True)
    return hashlib.sha256(asked.encode()).hexdigest()[:32]


class Journal:
    """The answers of one file, to be used in a `with` statement; safe for threads.

    Args:
        file: Made if it does not exist.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        self._lock = threading.Lock()
        self._replies: dict[str, Reply] = {}
        self._descriptor: int | None = None
        self.broken = 0
        """Lines that could not be read."""

    def __enter__(self) -> Journal:
        """Opens the file for this process alone.

        Raises:
            DataError: It cannot be written, or another process writes it.
        """
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            self._descriptor = os.open(self._file, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            self._close()
            busy = isinstance(error, BlockingIOError)
            raise DataError(
                "the journal of answers cannot be written",
                where=str(self._file),
                why="another build is writing it" if busy else error.strerror or str(error),
                mend="wait for it" if busy else "name another file as dataset.journal",
            ) from error
        self._read()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Closes the file."""
        self._close()

    def get(self, key: str) -> Reply | None:
        """Returns the answer to a question, or None where it has not been asked."""
        return self._replies.get(key)

    def add(self, key: str, model: Mapping[str, object], asked: Messages, reply: Reply) -> None:
        """Stores an answer, on disk when this returns.

        Raises:
            DataError: It cannot be written: a full disk.
        """
        entry = {"key": key, "model": model, "asked": asked, "reply": asdict(reply)}
        line = (json.dumps(entry) + "\n").encode()
        with self._lock:
            self._replies[key] = reply
            try:
                if self._descriptor is None or os.write(self._descriptor, line) != len(line):
                    raise OSError("cut short")
                os.fsync(self._descriptor)
            except OSError as error:
                raise DataError(
                    "an answer cannot be stored",
                    where=str(self._file),
                    why=error.strerror or str(error),
                    mend="make room and type the command again; what is stored is not asked again",
                ) from error

    def _read(self) -> None:
        with self._file.open("rb") as lines:
            line = b"\n"
            for line in lines:
                try:
                    entry = json.loads(line)
                    self._replies[entry["key"]] = Reply(**entry["reply"])
                except (ValueError, KeyError, TypeError):
                    self.broken += 1
        if not line.endswith(b"\n") and self._descriptor is not None:
            os.write(self._descriptor, b"\n")  # the next answer begins a line of its own

    def _close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
