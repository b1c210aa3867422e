"""Whether one run is better than another: differences on the samples that both have answered.

Two runs answer the same samples, so it is the difference on each that counts (Miller, arXiv
2411.00640, section 4.2), and samples of one source are not independent, so differences are summed
by source before their spread is taken. Formulas and their reasons: docs/statistics.md.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import special

from vbench.errors import DataError
from vbench.metrics.outcomes import Mean, Outcomes, Row
from vbench.records import Sample
from vbench.results.statistics import LEVEL, ZERO, Sources, clustered_stderr, sources, weighted_mean

POWER = 0.8
"""How often a difference of the detectable size would be shown."""

_TAIL = (1 - LEVEL) / 2
_SAME = 1e-12
"""Sums of credits that differ by less are the same."""


@dataclass(frozen=True)
class Difference:
    """What run a has over run b in one row. Fractions are -1 to 1."""

    value_a: float
    value_b: float
    """Mean credits on the shared samples."""
    difference: float
    """a - b."""
    ci_low: float
    ci_high: float
    """Ends of its 95 % interval, which no other comparison widens."""
    stderr: float | None
    """Clustered by source; None with a single source."""
    p: float
    """Two-sided, of no difference; not corrected for other comparisons."""
    n: int
    """Samples that both runs have answered."""
    clusters: int
    """Distinct sources among them."""
    wins: int
    """Samples on which a earns more."""
    losses: int
    """Samples on which b earns more."""
    ties: int
    """Samples on which both earn the same."""
    changed: int
    """Sources on which the runs differ."""
    step: float
    """By how much they do on average, as a share of such a source."""
    freedom: float
    """Degrees of freedom of the standard error."""


def shared(a: Row, b: Row) -> tuple[Row, Row] | None:
    """Returns two rows of the same name on the samples that are graded in both.

    Args:
        a: A row of one run.
        b: That of another; a mean's parts are matched by name.

    Returns:
        The rows in the order of a; None if a part has no such sample, or the rows are not made of
        the same parts.
    """
    if a is b or _names(a) == _names(b):
        return a, b
    others = {part.name: part for part in b.parts}
    if others.keys() != {part.name for part in a.parts} or a.weights != b.weights:
        return None
    pairs = [_shared_part(part, others[part.name]) for part in a.parts]
    if not all(len(ours.credit) for ours, _ in pairs):
        return None
    if isinstance(a, Mean) and isinstance(b, Mean):
        ours, theirs = zip(*pairs, strict=True)
        return replace(a, parts=tuple(ours)), replace(b, parts=tuple(theirs))
    return pairs[0]


def _names(row: Row) -> list[tuple[str, list[tuple[str, str]]]]:
    return [(part.name, [_name(sample) for sample in part.samples]) for part in row.parts]


def _name(sample: Sample) -> tuple[str, str]:
    return sample.test, sample.sample_id


def _shared_part(a: Outcomes, b: Outcomes) -> tuple[Outcomes, Outcomes]:
    places = {_name(sample): place for place, sample in enumerate(b.samples)}
    pairs = [
        (place, places[_name(sample)])
        for place, sample in enumerate(a.samples)
        if _name(sample) in places
    ]
    ours, theirs = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    return _taken(a, ours), _taken(b, theirs)


def _taken(part: Outcomes, places: np.ndarray) -> Outcomes:
    return replace(
        part,
        credit=part.credit[places],
        half_credit=part.half_credit[places],
        clusters=part.clusters[places],
        truncated=part.truncated[places],
        samples=tuple(part.samples[place] for place in places),
    )


def difference(a: Row, b: Row, known: tuple[Sources, Sources] | None = None) -> Difference:
    """Estimates by how much a row of one run lies above that of another.

    Args:
        a: A row.
        b: The same row of another run on the same samples, in the same order (see `shared`).
        known: `sources` of both, where somebody has them already.

    Raises:
        DataError: The rows are not on the same samples.

    >>> credit, source = np.array([1.0, 1.0, 0.0, 1.0]), np.array(["a", "a", "b", "c"])
    >>> row = Outcomes("chrono", credit, credit, source, credit > 2, 0.5)
    >>> other = replace(row, credit=np.array([0.0, 1.0, 0.0, 0.0]))
    >>> found = difference(row, other)
    >>> found.difference, found.wins, found.losses, found.ties, found.changed
    (0.5, 2, 0, 2, 2)
    """
    apart = [
        ours.graded - theirs.graded
        for ours, theirs in zip(a.parts, b.parts, strict=True)
        if len(ours.graded) == len(theirs.graded) > 0
    ]
    if len(apart) < len(a.parts):
        raise DataError("the runs share no samples", where=a.name, why="nothing can be paired")
    moves = np.concatenate(apart)
    ours, theirs = known or (sources(a), sources(b))
    value_a, value_b = weighted_mean(a), weighted_mean(b)
    moved = ours.earned - theirs.earned
    changed = np.abs(moved) > _SAME
    stderr = clustered_stderr(ours.residual - theirs.residual)
    value, count = value_a - value_b, int(changed.sum())
    p, low, high = _test(value, stderr, ours, count)
    return Difference(
        value_a=value_a,
        value_b=value_b,
        difference=value,
        ci_low=max(-1.0, low),
        ci_high=min(1.0, high),
        stderr=stderr,
        p=p,
        n=len(moves),
        clusters=len(moved),
        wins=int((moves > _SAME).sum()),
        losses=int((moves < -_SAME).sum()),
        ties=int((np.abs(moves) <= _SAME).sum()),
        changed=count,
        step=float(np.mean(np.abs(moved / ours.share)[changed])) if count else 1.0,
        freedom=ours.freedom,
    )


def _test(
    value: float, stderr: float | None, of: Sources, changed: int
) -> tuple[float, float, float]:
    """Returns the p-value and the ends of the interval, from t unless too few sources differ.

    If the labels of the runs meant nothing, each source that differs could as well have differed
    the other way: k of them have 2^k signs, and no p-value may be below 2 / 2^k. Where all sources
    differ by the same, the unseen ones that differ otherwise are bounded as in a clean sheet: with
    97.5 % confidence they are no more than 1 - 0.025^(1/C) of all.
    """
    clusters = len(of.share)
    unseen = float(1 - _TAIL ** (1 / clusters))
    if stderr is None or stderr < ZERO:
        p = min(1.0, 2 * (1 + abs(value)) ** -clusters)
        return p, value - unseen * (1 + value), value + unseen * (1 - value)
    p = 2 * float(special.stdtr(of.freedom, -abs(value) / stderr))
    reach = float(special.stdtrit(of.freedom, 1 - _TAIL)) * stderr
    least = 2.0 ** (1 - changed)
    if least > 1 - LEVEL:
        reach = max(reach, abs(value), unseen)
    return max(p, min(1.0, least)), value - reach, value + reach


def detectable(found: Difference, level: float = 1 - LEVEL) -> float | None:
    """Returns the smallest true difference that would be shown in 80 of 100 such comparisons.

    Args:
        found: What there is.
        level: The p-value below which a difference is shown.

    Returns:
        (t of level + t of power) x stderr; where few sources differ, no less than what brings
        enough of them to differ at all. None: so few sources can show nothing.
    """
    enough = math.ceil(1 - math.log2(level))
    if found.stderr is None or found.clusters < enough:
        return None
    wanted = _reach(found.freedom, level) * found.stderr
    if found.changed < 2 * enough:
        often = float(special.betaincinv(enough, found.clusters - enough + 1, POWER))
        wanted = max(wanted, often * found.step)
    return wanted if wanted <= 1 else None


def _reach(freedom: float, level: float) -> float:
    return float(special.stdtrit(freedom, 1 - level / 2) + special.stdtrit(freedom, POWER))


def needed(found: Difference, wanted: float, level: float = 1 - LEVEL) -> int | None:
    """Returns how many sources like these would show a difference in 80 of 100 comparisons.

    Args:
        found: What there is; its spread by source is taken for that of further ones.
        wanted: The difference to be shown, above 0.
        level: The p-value below which it is shown.

    Returns:
        None where there is no spread to go by.
    """
    if found.stderr is None or found.stderr < ZERO:
        return None
    spread = found.stderr * math.sqrt(found.clusters)
    each = (found.freedom + 1) / found.clusters  # how much a source tells: 1 if all weigh alike

    def shows(count: int) -> bool:
        freedom = max(1.0, each * count - 1)
        return _reach(freedom, level) * spread / math.sqrt(count) <= wanted

    high = 2
    while not shows(high):
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if shows(middle) else (middle, high)
    return high


def holm(p_values: Sequence[float]) -> list[float]:
    """Returns p-values that keep the chance of any false finding below the level (Holm, 1979).

    >>> [round(p, 3) for p in holm([0.01, 0.04, 0.03])]
    [0.03, 0.06, 0.06]
    """
    adjusted = [1.0] * len(p_values)
    largest = 0.0
    for place, row in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        largest = max(largest, min(1.0, (len(p_values) - place) * p_values[row]))
        adjusted[row] = largest
    return adjusted


def by_name(rows: Sequence[Row]) -> Mapping[str, Row]:
    """Returns a run's rows that have samples in every part, by name."""
    return {row.name: row for row in rows if all(len(part.credit) for part in row.parts)}
