"""`model=human`: recorded choices as scores, so that people stand in the same tables as models.

Nothing here opens a video.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping
from collections.abc import Sequence as Seq
from functools import cached_property
from pathlib import Path
from typing import ClassVar

from vbench.errors import DataError
from vbench.protocols import Need
from vbench.records import Clip, Facts

Cell = tuple[str, float, float | None, str]
"""A clip with a text: video id, start and end in seconds, text."""


class Recorded:
    """Scores that rank as people chose; NaN, which is no answer, where nobody was asked.

    A choice says that one pair of clip and text fits better than another. A pair's score is its
    height in the order that all choices make together, the most frequent choice counting where
    people differ. Choices that contradict each other in a circle (which IVAT's four can) give no
    scores: their samples are unscored.

    Args:
        choices: A file that `vbench annotate` writes: JSON Lines of `chosen` and `other`.
    """

    needs: ClassVar[frozenset[Need]] = frozenset({"text"})

    def __init__(self, choices: str) -> None:
        self.choices = choices

    def identity(self) -> str:
        """Returns the hash of the recorded choices."""
        return f"recorded choices {hashlib.sha256(self._text.encode()).hexdigest()}"

    def bind(self, facts: Facts | None) -> None:
        """Ignores the truth."""

    def score(self, clip: Clip, texts: Seq[str]) -> list[float]:
        """Returns one score per text.

        Raises:
            DataError: The file cannot be read, or is no file of choices.
        """
        place = (clip.video_id, clip.start_s, clip.end_s)
        return [self._scores.get((*place, text), math.nan) for text in texts]

    @cached_property
    def _text(self) -> str:
        try:
            return Path(self.choices).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise DataError(
                "the recorded choices cannot be read",
                where=f"model.choices={self.choices}",
                why=str(error),
                mend="name the choices.jsonl that `vbench annotate FOLDER EXPORT` wrote",
            ) from error

    @cached_property
    def _scores(self) -> dict[Cell, float]:
        votes: Counter[tuple[Cell, Cell]] = Counter()
        for number, line in enumerate(self._text.splitlines(), start=1):
            try:
                row = json.loads(line)
                chosen, other = (_cell(row[name]) for name in ("chosen", "other"))
            except (ValueError, KeyError, TypeError) as error:
                raise DataError(
                    "a line holds no choice",
                    where=f"{self.choices}, line {number}",
                    why=f"{type(error).__name__}: {error}",
                ) from error
            votes[chosen, other] += 1
        cells = {cell for pair in votes for cell in pair}
        return heights(cells, [(a, b) for a, b in votes if votes[a, b] > votes[b, a]])


def _cell(value: object) -> Cell:
    if not isinstance(value, list) or len(value) != 4:
        raise TypeError(f"a clip with a text has four parts, found {value!r}")
    video, start, end, text = value
    return str(video), float(start), None if end is None else float(end), str(text)


def heights(cells: Iterable[Cell], above: Seq[tuple[Cell, Cell]]) -> dict[Cell, float]:
    """Returns a number per cell, greater for the first of each pair; NaN on a circle.

    >>> a, b, c = (("v", 0.0, None, text) for text in "abc")
    >>> heights([a, b, c], [(a, b), (b, c)])[a]
    2.0
    """
    below: dict[Cell, set[Cell]] = {cell: set() for cell in cells}
    for high, low in above:
        below[high].add(low)
    circular = _on_circles(below)
    found: dict[Cell, float] = dict.fromkeys(circular, math.nan)
    left = [cell for cell in below if cell not in circular]
    while left:
        # What lies on no circle is above one at most: there is always a cell with all below known.
        ready = [cell for cell in left if all(low in found for low in below[cell])]
        for cell in ready:
            under = [found[low] for low in below[cell] if not math.isnan(found[low])]
            found[cell] = 1.0 + max(under, default=-1.0)
        left = [cell for cell in left if cell not in found]
    return found


def _on_circles(below: Mapping[Cell, set[Cell]]) -> set[Cell]:
    """Returns the cells that are above or below themselves, or between circles."""
    rest = dict(below)
    shrunk = True
    while shrunk:
        reached = {low for lows in rest.values() for low in lows if low in rest}
        keep = {cell: lows for cell, lows in rest.items() if cell in reached and lows & rest.keys()}
        shrunk, rest = len(keep) < len(rest), keep
    return set(rest)
