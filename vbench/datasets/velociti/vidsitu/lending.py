"""Who borrows what from whom: negatives whose words are those of the positives.

A replacement drawn at random from all fillers would be rarer than what it replaces, since common
fillers are the likeliest to occur in the video already; then the words alone would tell a false
caption. Here every filler is lent as often as it is used, to somebody else: words of true and false
captions have the same distribution, but for the few that nobody can take.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")

Fits = Callable[[T, T], bool]

TRIES = 60
"""Others that are asked to exchange before a borrower goes without."""

COPIES = 1.0
"""Copies a borrower. Each moves two counts by one, so that uses of a filler in false captions, less
those in true ones, scatter as the difference of two free draws does: by twice their number."""

SWEEPS = 12
"""Tries a borrower, after which there are as many copies as there are."""


def exchange(items: Sequence[T], fits: Fits[T], rng: random.Random) -> list[T | None]:
    """Returns for each item another one whose part it borrows; each lends once.

    Args:
        items: Who lends and borrows.
        fits: Whether the first may borrow from the second; nobody may from themselves.
        rng: Decides.

    Returns:
        The lender of each item, or None where none was found in `TRIES` exchanges.

    >>> names = ["Ann", "Bob", "Cem", "Dan"]
    >>> lenders = exchange(names, lambda a, b: a != b, random.Random(1))
    >>> sorted(lenders), any(a == b for a, b in zip(names, lenders))
    (['Ann', 'Bob', 'Cem', 'Dan'], False)
    """
    lender, served = _permutation(items, fits, rng)
    return [items[lender[i]] if i in served else None for i in range(len(items))]


def lend(
    items: Sequence[T], fits: Fits[T], filler: Callable[[T], str], rng: random.Random
) -> list[T | None]:
    """Returns for each item another one; each lends once on average, but not exactly once.

    Exact balance would be a hint of its own: what is true more often in one half of the data would
    have to be false more often in the other. So some borrowers then copy somebody else's lender, if
    the two could exchange. As likely as one gives its lender up, another copies that one: on
    average every lender keeps its share.

    Args:
        items: Who lends and borrows.
        fits: Whether the first may borrow from the second; nobody may from themselves.
        filler: What an item lends.
        rng: Decides.

    Returns:
        The lender of each item, or None where none was found.
    """
    lender, served = _permutation(items, fits, rng)
    borrowers = sorted(served)
    copies, wanted = 0, COPIES * len(borrowers)
    for _ in range(SWEEPS * len(borrowers)):
        if copies >= wanted:
            break
        i, j = rng.choice(borrowers), rng.choice(borrowers)
        if fits(items[i], items[lender[j]]) and fits(items[j], items[lender[i]]):
            copies += filler(items[lender[i]]) != filler(items[lender[j]])
            lender[i] = lender[j]
    return [items[lender[i]] if i in served else None for i in range(len(items))]


def _permutation(
    items: Sequence[T], fits: Fits[T], rng: random.Random
) -> tuple[list[int], set[int]]:
    """Returns the lender of each item, and the items that it fits."""
    order = list(range(len(items)))
    rng.shuffle(order)
    lender = [0] * len(items)
    for i, j in zip(order, order[1:] + order[:1], strict=True):
        lender[i] = j
    served = {i for i in order if fits(items[i], items[lender[i]])}
    for i in order:
        for _ in range(0 if i in served else TRIES):
            j = rng.randrange(len(items))
            mine, yours = lender[i], lender[j]
            takes = fits(items[j], items[mine])
            if fits(items[i], items[yours]) and (takes or j not in served):
                lender[i], lender[j] = yours, mine
                served.add(i)
                served |= {j} if takes else set()
                break
    return lender, served
