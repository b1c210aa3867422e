"""The pictures of a report: which strips of frames lie on disk, and where in a strip a frame is."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import quote

from PIL import Image

from vbench.loop.strips import MOST_FRAMES, evenly


class Strips:
    """Strips as a page refers to them: a table of pictures, each looked at once.

    Args:
        page: The folder that the page lies in; its pictures lie beside or below it.
    """

    def __init__(self, page: Path) -> None:
        self.page = page
        self.table: list[tuple[str, int, int, int]] = []
        """Address, number of frames in it, width and height of one in pixels."""
        self._known: dict[Path, int] = {}

    def find(self, strip: Path, frames: int) -> int:
        """Returns a strip's place in the table, -1 if there is no such file or it is damaged.

        Args:
            strip: The JPEG.
            frames: How many frames the clip has; a strip shows at most 20 of them.
        """
        if strip not in self._known:
            self._known[strip] = self._add(strip, min(frames, MOST_FRAMES))
        return self._known[strip]

    def _add(self, strip: Path, shown: int) -> int:
        try:
            with Image.open(strip) as picture:
                width, height = picture.size
        except (OSError, ValueError):
            return -1
        if not shown or width < shown:
            return -1
        self.table.append((self.address(strip), shown, width // shown, height))
        return len(self.table) - 1

    def address(self, file: Path) -> str:
        """Returns the address of a file as the page writes it."""
        return quote(Path(os.path.relpath(file, self.page)).as_posix())


def pictured(frames: int) -> list[int] | None:
    """Returns which frames of a clip its strip shows, None for all of them.

    >>> pictured(20), len(pictured(64))
    (None, 20)
    """
    return None if frames <= MOST_FRAMES else [int(at) for at in evenly(range(frames))]
