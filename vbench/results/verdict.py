"""Whether a number of ours is a number that a paper prints, on the same items.

A sampling interval is about other videos and says nothing here: on the same items with the same
settings a number is the same or it is not.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from math import floor


def prints_as(share: Fraction) -> set[str]:
    """Returns what a share may print as in percent with one decimal.

    Half up, as on paper; to even, as Python does; and rounded twice, to two decimals and then to
    one, as some cells of VELOCITI must have been.

    >>> sorted(prints_as(Fraction(228, 418)))
    ['54.5', '54.6']
    >>> sorted(prints_as(Fraction(1, 8)))
    ['12.5']
    """
    percent = 100 * share
    twice = _half_up(_half_up(percent, 2), 1)
    return {f"{float(x):.1f}" for x in (_half_up(percent, 1), round(percent, 1), twice)}


def _half_up(value: Fraction, decimals: int) -> Fraction:
    scale = 10**decimals
    return Fraction(floor(value * scale + Fraction(1, 2)), scale)


def counts_printed_as(printed: str, n: int) -> list[int]:
    """Returns the numbers of right answers among n that print so.

    >>> counts_printed_as("54.6", 418), counts_printed_as("52.1", 500)
    ([228], [])
    """
    middle = round(float(printed) / 100 * n)
    reach = range(max(0, middle - n // 500 - 2), min(n, middle + n // 500 + 2) + 1)
    return [count for count in reach if printed in prints_as(Fraction(count, n))]


@dataclass(frozen=True)
class Verdict:
    """What becomes of a cell."""

    text: str
    """`exact`, `off by 3 of 418`, `off by 0.4 points`, `95.4 is no share of 300`."""
    off: float | None = None
    """Answers between ours and the nearest that prints as theirs; points for a mean. None: the
    items are not the same."""
    of: int | None = None

    @property
    def exact(self) -> bool:
        """Whether ours prints as theirs."""
        return self.off == 0


def of_share(printed: str, value: float, n: int, theirs: Iterable[int]) -> Verdict:
    """Compares an accuracy.

    Args:
        printed: The paper's cell.
        value: Ours, from 0 to 1.
        n: Comparisons behind ours.
        theirs: How many may be behind the paper's.

    >>> of_share("54.6", 228 / 418, 418, (418,)).text, of_share("54.6", 0.5, 418, (418,)).text
    ('exact', 'off by 19 of 418')
    >>> of_share("54.6", 0.5, 150, (418,)).text
    'n 150, paper 418'
    """
    wanted = tuple(theirs)
    if n not in wanted:
        return Verdict(f"n {n}, paper {' or '.join(map(str, wanted)) or '?'}")
    ours = round(2 * value * n) / 2  # credits are halves: IVAT's, and ties under tie=half
    counts = counts_printed_as(printed, n)
    if not counts:
        return Verdict(f"{printed} is no share of {n}")
    off = min(abs(ours - count) for count in counts)
    return Verdict("exact" if off == 0 else f"off by {off:g} of {n}", off, n)


def of_mean(printed: str, value: float) -> Verdict:
    """Compares a mean of accuracies, which is no share of anything.

    >>> of_mean("57.7", 0.57652).text, of_mean("57.7", 0.5738).text
    ('exact', 'off by 0.3 points')
    """
    # Rounded to nine decimals: far finer than any mean of counts, and free of floating noise.
    shown = prints_as(Fraction(round(value, 9)).limit_denominator(10**9))
    if printed in shown:
        return Verdict("exact", 0.0)
    off = min(abs(float(printed) - float(one)) for one in shown)
    return Verdict(f"off by {off:.1f} points", off)
