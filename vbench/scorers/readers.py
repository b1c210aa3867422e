"""Ways to read a letter from a generated reply: our rules, and the published programs'."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Literal

from vbench.scorers.letter_reading import Reading, read_letter

Reader = Literal["rules", "velociti_v1", "velociti_v2"]
"""`rules`: letter_reading. The others are as published, faults included, for comparison."""


def read_as(reader: Reader, response: str, options: Mapping[str, str]) -> Reading:
    """Reads which option a response chooses.

    Args:
        reader: By which rules.
        response: As generated.
        options: Capital letter → text.
    """
    return _READERS[reader](response, options)


def velociti_v1(response: str, options: Collection[str]) -> Reading:
    """Reads as gemini/eval.py of katha-ai/VELOCITI, branch velociti_v1, does.

    An A anywhere before `: (` is the first caption, else a B the second; all else is no answer.

    >>> velociti_v1("B) An apple", "AB")
    Reading(letter='A', rule='velociti_v1')
    """
    head = response.split(": (")[0]
    letter = next((letter for letter in "AB" if letter in head), None)
    return Reading(letter if letter in options else None, "velociti_v1")


def velociti_v2(response: str, options: Collection[str]) -> Reading:
    """Reads as metrics.py of katha-ai/VELOCITI, branch main: the first word must be a bare letter.

    >>> velociti_v2("A is right", "AB").letter, velociti_v2("A.", "AB").letter
    ('A', None)
    """
    first = next(iter(response.split()), "")
    return Reading(first if first in tuple(options) else None, "velociti_v2")


_READERS: Mapping[Reader, Callable[[str, Mapping[str, str]], Reading]] = {
    "rules": read_letter,
    "velociti_v1": velociti_v1,
    "velociti_v2": velociti_v2,
}
