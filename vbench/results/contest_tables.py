"""Comparisons as tables: one line per row of the summary and pair of runs, and single samples."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from vbench.results.contest import ALPHA, Contest, Match
from vbench.results.items import Agreement, Item
from vbench.results.pairing import Setting
from vbench.results.resampling import DRAWS, Opinions
from vbench.results.tables import Cell, Column, Line, Table

FEW = 20
"""Below so many sources an interval is a rough guess."""

_NOTES = (
    "difference in points [95 % interval], paired by sample, clustered by source; the interval is "
    "of this comparison alone, p Holm and the verdict of all together",
    "not shown: a true difference as large as in brackets would be shown in 80 of 100 such "
    "comparisons, even at the strictest level of Holm's; smaller ones may be there",
)


@dataclass(frozen=True)
class Shown:
    """A contest with what a reader needs to know of it."""

    contest: Contest
    names: tuple[str, ...]
    """Of the runs."""
    paths: tuple[str, ...]
    settings: tuple[Setting, ...] = ()
    """That differ beside the model."""
    apart: Mapping[str, int] = field(default_factory=dict)
    """By folder, the samples that not all runs ask."""
    named: bool = False
    """Whether the run that the others are held against was named, not found."""
    detect: float | None = None
    """A difference that is to be shown, as a fraction."""
    opinions: tuple[Opinions, ...] = ()
    """Of each match, if asked for."""


def letter(place: int) -> str:
    """Names a run shortly: A, B, … Z, AA, …

    >>> letter(0), letter(25), letter(26)
    ('A', 'Z', 'AA')
    """
    first, last = divmod(place, 26)
    return (letter(first - 1) if first else "") + chr(ord("A") + last)


def verdict(match: Match) -> str:
    """Says what a comparison has shown; that two runs are equal is never shown."""
    if match.better is not None:
        return f"{letter(match.better)} better"
    if match.detectable is None:
        return "not shown (too few sources)"
    return f"not shown ({100 * match.detectable:.1f})"


def contest_table(shown: Shown) -> Table:
    """Returns the comparisons, the runs' names and all warnings in one table."""
    two = len(shown.names) == 2
    lines = []
    for place, match in enumerate(shown.contest.matches):
        pair = f"{letter(match.a)} against {letter(match.b)}"
        label = match.test if two else f"{match.test}: {pair}"
        opinions = shown.opinions[place] if shown.opinions else None
        lines.append(Line(label, _cells(shown, match, opinions)))
    heads = ("A", "B", "A - B") if two else ("run", "against", "difference")
    sources = sorted({match.difference.clusters for match in shown.contest.matches})
    span = "-".join(map(str, dict.fromkeys((sources[0], sources[-1])))) if sources else "no"
    what = "A against B" if two else f"{len(shown.names)} runs"
    title = f"{what}: accuracy in %, paired, 95 %, {span} sources"
    return Table(title, "Test", _columns(shown, heads), tuple(lines), tuple(notes(shown)))


def _columns(shown: Shown, heads: Sequence[str]) -> tuple[Column, ...]:
    found = [
        *(Column(k, t) for k, t in zip(("value_a", "value_b", "difference"), heads, strict=True)),
        Column("counts", "won / lost / same", detail=True),
        Column("n", "n (sources)", detail=True),
        Column("p", "p", detail=True),
        Column("p_holm", "p Holm", detail=True),
    ]
    if shown.opinions:
        found += [Column("mcnemar", "McNemar p"), Column("bootstrap", "bootstrap [95 %] p")]
        found.append(Column("sign_flip", "sign flip p"))
    if shown.detect is not None:
        found.append(Column("needed", f"sources for {100 * shown.detect:g} points"))
    return (*found, Column("verdict", "verdict"))


def _cells(shown: Shown, match: Match, opinions: Opinions | None) -> tuple[Cell, ...]:
    d = match.difference
    numbers = asdict(d) | {"p_holm": match.p_holm, "detectable": match.detectable}
    found = [
        Cell(f"{100 * d.value_a:.1f}", {"value": d.value_a}, int(match.better == match.a)),
        Cell(f"{100 * d.value_b:.1f}", {"value": d.value_b}, int(match.better == match.b)),
        Cell(f"{_points(d.difference)} [{_points(d.ci_low)}, {_points(d.ci_high)}]", numbers),
        Cell(f"{d.wins} / {d.losses} / {d.ties}"),
        Cell(f"{d.n} ({d.clusters})"),
        Cell(p_value(d.p)),
        Cell(p_value(match.p_holm)),
    ]
    if opinions is not None:
        o = opinions
        interval = f"[{_points(o.bootstrap_low)}, {_points(o.bootstrap_high)}]"
        found += [
            Cell("" if o.mcnemar_p is None else p_value(o.mcnemar_p), {"p": o.mcnemar_p}),
            Cell(
                f"{interval} {p_value(o.bootstrap_p)}",
                {"p": o.bootstrap_p, "ci_low": o.bootstrap_low, "ci_high": o.bootstrap_high},
            ),
            Cell(p_value(o.sign_flip_p), {"p": o.sign_flip_p}),
        ]
    if shown.detect is not None:
        wanted = shown.contest.needed(match, shown.detect)
        samples = None if wanted is None else round(wanted * d.n / d.clusters)
        text = "" if wanted is None else f"{wanted} ({samples} samples)"
        found.append(Cell(text, {"sources": wanted, "samples": samples}))
    return (*found, Cell(verdict(match)))


