"""Who answers which samples: stratified by test, whole sources to one person, seeded."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from vbench.errors import ConfigError
from vbench.records import Sample


@dataclass(frozen=True)
class Staff:
    """How many people answer how much. The paper: 5 people, 30 samples each a test, none twice."""

    annotators: int = 5
    per_annotator: int = 30
    """Samples per test."""
    overlap: int = 1
    """How many people answer each sample; 1: nobody sees another's."""
    seed: int = 0

    def __post_init__(self) -> None:
        if not 1 <= self.overlap <= self.annotators:
            raise ConfigError(
                "overlap counts the people who answer a sample",
                where=f"overlap={self.overlap} annotators={self.annotators}",
                mend=f"choose 1 to {self.annotators}",
            )
        if self.per_annotator < 1 or self.per_annotator % self.overlap:
            raise ConfigError(
                "each sample goes to `overlap` people, so they must divide what a person answers",
                where=f"per_annotator={self.per_annotator} overlap={self.overlap}",
                mend=f"choose a multiple of {self.overlap}",
            )


def assign(samples: Sequence[Sample], staff: Staff) -> list[list[Sample]]:
    """Returns each person's samples, test by test, in an order drawn for them.

    Sources are dealt out, so that no two people without overlap see the same video; within a
    person's sources a test takes one sample of each before a second of any.

    Args:
        samples: All that could be asked.
        staff: The people.
    """
    dice = random.Random(staff.seed)
    sources = sorted({sample.cluster for sample in samples})
    dice.shuffle(sources)
    group_of = {source: i % staff.annotators for i, source in enumerate(sources)}
    tests: dict[str, list[Sample]] = {}
    for sample in samples:
        tests.setdefault(sample.test, []).append(sample)
    groups: list[list[Sample]] = [[] for _ in range(staff.annotators)]
    for own in tests.values():
        for number, group in enumerate(groups):
            pool = [sample for sample in own if group_of[sample.cluster] == number]
            group += _spread(pool, staff.per_annotator // staff.overlap, dice)
    given: list[list[Sample]] = []
    for person in range(staff.annotators):
        owned = [(person - k) % staff.annotators for k in range(staff.overlap)]
        mine = [sample for number in owned for sample in groups[number]]
        dice.shuffle(mine)
        given.append(mine)
    return given


def _spread(pool: Sequence[Sample], count: int, dice: random.Random) -> list[Sample]:
    by_source: dict[str, list[Sample]] = {}
    for sample in dice.sample(pool, len(pool)):
        by_source.setdefault(sample.cluster, []).append(sample)
    rounds: Mapping[int, list[Sample]] = {}
    longest = max(map(len, by_source.values()), default=0)
    rounds = {i: [own[i] for own in by_source.values() if i < len(own)] for i in range(longest)}
    return [sample for of in rounds.values() for sample in of][:count]
