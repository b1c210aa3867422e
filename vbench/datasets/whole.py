"""Folders that appear complete or not at all."""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Callable
from pathlib import Path

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
    unfinished = folder.with_name(f".{folder.name}.{uuid.uuid4().hex[:8]}.part")
    try:
        unfinished.mkdir(parents=True)
        fill(unfinished)
        try:
            unfinished.rename(folder)
        except OSError:
            if folder.is_dir() and any(folder.iterdir()):
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
