"""Samples that ask the same question of the same clip, and those that answer it differently."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

from vbench.records import Sample


@dataclass(frozen=True)
class Repeats:
    """What one test asks more than once."""

    groups: int = 0
    """Questions about a clip that are asked more than once."""
    extra: int = 0
    """Samples beyond the first of each group."""
    contradictory: int = 0
    """Groups in which a text is right in one sample and offered as wrong in another."""
    examples: tuple[tuple[str, ...], ...] = ()
    """Sample ids of some contradictory groups."""


_SHOWN = 3


def repeats(samples: Sequence[Sample]) -> dict[str, Repeats]:
    """Returns, by test, what is asked more than once; tests without such samples are left out.

    The options need not be the same: it is enough that clip and question are. Captions have no
    question; of them only samples with the same captions count as repeated.

    Args:
        samples: All samples of a dataset.
    """
    asked: dict[str, dict[Hashable, list[Sample]]] = defaultdict(lambda: defaultdict(list))
    for sample in samples:
        if sample.kind in ("v2t", "mcq", "yes_no"):
            asked[sample.test][_question(sample)].append(sample)
    found = {
        test: _of([g for g in groups.values() if len(g) > 1]) for test, groups in asked.items()
    }
    return {test: own for test, own in found.items() if own.groups}


def totals(found: Mapping[str, Repeats]) -> tuple[int, int, int]:
    """Returns groups, extra samples and contradictory groups of all tests.

    >>> totals({"a": Repeats(2, 3, 1), "b": Repeats(1, 1)})
    (3, 4, 1)
    """
    every = found.values()
    return (
        sum(r.groups for r in every),
        sum(r.extra for r in every),
        sum(r.contradictory for r in every),
    )


def _question(sample: Sample) -> Hashable:
    clips = tuple((clip.path, clip.start_s, clip.end_s) for clip in sample.clips)
    texts = None if sample.question else frozenset(map(_same, sample.texts))
    return clips, _same(sample.question or ""), texts


def _of(groups: Sequence[Sequence[Sample]]) -> Repeats:
    contradictory = [group for group in groups if _contradicts(group)]
    return Repeats(
        groups=len(groups),
        extra=sum(len(group) - 1 for group in groups),
        contradictory=len(contradictory),
        examples=tuple(tuple(s.sample_id for s in group) for group in contradictory[:_SHOWN]),
    )


def _contradicts(group: Sequence[Sample]) -> bool:
    right, wrong = set[str](), set[str]()
    for sample in group:
        if isinstance(sample.target, int) and 0 <= sample.target < len(sample.texts):
            texts = list(map(_same, sample.texts))
            right.add(texts[sample.target])
            wrong.update(texts[: sample.target] + texts[sample.target + 1 :])
    return bool(right & wrong)


def _same(text: str) -> str:
    return " ".join(text.lower().split())
