"""How far people agree where several answered the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any

Answers = Mapping[Any, Mapping[str, str]]
"""Item → annotator → answer."""


def krippendorff_alpha(answers: Answers) -> float | None:
    """Returns Krippendorff's alpha for nominal answers; None where no item has two.

    1 - observed / expected disagreement, from coincidences within items (Krippendorff, "Computing
    Krippendorff's Alpha-Reliability", 2011). Missing answers are no disagreement. Where all answers
    are the same there is nothing to disagree about, and alpha is undefined too.

    >>> krippendorff_alpha({1: {"a": "x", "b": "x"}, 2: {"a": "y", "b": "y"}})
    1.0
    """
    coincidences: Counter[tuple[str, str]] = Counter()
    for own in answers.values():
        values = Counter(own.values())
        m = values.total()
        for a in values if m > 1 else ():
            for b in values:
                pairs = values[a] * (values[b] - (a == b))
                coincidences[a, b] += pairs / (m - 1)  # type: ignore[assignment]
    totals: Counter[str] = Counter()
    for (a, _), count in coincidences.items():
        totals[a] += count
    n = sum(totals.values())
    expected = sum(totals[a] * totals[b] for a in totals for b in totals if a != b)
    if not expected:
        return None
    observed = sum(count for (a, b), count in coincidences.items() if a != b)
    return 1 - (n - 1) * observed / expected


def cohen_kappa(pairs: Sequence[tuple[str, str]]) -> float | None:
    """Returns Cohen's kappa of two annotators; None without pairs, or if all answers are the same.

    Args:
        pairs: Both answers to each item that both answered.

    >>> cohen_kappa([("x", "x"), ("y", "y"), ("x", "y"), ("y", "x")])
    0.0
    """
    if not pairs:
        return None
    n = len(pairs)
    first, second = Counter(a for a, _ in pairs), Counter(b for _, b in pairs)
    chance = sum(first[value] * second[value] for value in first) / n**2
    if chance == 1:
        return None
    return (sum(a == b for a, b in pairs) / n - chance) / (1 - chance)


def kappas(answers: Answers) -> dict[tuple[str, str], float | None]:
    """Returns Cohen's kappa for every two annotators who share an item."""
    people = sorted({person for own in answers.values() for person in own})
    shared: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for a, b in combinations(people, 2):
        both: Iterable[Mapping[str, str]] = (
            own for own in answers.values() if a in own and b in own
        )
        if pairs := [(own[a], own[b]) for own in both]:
            shared[a, b] = pairs
    return {names: cohen_kappa(pairs) for names, pairs in shared.items()}
