"""Every paid reply, written down the moment it arrives.

One SQLite file, shared by runs and processes. A reply's key hashes everything that was sent, so
that nobody pays for the same question twice: neither after a kill, nor in another run. Failures
are no replies and are not kept.
"""

from __future__ import annotations

import json
import os
import sqlite3
import sys
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, TypeVar

from vbench.records import Reply

T = TypeVar("T")

_SCHEMA = "CREATE TABLE IF NOT EXISTS replies (key TEXT PRIMARY KEY, said TEXT NOT NULL)"
_CHUNK = 500  # SQLite binds at most 999 variables in old builds
_REPLY = {f.name for f in fields(Reply)}


@dataclass(frozen=True)
class Said:
    """What an API gave for one call, before it is read as an answer to a request."""

    reply: Reply
    first: dict[str, float] = field(default_factory=dict)
    """Log-probabilities of the likeliest first tokens of the reply, as the server spells them."""


class Journal:
    """The file of replies. CallError with it is told once; the run goes on without.

    Args:
        path: The SQLite file, made with its folder on first use; None keeps nothing.
    """

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self._connection: sqlite3.Connection | None = None
        self._process = 0

    def __getstate__(self) -> dict[str, object]:
        """Leaves the connection behind: each process opens its own."""
        return self.__dict__ | {"_connection": None}

    def get(self, keys: Iterable[str]) -> dict[str, Said]:
        """Returns what was said to the calls that are known."""
        return self._try(lambda db: dict(_find(db, list(dict.fromkeys(keys)))), {})

    def put(self, key: str, said: Said) -> None:
        """Writes a reply down; it is on disk when this returns."""
        row = (key, json.dumps(asdict(said)))
        self._try(lambda db: db.execute("INSERT OR IGNORE INTO replies VALUES (?, ?)", row), None)

    def _try(self, ask: Callable[[sqlite3.Connection], T], otherwise: T) -> T:
        if self.path is None:
            return otherwise
        try:
            with self._open(self.path) as db:
                return ask(db)
        except (sqlite3.Error, OSError) as error:
            sys.stderr.write(
                f"vbench: replies are not kept in {self.path}: {error}; a run that is killed now "
                "pays again for what it had not flushed\n"
            )
            self.path = None
            return otherwise

    def _open(self, path: Path) -> sqlite3.Connection:
        # A connection must not cross a fork.
        if self._connection is None or self._process != os.getpid():
            path.parent.mkdir(parents=True, exist_ok=True)
            self._connection = sqlite3.connect(path, timeout=60)
            self._connection.execute(_SCHEMA)
            self._process = os.getpid()
        return self._connection


def _find(db: sqlite3.Connection, keys: list[str]) -> Iterable[tuple[str, Said]]:
    for start in range(0, len(keys), _CHUNK):
        some = keys[start : start + _CHUNK]
        marks = ",".join("?" * len(some))
        query = f"SELECT key, said FROM replies WHERE key IN ({marks})"  # noqa: S608
        for key, text in db.execute(query, some):
            yield key, _read(json.loads(text))


def _read(stored: dict[str, Any]) -> Said:
    given = {name: value for name, value in stored["reply"].items() if name in _REPLY}
    for name in ("log_probs", "token_ids", "frame_shape"):
        given[name] = tuple(given.get(name, ()))
    return Said(Reply(**given), stored["first"])
