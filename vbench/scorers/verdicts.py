"""Verdicts that a judge has given, kept so that none is paid for twice."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterable, Mapping
from contextlib import closing
from pathlib import Path

from vbench.errors import RunError
from vbench.records import Message


class VerdictCache:
    """One SQLite file, shared by runs; an entry is found by judge and message, never by sample.

    Args:
        path: The file; made with its folder on first use. None keeps nothing.
    """

    def __init__(self, path: str | None) -> None:
        self.path = Path(path).expanduser() if path else None

    def get(self, keys: Iterable[str]) -> dict[str, str]:
        """Returns the judge's words by key, as far as they are known.

        Raises:
            RunError: The file cannot be read.
        """
        if self.path is None or not self.path.exists():
            return {}
        with _open(self.path) as db:
            found = (
                db.execute("SELECT key, said FROM verdicts WHERE key = ?", (key,)).fetchone()
                for key in keys
            )
            return dict(row for row in found if row)

    def put(self, said: Mapping[str, str]) -> None:
        """Adds the judge's words.

        Raises:
            RunError: The file cannot be written.
        """
        if self.path is not None and said:
            with _open(self.path) as db, db:
                db.executemany("REPLACE INTO verdicts VALUES (?, ?)", list(said.items()))


def _open(path: Path) -> closing[sqlite3.Connection]:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        db = sqlite3.connect(path, timeout=60)
        db.execute("CREATE TABLE IF NOT EXISTS verdicts (key TEXT PRIMARY KEY, said TEXT)")
    except (sqlite3.Error, OSError) as error:
        raise RunError(
            "verdicts cannot be kept",
            where=str(path),
            why=str(error),
            mend="mend or delete the file, or keep none with scorer.cache=null",
        ) from error
    return closing(db)


def verdict_key(judge: str, message: Message) -> str:
    """Returns a hash of everything that a verdict hangs on.

    Args:
        judge: The judge's identity.
        message: What it is told.
    """
    parts = [judge, message.text, message.system, *message.turns]
    return hashlib.blake2b(json.dumps(parts).encode(), digest_size=16).hexdigest()
