"""Folders that appear complete or not at all."""

from __future__ import annotations

import json
import shutil
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

from vbench.errors import DataError


def write_whole(folder: Path, fill: Callable[[Path], None], what: str) -> bool:
    """Fills a folder beside the wanted one, then gives it the wanted name.

    Args:
        folder: Where the result belongs; missing or empty.
        fill: Writes into the folder it is given.
        what: What is written, for messages: `the toy set`.

    Returns:
        False if the name is taken by a folder that holds something.

    Raises:
        DataError: It cannot be written.
    """
    folder = folder.resolve()
    if _holds_something(folder):
        return False
    unfinished = folder.with_name(f".{folder.name}.{uuid.uuid4().hex[:8]}.part")
    try:
        unfinished.mkdir(parents=True)
        fill(unfinished)
        try:
            unfinished.rename(folder)
        except OSError:
            if _holds_something(folder):  # another process was faster
                return False
            raise
    except OSError as error:
        raise DataError(
            f"{what} cannot be written",
            where=str(folder),
            why=error.strerror or str(error),
            mend="make room, or give a folder you may write to as dataset.root",
        ) from error
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    return True


def _holds_something(folder: Path) -> bool:
    return folder.is_dir() and any(folder.iterdir())


def read_manifest(file: Path, version: int, what: str) -> dict[str, Any] | None:
    """Returns what a built set was made with, or None where there is no set.

    Args:
        file: JSON: `format` and the settings.
        version: The `format` that this code writes.
        what: What was written, for messages: `the toy set`.

    Raises:
        DataError: Another version built it, or the manifest is damaged.
    """
    try:
        manifest: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        if manifest.pop("format") == version:
            return manifest
        why = "another version of vbench built it"
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        why = f"{type(error).__name__}: {error}"
    raise unusable(file, what, why)


def unusable(file: Path, what: str, why: str) -> DataError:
    """Returns the error of a set that was built and cannot be read."""
    return DataError(
        f"{what} cannot be used",
        where=str(file),
        why=why,
        mend="delete the folder; it is built again on first use",
    )
