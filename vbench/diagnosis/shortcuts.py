"""Ways to an answer that look at no video: each scores the texts of a sample by a simple rule."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import PurePath

from vbench.prompts import LETTERS
from vbench.records import Sample

Values = tuple[float, ...]
"""One number per text of a sample, higher for what the rule would choose; equal ones tie."""

Rule = Callable[[Sequence[Sample]], list[Values]]
"""Scores the samples of one test."""

NORMAL = "normal"
"""The option that says that nothing happens (UCF-Crime in Video-Bench)."""

_RUN = re.compile(r"[^\W\d_]+")
_HUMP = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")


def longest(samples: Sequence[Sample]) -> list[Values]:
    """Prefers the text of most characters."""
    return [tuple(float(len(text.strip())) for text in sample.texts) for sample in samples]


def shortest(samples: Sequence[Sample]) -> list[Values]:
    """Prefers the text of fewest characters."""
    return [tuple(-value for value in values) for values in longest(samples)]


def common_option(samples: Sequence[Sample]) -> list[Values]:
    """Prefers the text that other sources offer most often, right or wrong.

    >>> from vbench.records import Sample
    >>> red = [Sample("t", name, "mcq", name, (), ("red", name), 0) for name in "abc"]
    >>> common_option(red)
    [(2.0, 0.0), (2.0, 0.0), (2.0, 0.0)]
    """
    every: Counter[str] = Counter()
    by_source: dict[str, Counter[str]] = defaultdict(Counter)
    for sample in samples:
        texts = list(map(_same, sample.texts))
        every.update(texts)
        by_source[sample.cluster].update(texts)
    return [
        tuple(float(every[t] - by_source[s.cluster][t]) for t in map(_same, s.texts))
        for s in samples
    ]


def rare_option(samples: Sequence[Sample]) -> list[Values]:
    """Prefers the text that is offered least often."""
    return [tuple(-value for value in values) for values in common_option(samples)]


def normal(samples: Sequence[Sample]) -> list[Values]:
    """Prefers the option `Normal`."""
    return [tuple(float(_same(text) == NORMAL) for text in s.texts) for s in samples]


def file_name(samples: Sequence[Sample]) -> list[Values]:
    """Prefers the text that shares most words with the name of its video.

    >>> from vbench.records import Clip
    >>> clip = Clip("Abuse028_x264", "Ucfcrime/Abuse028_x264.mp4")
    >>> sample = Sample("t", "1", "mcq", "c", (clip,), ("Normal", "Abuse 00:05 00:08"), 1)
    >>> file_name([sample])
    [(0.0, 1.0)]
    """
    found = []
    for sample in samples:
        names = [name for c in sample.clips for name in (c.video_id, PurePath(c.path).stem)]
        known = _words(" ".join(names))
        found.append(tuple(float(len(_words(text) & known)) for text in sample.texts))
    return found


def letter(place: int) -> Rule:
    """Returns the rule that always answers with one letter.

    Args:
        place: The letter's, from 0; where a sample has no such option, its options tie.
    """

    def rule(samples: Sequence[Sample]) -> list[Values]:
        return [tuple(float(n == place) for n in range(len(s.texts))) for s in samples]

    return rule


RULES: Mapping[str, Rule] = {
    "shortest": shortest,
    "longest": longest,
    "common option": common_option,
    "rare option": rare_option,
    "file name": file_name,
    "Normal": normal,
}


def rules(samples: Sequence[Sample]) -> dict[str, Rule]:
    """Returns the rules that say something about the samples of one test.

    Captions are compared without an order, so that letters are for options only; `Normal` is for
    tests that have such an option.
    """
    found = dict(RULES)
    if not any(_same(text) == NORMAL for sample in samples for text in sample.texts):
        del found["Normal"]
    options = [len(sample.texts) for sample in samples if sample.kind in ("mcq", "yes_no")]
    letters = range(min(max(options, default=0), len(LETTERS)))
    return {**found, **{f"letter {LETTERS[place]}": letter(place) for place in letters}}


def _same(text: str) -> str:
    """Returns a text as compared with others: case and spaces do not count."""
    return " ".join(text.lower().split())


def _words(text: str) -> set[str]:
    """Returns words of three letters and more, those of CamelCase both whole and in parts."""
    runs = _RUN.findall(text)
    words = {*runs, *(part for run in runs for part in _HUMP.findall(run))}
    return {word.lower() for word in words if len(word) > 2}
