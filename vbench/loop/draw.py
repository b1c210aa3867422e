"""`limit=N`: a seeded draw of samples that is the same whatever the machine."""

from __future__ import annotations

import random
from collections.abc import Sequence

from vbench.records import Sample


def draw(samples: Sequence[Sample], limit: int | None, seed: int) -> list[Sample]:
    """Draws up to `limit` samples per test, spread over as many sources as possible.

    Sources are put in one seeded order for all tests, so that tests share files; each test then
    takes one sample of each source in turn: N samples of N sources say more than N of few.

    Args:
        samples: All samples.
        limit: Samples per test; None keeps all.
        seed: Of the order of sources, and of samples within a source.

    Returns:
        The drawn samples in their original order.
    """
    if limit is None:
        return list(samples)
    dice = random.Random(f"vbench-limit/{seed}")
    shuffled = list(range(len(samples)))
    dice.shuffle(shuffled)
    sources = sorted({sample.cluster for sample in samples})
    dice.shuffle(sources)
    rank = {source: place for place, source in enumerate(sources)}
    taken: dict[tuple[str, str], int] = {}
    tests: dict[str, list[tuple[int, int, int]]] = {}
    for index in shuffled:
        test, source = samples[index].test, samples[index].cluster
        turn = taken[test, source] = taken.get((test, source), 0) + 1
        tests.setdefault(test, []).append((turn, rank[source], index))
    keep = {index for turns in tests.values() for _, _, index in sorted(turns)[:limit]}
    return [sample for index, sample in enumerate(samples) if index in keep]