def p_value(p: float) -> str:
    """Writes a p-value.

    >>> p_value(0.0123), p_value(1e-9)
    ('0.012', '<0.001')
    """
    return "<0.001" if p < 0.001 else f"{p:.3f}"


def _points(fraction: float) -> str:
    return f"{100 * fraction:+.1f}"


def notes(shown: Shown) -> list[str]:
    """Returns the runs, the family and whatever makes the comparison less than fair."""
    found = [
        f"{letter(place)}: {name} ({path})"
        for place, (name, path) in enumerate(zip(shown.names, shown.paths, strict=True))
    ]
    found += [*warnings(shown), *_NOTES, family(shown), *left_out(shown.contest.beside)]
    if shown.opinions:
        found.append(
            "McNemar: exact, takes samples for independent; bootstrap: sources drawn again, "
            f"{DRAWS} draws, seed 0; sign flip: runs swapped source by source, all ways or {DRAWS}"
        )
    return found


def family(shown: Shown) -> str:
    """Names what Holm's correction counts."""
    contest, count = shown.contest, len(shown.names)
    tests = f"{len(contest.tests)} tests: {', '.join(contest.tests)}"
    if count == 2:
        return f"Holm over {contest.compared} comparisons, level {ALPHA:.2f}: {tests}"
    pairs = (
        "each run against the one named"
        if shown.named
        else f"all pairs of {count} runs, since the best is found by the same answers"
    )
    return f"Holm over {contest.compared} comparisons, level {ALPHA:.2f}: {pairs}, in {tests}"


def left_out(beside: Mapping[str, str]) -> list[str]:
    """Names the rows that are not compared, by what they show again, and how to compare them."""
    found: dict[str, list[str]] = {}
    for name, why in beside.items():
        found.setdefault(why, []).append(name)
    how = "not compared (--all-rows compares them as well, --tests those that it names)"
    return [f"{how}: {why}: {', '.join(names)}" for why, names in found.items()]


def warnings(shown: Shown) -> list[str]:
    """Returns what a reader must know before believing that the models make the difference."""
    found = []
    for setting in shown.settings:
        values = [f"{letter(place)} {_value(value)}" for place, value in enumerate(setting.values)]
        found.append(f"warning: {setting.name} is not the same: {', '.join(values)}")
    for place, path in enumerate(shown.paths):
        if shown.apart.get(path):
            n = shown.apart[path]
            found.append(f"warning: {n} samples of {letter(place)} are not in all runs; left out")
    few = [match.test for match in shown.contest.matches if match.difference.clusters < FEW]
    if few:
        names = ", ".join(dict.fromkeys(few))
        found.append(f"warning: fewer than {FEW} sources, so its interval is rough: {names}")
    return found


def _value(value: object) -> str:
    return "-" if value is None else value if isinstance(value, str) else json.dumps(value)


def item_table(title: str, found: Sequence[Item], limit: int, runs: int) -> Table:
    """Returns single samples with each run's outcome.

    Args:
        title: What they are.
        found: The samples, in order.
        limit: How many are listed.
        runs: How many runs there are.
    """
    columns = (
        Column("source", "source"),
        Column("right", "right"),
        *(Column(letter(place), letter(place)) for place in range(runs)),
    )
    lines = [
        Line(
            f"{item.test}/{item.sample_id}",
            (
                Cell(item.cluster),
                Cell(f"{item.right} of {item.graded}", {"right": item.right, "of": item.graded}),
                *(Cell(outcome) for outcome in item.outcomes),
            ),
        )
        for item in found[:limit]
    ]
    more = len(found) - limit
    told = (f"and {more} more: --limit=N lists more",) if more > 0 else ()
    return Table(f"{title}: {len(found)}", "Sample", columns, tuple(lines), told)


def agreement_table(found: Sequence[Agreement], names: Sequence[str]) -> Table:
    """Returns the matrix of how often runs are right on the same samples, over all tests."""
    of = {frozenset((one.a, one.b)): one for one in found if one.test is None}
    letters = [letter(place) for place in range(len(names))]
    lines = [
        Line(
            f"{letters[a]}: {name}",
            tuple(_agreement(of.get(frozenset((a, b)))) for b in range(len(names))),
        )
        for a, name in enumerate(names)
    ]
    note = "samples on which both are right or neither is, in %; in brackets Cohen's kappa"
    columns = tuple(Column(one, one) for one in letters)
    return Table("Agreement, all tests together", "Run", columns, tuple(lines), (note,))


def _agreement(one: Agreement | None) -> Cell:
    if one is None:
        return Cell()
    kappa = "-" if one.kappa is None else f"{one.kappa:.2f}"
    numbers: dict[str, Any] = {"same": one.same, "kappa": one.kappa, "n": one.n}
    return Cell(f"{100 * one.same:.1f} ({kappa})", numbers)
