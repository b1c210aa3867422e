"""What a set that is built from VidSitu is made of."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from vbench.errors import ConfigError, DataError

MANIFEST = "vidsitu_set.json"
FORMAT = 1
"""Changes whenever the same settings would give other captions or files."""

Captions = Literal["template", "llm"]


@dataclass(frozen=True, slots=True)
class SetSettings:
    """Everything that decides what the files say, but for the labels themselves."""

    split: str = "valid"
    annotation: int = 0
    num_videos: int | None = None
    """None: every video of the split."""
    seed: int = 0
    match_arguments: bool = True
    captions: Captions = "template"
    model: Mapping[str, object] | None = None
    """The language model and its settings; None for templates."""
    prompts: str | None = None
    """Hash of the prompts; None for templates."""

    def check(self) -> None:
        """Checks what signatures cannot say.

        Raises:
            ConfigError: num_videos is less than 2: the control tests need two.
        """
        if self.num_videos is not None and self.num_videos < 2:
            raise ConfigError(
                "dataset.num_videos counts from 2",
                where=f"dataset.num_videos={self.num_videos}",
                why="the control tests take captions of other videos",
                mend="leave it out to take every video of the split",
            )

    def document(self) -> Mapping[str, object]:
        """Returns the settings as a JSON object."""
        return {"format": FORMAT, **asdict(self)}


def read_manifest(root: Path) -> Mapping[str, object] | None:
    """Returns what the set in a folder was built with, or None where there is no set.

    Raises:
        DataError: The manifest is damaged.
    """
    file = root / MANIFEST
    try:
        found: Mapping[str, object] = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise DataError(
            "the set's manifest cannot be read",
            where=str(file),
            why=str(error),
            mend="delete the folder and build again; a journal beside it stays",
        ) from error
    return found


def file_digest(file: Path) -> str:
    """Returns the SHA-256 of a file."""
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()
