"""Embeddings that any run has computed, kept under what they were computed from.

One SQLite file, shared by runs and processes. An entry's key hashes two parts: the *base* (model,
preprocessing, sampler, precision: what all entries of one kind in a run share) and the *item*
(these bytes and this span, this frame, this text). Entries never change, so none is ever stale: a
changed file has another hash and so another key. The cache may be deleted at any time.
"""

from __future__ import annotations

import json
import os
import sqlite3
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import numpy as np

from vbench.loop.keys import Address, Base, hash_file

_SCHEMA = """
PRAGMA journal_mode = WAL;
CREATE TABLE IF NOT EXISTS bases (base TEXT PRIMARY KEY, fields TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS entries (
    key TEXT PRIMARY KEY, base TEXT NOT NULL, item TEXT NOT NULL,
    vector BLOB NOT NULL, facts TEXT NOT NULL, strip BLOB, used REAL NOT NULL);
CREATE INDEX IF NOT EXISTS entries_by_item ON entries (item);
CREATE INDEX IF NOT EXISTS entries_by_use ON entries (used);
CREATE TABLE IF NOT EXISTS files (
    path TEXT PRIMARY KEY, size INTEGER, mtime_ns INTEGER, sha256 TEXT) WITHOUT ROWID;
"""
_COLUMNS = "key, base, item, vector, facts, strip"
_CHUNK = 500  # SQLite binds at most 999 variables in old builds
_PATIENCE_S = 60.0
"""How long a process waits for others to let go of the file."""
_SETTLED_NS = 2_000_000_000
"""A file younger than this may change again within one tick of its clock: its hash is not kept."""

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Entry:
    """A stored embedding."""

    address: Address
    vector: np.ndarray
    """(d,), float32."""
    facts: Mapping[str, object] = field(default_factory=dict)
    """What the row of a run also holds: frame indices, timestamps, truncated."""
    strip: bytes | None = None
    """JPEG of a clip's frames, where somebody has asked for one."""


