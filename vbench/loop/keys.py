"""What an answer is stored under: a hash of everything that can change it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

Base = Mapping[str, str]
"""What all answers of one kind in a run share: kind, model, precision, sampler, preprocessing."""


@dataclass(frozen=True, slots=True)
class Address:
    """What one answer is computed from."""

    base: str
    """Digest of the base."""
    item: str
    """`<file hash>:<start>:<end>`, `<file hash>:<frame>`, or a text."""

    @property
    def key(self) -> str:
        """The key the answer is stored under."""
        return digest(self.base, self.item)


def digest(*parts: object) -> str:
    """Returns a short hash of JSON-like parts."""
    text = json.dumps(parts, ensure_ascii=True, separators=(",", ":"))
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def hash_file(path: Path) -> str:
    """Returns the SHA-256 of a file's bytes.

    Raises:
        OSError: It cannot be read, or is no regular file: pipes and devices may never end.
    """
    if not path.is_file():
        raise FileNotFoundError(path)
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def fingerprint(path: str, hash_file: Callable[[Path], str] = hash_file) -> str:
    """Returns a hash of a file's bytes or of all files of a folder; its path if unreadable.

    Args:
        path: A file or folder.
        hash_file: Hashes one file; may remember.
    """
    try:
        place = Path(path)
        if not place.is_dir():
            return hash_file(place)
        entries = sorted(entry for entry in place.iterdir() if entry.is_file())
        return digest(*((entry.name, hash_file(entry)) for entry in entries))
    except (OSError, ValueError):  # ValueError: a name that no file can have
        return f"unreadable: {path}"
