"""Runs held against one another, row by row, with Holm's correction over all that is compared."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations

from vbench.metrics.outcomes import Row
from vbench.results.paired import Difference, detectable, difference, holm, needed, shared
from vbench.results.statistics import LEVEL, Sources, sources, weighted_mean

ALPHA = 1 - LEVEL
"""Corrected p-values below it are shown differences."""

Rows = Mapping[str, Row]
"""A run's graded rows by name."""


@dataclass(frozen=True)
class Match:
    """Two runs in one row."""

    test: str
    a: int
    """Place of a run."""
    b: int
    """Place of the run that it is held against."""
    rows: tuple[Row, Row] = field(repr=False)
    """Those of both on the shared samples."""
    difference: Difference
    p_holm: float = 1.0
    """Corrected over the family."""
    detectable: float | None = None
    """The smallest true difference that would be shown in 80 of 100 comparisons, were this the one
    of the family that is judged most strictly; None: none would."""

    @property
    def better(self) -> int | None:
        """The place of the better run; None: not shown."""
        if self.p_holm >= ALPHA:
            return None
        return self.a if self.difference.difference > 0 else self.b


@dataclass(frozen=True)
class Contest:
    """All comparisons that are made together."""

    tests: tuple[str, ...]
    """The rows of the family."""
    matches: tuple[Match, ...]
    """Those to be shown."""
    compared: int
    """Comparisons in the family: all pairs of runs where the best is found by the same answers."""
    best: Mapping[str, int]
    """Per row the place of the run with the highest value, or of the one named."""
    beside: Mapping[str, str] = field(default_factory=dict)
    """Rows that are left out though runs share them, and what each shows again."""

    @property
    def level(self) -> float:
        """The p-value below which a difference is shown whatever the rest of the family gives."""
        return ALPHA / max(self.compared, 1)

    def needed(self, match: Match, wanted: float) -> int | None:
        """Returns how many sources would show a difference; see `paired.needed`."""
        return needed(match.difference, wanted, self.level)


def contest(
    runs: Sequence[Rows], tests: Sequence[str] | None = None, against: int | None = None
) -> Contest:
    """Compares runs in every result of its own that at least two of them have.

    Of two runs the first is held against the second. Of more, each is held against the best of its
    row. Since the best is picked by the very answers that are compared, the correction then counts
    all pairs, as if each had been looked at.

    Args:
        runs: Each run's rows.
        tests: The family; None: all rows but those that only show others again, in order of first
            appearance. Compared as well, these would make each level stricter and say nothing new.
        against: The run that the others are held against; None: see above.
    """
    left_out = beside(runs) if tests is None else {}
    wanted = [name for name in row_names(runs) if name not in left_out] if tests is None else tests
    against = 1 if against is None and len(runs) == 2 else against
    field_of = _Field(runs)
    found: list[Match] = []
    best: dict[str, int] = {}
    for test in wanted:
        have = [place for place, rows in enumerate(runs) if test in rows]
        if against is None and have:
            best[test] = max(have, key=lambda place: field_of.values[place, test])
        elif against in have:
            best[test] = against
        found += field_of.matches(test, have, against)
    adjusted = holm([match.difference.p for match in found])
    level = ALPHA / max(len(found), 1)
    shown = [
        replace(match, p_holm=p, detectable=detectable(match.difference, level))
        for match, p in zip((_towards(m, best[m.test]) for m in found), adjusted, strict=True)
        if match.b == best[match.test]
    ]
    kept = dict.fromkeys(match.test for match in found)
    return Contest(tuple(kept), tuple(shown), len(found), best, left_out)


def row_names(runs: Sequence[Rows]) -> list[str]:
    """Returns the names of all rows, in order of first appearance."""
    return list(dict.fromkeys(name for rows in runs for name in rows))


def beside(runs: Sequence[Rows]) -> dict[str, str]:
    """Returns the rows that at least two runs have and only show others again, with how."""
    found: dict[str, str] = {}
    for name in row_names(runs):
        own = [rows[name].beside for rows in runs if name in rows]
        if len(own) > 1 and any(own):
            found[name] = next(filter(None, own))
    return found


def leading(
    runs: Sequence[Rows], tests: Sequence[str] | None = None
) -> tuple[list[frozenset[str]], int]:
    """Returns for each run the rows in which it is the best, or not shown to be below the best.

    Args:
        runs: Each run's rows.
        tests: The family; None: see `contest`. A row that only one run has, or whose best shares
            no sample with a run, leaves that run out.

    Returns:
        The rows by run, and how many comparisons there were.
    """
    found = contest(runs, tests)
    kept: list[set[str]] = [set() for _ in runs]
    for match in found.matches:
        for place in (match.a, match.b):
            if match.better in (None, place):
                kept[place].add(match.test)
    return [frozenset(of) for of in kept], found.compared


def _towards(match: Match, best: int) -> Match:
    """Turns a match around so that the best, or the one named, is the second."""
    if match.a != best:
        return match
    ours, theirs = match.rows
    d = match.difference
    turned = replace(
        d,
        value_a=d.value_b,
        value_b=d.value_a,
        difference=0.0 - d.difference,  # not -0.0
        ci_low=-d.ci_high,
        ci_high=-d.ci_low,
        wins=d.losses,
        losses=d.wins,
    )
    return Match(match.test, match.b, match.a, (theirs, ours), turned)


class _Field:
    """The runs' rows, with what several pairs need looked up once."""

    def __init__(self, runs: Sequence[Rows]) -> None:
        self.runs = runs
        self.values = {
            (place, test): weighted_mean(row)
            for place, rows in enumerate(runs)
            for test, row in rows.items()
        }
        self._sums: dict[tuple[int, str], Sources] = {}

    def matches(self, test: str, have: Sequence[int], against: int | None) -> Iterator[Match]:
        """Yields the comparisons of one row: all pairs, or each with the one named."""
        names = {
            place: [(s.test, s.sample_id) for p in self.runs[place][test].parts for s in p.samples]
            for place in have
        }
        for a, b in combinations(have, 2):
            if against not in (None, a, b):
                continue
            rows = self.runs[a][test], self.runs[b][test]
            if names[a] == names[b] and _parts(rows[0]) == _parts(rows[1]):
                known = self._known(a, test), self._known(b, test)
                yield Match(test, a, b, rows, difference(*rows, known))
            elif (common := shared(*rows)) is not None:
                yield Match(test, a, b, common, difference(*common))

    def _known(self, place: int, test: str) -> Sources:
        key = (place, test)
        if key not in self._sums:
            self._sums[key] = sources(self.runs[place][test])
        return self._sums[key]


def _parts(row: Row) -> list[tuple[str, int, float]]:
    sizes = (len(part.credit) for part in row.parts)
    names = (part.name for part in row.parts)
    return list(zip(names, sizes, row.weights, strict=True))