class EmbeddingCache:
    """The cache file. Trouble with it costs time, never a run: it is told once and then left alone.

    Args:
        path: The SQLite file; made with its folder on first use.
        limit_bytes: Least recently used entries go when the file outgrows this.
        enabled: False finds and keeps nothing.
    """

    def __init__(self, path: Path, limit_bytes: int = 20 * 10**9, *, enabled: bool = True) -> None:
        self.path = path
        self.limit_bytes = limit_bytes
        self.broken = not enabled
        self._connection: sqlite3.Connection | None = None
        self._process = 0

    def __getstate__(self) -> dict[str, object]:
        """Leaves the connection behind: each worker process opens its own."""
        return self.__dict__ | {"_connection": None}

    def get(self, keys: Iterable[str]) -> dict[str, Entry]:
        """Returns the entries there are, and marks them as used."""
        return self._try(lambda db: self._get(db, list(keys)), {})

    def put(self, entries: Sequence[Entry], bases: Mapping[str, Base]) -> None:
        """Adds entries; known keys are left as they are, but for a strip they lack.

        Args:
            entries: What was computed.
            bases: The fields of each base the entries name.
        """
        self._try(lambda db: self._put(db, entries, bases), None)

    def explain(self, missed: Iterable[Address], fields: Base) -> Counter[str]:
        """Counts why addresses of one base are not in the cache.

        Args:
            missed: Addresses that `get` did not find.
            fields: The fields of their base.

        Returns:
            Reasons with counts: `never seen`, or the fields in which the most similar stored entry
            of the same item differs, `sampler: fps(2) there, fps(1) now`.
        """
        return self._try(lambda db: Counter(self._reasons(db, list(missed), fields)), Counter())

    def file_hash(self, path: Path) -> str:
        """Returns a file's SHA-256, remembered by path, size and modification time.

        Raises:
            OSError: The file cannot be read.
        """
        stat = path.stat()
        name = str(path.resolve())
        known = self._try(lambda db: _known_hash(db, name, stat), None)
        if known is not None:
            return known
        found = hash_file(path)
        if time.time_ns() - stat.st_mtime_ns > _SETTLED_NS:
            row = (name, stat.st_size, stat.st_mtime_ns, found)
            self._try(lambda db: db.execute("REPLACE INTO files VALUES (?, ?, ?, ?)", row), None)
        return found

    def _try(self, ask: Callable[[sqlite3.Connection], T], otherwise: T) -> T:
        if self.broken:
            return otherwise
        try:
            with self._open() as db:
                return ask(db)
        except (sqlite3.Error, OSError) as error:
            self.broken = True
            sys.stderr.write(f"vbench: going on without the cache {self.path}: {error}\n")
            return otherwise

    def _open(self) -> sqlite3.Connection:
        # A connection must not cross a fork.
        if self._connection is None or self._process != os.getpid():
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._connection = _connect(self.path)
            self._process = os.getpid()
        return self._connection

    def _get(self, db: sqlite3.Connection, keys: list[str]) -> dict[str, Entry]:
        found = {}
        for some in _chunks(keys):
            marks = ",".join("?" * len(some))
            query = f"SELECT {_COLUMNS} FROM entries WHERE key IN ({marks})"  # noqa: S608
            for key, base, item, vector, facts, strip in db.execute(query, some):
                values = np.frombuffer(vector, dtype="<f4").astype(np.float32)
                found[key] = Entry(Address(base, item), values, json.loads(facts), strip)
            use = f"UPDATE entries SET used = ? WHERE key IN ({marks})"  # noqa: S608
            db.execute(use, [time.time(), *some])
        return found

    def _put(
        self,
        db: sqlite3.Connection,
        entries: Sequence[Entry],
        bases: Mapping[str, Base],
    ) -> None:
        now = time.time()
        named = [(base, json.dumps(fields)) for base, fields in bases.items()]
        db.executemany("INSERT OR IGNORE INTO bases VALUES (?, ?)", named)
        rows = [
            (
                entry.address.key,
                entry.address.base,
                entry.address.item,
                np.asarray(entry.vector, dtype="<f4").tobytes(),
                json.dumps(dict(entry.facts)),
                entry.strip,
                now,
            )
            for entry in entries
        ]
        add = "INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?)"
        only_strip = "ON CONFLICT (key) DO UPDATE SET strip = excluded.strip WHERE strip IS NULL"
        db.executemany(f"{add} {only_strip}", rows)
        self._shrink(db)

    def _shrink(self, db: sqlite3.Connection) -> None:
        pages, free, size = (
            db.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("page_count", "freelist_count", "page_size")
        )
        used = (pages - free) * size
        if used > self.limit_bytes:
            count = db.execute("SELECT COUNT(*) FROM entries").fetchone()[0]
            surplus = max(1, int(count * (1 - 0.9 * self.limit_bytes / used)))
            oldest = "SELECT key FROM entries ORDER BY used LIMIT ?"
            db.execute(f"DELETE FROM entries WHERE key IN ({oldest})", [surplus])  # noqa: S608

    def _reasons(
        self, db: sqlite3.Connection, missed: list[Address], fields: Base
    ) -> Iterator[str]:
        bases = {base: json.loads(text) for base, text in db.execute("SELECT * FROM bases")}
        by_item: dict[str, set[str]] = {}
        for some in _chunks([address.item for address in missed]):
            marks = ",".join("?" * len(some))
            query = f"SELECT item, base FROM entries WHERE item IN ({marks})"  # noqa: S608
            for item, base in db.execute(query, some):
                by_item.setdefault(item, set()).add(base)
        for address in missed:
            known = [bases[base] for base in by_item.get(address.item, ()) if base in bases]
            yield min(
                (_difference(other, fields) for other in known), key=len, default="never seen"
            )


def _connect(path: Path) -> sqlite3.Connection:
    # The switch to WAL does not wait for others, whatever the timeout: jobs that start together on
    # a new file would lose it to one another.
    until = time.monotonic() + _PATIENCE_S
    while True:
        connection = sqlite3.connect(path, timeout=_PATIENCE_S)
        try:
            connection.executescript(_SCHEMA)
            return connection
        except sqlite3.OperationalError as error:
            connection.close()
            if "locked" not in str(error) or time.monotonic() > until:
                raise
            time.sleep(0.01)


def _difference(there: Base, now: Base) -> str:
    keys = sorted(key for key in there.keys() | now.keys() if there.get(key) != now.get(key))
    return "; ".join(f"{key}: {there.get(key, '-')} there, {now.get(key, '-')} now" for key in keys)


def _known_hash(db: sqlite3.Connection, name: str, stat: os.stat_result) -> str | None:
    query = "SELECT sha256 FROM files WHERE path = ? AND size = ? AND mtime_ns = ?"
    row = db.execute(query, (name, stat.st_size, stat.st_mtime_ns)).fetchone()
    return None if row is None else str(row[0])


def _chunks(items: Sequence[str]) -> Iterator[list[str]]:
    for start in range(0, len(items), _CHUNK):
        yield list(items[start : start + _CHUNK])
