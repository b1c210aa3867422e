"""What stands in which table: VELOCITI's Tables 2 and 3, and one row per test for any dataset."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from vbench.metrics.outcomes import Row
from vbench.metrics.velociti import AVERAGED, CONTROLS, IVAT
from vbench.results.contest import beside, leading
from vbench.results.coverage import answered, share, short
from vbench.results.tables import Cell, Column, Line, Table

Summary = Mapping[str, Any]
"""What summary.json holds; see `statistics.summary`."""

MOST_NOTES = 3
"""Runs that are told one by one how many of their samples are answered, where all say the same."""


@dataclass(frozen=True)
class RunSummary:
    """A run as a table shows it."""

    name: str
    summary: Summary
    limit: int | None = None
    """The run's `limit=N`: at most N samples of each test were drawn."""
    metric: str = ""
    """What else than strict comparison its numbers are: `tie=half`, `metric=strict_vle`."""
    rows: Mapping[str, Row] = field(default_factory=dict)
    """Its graded rows, where it is to be held against other runs."""
    leading: frozenset[str] = frozenset()
    """Rows in which it is the best, or not shown to be below the best; see `marked`."""
    family: str = ""
    """What `leading` was found among."""

    @property
    def label(self) -> str:
        """The name, marked where the run did not use all samples, or graded them otherwise."""
        return self.name + self.mark

    @property
    def mark(self) -> str:
        """What a reader of the numbers must know, in brackets; empty for a plain run."""
        limit = "" if self.limit is None else f"limit={self.limit}"
        marks = ", ".join(mark for mark in (limit, self.metric) if mark)
        return f" ({marks})" if marks else ""


@dataclass(frozen=True)
class Layout:
    """A paper's table: which estimates are its columns."""

    title: str
    columns: tuple[Column, ...]


def _columns(keys: Sequence[str], titles: Sequence[str], groups: Sequence[str]) -> list[Column]:
    return [Column(*column) for column in zip(keys, titles, groups, strict=True)]


VELOCITI_2 = Layout(
    "VELOCITI, layout of Table 2",
    (
        *_columns(CONTROLS, ("t2v", "v2t"), ["C"] * 2),
        *_columns(IVAT, ("t2v", "v2t", "t2v", "v2t", "Group"), ["I", "I", "M", "M", ""]),
    ),
)
"""C: control, I: independent, M: matching."""

VELOCITI_3 = Layout(
    "VELOCITI, layout of Table 3",
    tuple(
        _columns(
            (*AVERAGED, "average"),
            ("Iden", "Bind", "Coref", "Adv", "Bind", "Modif", "Chrono", "Avg"),
            ["Agent"] * 3 + ["Action"] * 3 + [""] * 2,
        )
    ),
)

NOTES = (
    "value [95 % interval], clustered by source; exact with n = sources where all credits agree",
    "ties: samples whose deciding comparison is tied (value if tied scores were ordered at random)",
    "truncated: samples with a text longer than the model reads, or a reply that was cut off",
)
"""Below every table of accuracies."""


def paper_table(layout: Layout, runs: Sequence[RunSummary]) -> Table:
    """Returns a paper's table with chance first, then each run and what qualifies its numbers.

    To print other rows beside these, such as a paper's own, put them into `lines` of the result.

    Args:
        layout: The columns.
        runs: The rows; an estimate that a run lacks is left empty.
    """
    keys = [column.key for column in layout.columns]
    runs = marked(runs, keys)
    found = [run.summary["tests"][key] for run in runs for key in keys if key in _tests(run)]
    chances: dict[str, Cell] = {}
    for run in runs:
        chances = {key: _chance(test) for key, test in _tests(run).items()} | chances
    lines = [Line("Chance", tuple(chances.get(key, Cell()) for key in keys))]
    for run in runs:
        lines += run_lines(run, keys)
    title = f"{layout.title}: accuracy in %, {_interval_head(found)}"
    return Table(title, "Model", layout.columns, tuple(lines), (*NOTES, *run_notes(runs)))


def run_lines(run: RunSummary, keys: Sequence[str]) -> list[Line]:
    """Returns a run's numbers, and below them what qualifies them.

    Args:
        run: The run.
        keys: Its estimates, one per column; one that it lacks is left empty.
    """
    facts = [_facts(run, key) for key in keys]
    return [
        Line(run.label, tuple(fact["value"] for fact in facts)),
        *(
            Line(title, tuple(fact[name] for fact in facts), detail=True)
            for name, title in _DETAILS.items()
        ),
    ]


def table_of_tests(runs: Sequence[RunSummary]) -> Table:
    """Returns one row per test of each run, for any dataset.

    Args:
        runs: One run, named in the title, or several, named in each row. These are compared in
            the rows that do not only show others again; see `contest.beside`.
    """
    again = beside([run.rows for run in runs])
    runs = marked(runs)
    columns = (
        Column("value", "accuracy"),
        *(Column(name, title, detail=True) for name, title in _DETAILS.items()),
        Column("chance", "chance", detail=True),
    )
    lines = []
    for run in runs:
        for key, test in _tests(run).items():
            facts = _facts(run, key) | {"chance": _chance(test)}
            label = key if len(runs) == 1 else f"{run.label}: {key}"
            lines.append(Line(label, tuple(facts[column.key] for column in columns)))
    found = [test for run in runs for test in _tests(run).values()]
    names = runs[0].label if len(runs) == 1 else f"{len(runs)} runs"
    title = f"{names}: accuracy in %, {_interval_head(found)}"
    never = (f"never in bold, as they show other rows again: {', '.join(again)}",) if again else ()
    return Table(title, "Test", columns, tuple(lines), (*NOTES, *run_notes(runs), *never))


def tables(runs: Sequence[RunSummary]) -> dict[str, Table]:
    """Returns every table that these runs can fill, by file name: the paper's, then all tests."""
    shown = {}
    for name, layout in (("velociti_table2", VELOCITI_2), ("velociti_table3", VELOCITI_3)):
        if any(column.key in _tests(run) for run in runs for column in layout.columns):
            shown[name] = paper_table(layout, runs)
    return shown | {"tests": table_of_tests(runs)}


def _tests(run: RunSummary) -> Mapping[str, Any]:
    tests: Mapping[str, Any] = run.summary["tests"]
    return tests


_DETAILS = {
    "n": "n (sources)",
    "ties": "ties (as half)",
    "truncated": "truncated",
    "answered": "answered",
}


def marked(runs: Sequence[RunSummary], keys: Sequence[str] | None = None) -> list[RunSummary]:
    """Returns runs that know in which columns they are the best, or not shown to be below it.

    Args:
        runs: The rows of a table; those without graded rows are not compared.
        keys: Its columns, which are one family; None: see `contest`.
    """
    found, compared = leading([run.rows for run in runs], keys)
    family = (
        "bold: the best, and what is not shown to be below it (paired by sample, clustered by "
        f"source, Holm over {compared} comparisons: all pairs of runs in all tests of this table)"
    )
    return [
        replace(run, leading=own, family=family if compared else "")
        for run, own in zip(runs, found, strict=True)
    ]


def _facts(run: RunSummary, key: str) -> dict[str, Cell]:
    """Returns the cells for one estimate: its value and _DETAILS; all empty if there is none."""
    summary, test = run.summary, _tests(run).get(key)
    if test is None:
        return dict.fromkeys(("value", *_DETAILS), Cell())
    interval = f"[{_percent(test['ci_low'])}, {_percent(test['ci_high'])}]"
    rest = summary["coverage"]["incomplete"].get(key)
    return {
        "value": Cell(f"{_percent(test['value'])} {interval}", test, int(key in run.leading)),
        "n": Cell(f"{test['n']} ({test['clusters']})"),
        "ties": Cell(f"{test['ties']} ({_percent(test['value_half_ties'])})"),
        "truncated": Cell(str(test["truncated"])),
        "answered": Cell(
            "100 %"
            if rest is None
            else f"{share(rest['answered'], rest['n'])}, "
            f"{_percent(rest['if_wrong'])}-{_percent(rest['if_right'])}"
        ),
    }


def _chance(test: Mapping[str, Any]) -> Cell:
    return Cell(_percent(test["chance"]), {"value": test["chance"]})


def _percent(fraction: float) -> str:
    return f"{100 * fraction:.1f}"


def _interval_head(found: Iterable[Mapping[str, Any]]) -> str:
    sources = sorted({test["clusters"] for test in found})
    if not sources:
        return "no test answered"
    span = f"{sources[0]}" if len(sources) == 1 else f"{sources[0]}-{sources[-1]}"
    return f"95 %, {span} {'source' if span == '1' else 'sources'}"


def run_notes(runs: Sequence[RunSummary]) -> list[str]:
    """Returns what a reader of runs' numbers must know of how many samples are behind them."""
    notes = [family for family in dict.fromkeys(run.family for run in runs) if family]
    if any(run.summary["coverage"]["incomplete"] for run in runs):
        notes.append("answered: share, and the value if the rest were all wrong - all right")
    limits = dict.fromkeys(run.limit for run in runs if run.limit is not None)
    notes += [f"limit={n}: a seeded draw of at most {n} samples per test" for n in limits]
    told = [_behind(run) for run in runs]
    if len(runs) > MOST_NOTES and all(lines == told[0] for lines in told):
        notes += [f"each of the {len(runs)} runs: {line}" for line in told[0]]
        told = [[] for _ in runs]
    for run, lines in zip(runs, told, strict=True):
        notes += [f"{run.label}: {line}" for line in lines]
        notes += [*_observed(run), *_unheard(run)]
    return notes


def _behind(run: RunSummary) -> list[str]:
    """Returns how many samples, and which frames, are behind a run's numbers."""
    coverage = run.summary["coverage"]
    told = [answered(coverage)] if coverage["n"] else []
    return told + ([line] if (line := short(coverage)) else [])


def _unheard(run: RunSummary) -> list[str]:
    """Returns a line if there was sound that the model was not given."""
    audio = run.summary.get("audio", {})
    if not audio.get("unused"):
        return []
    return [f"{run.label}: {audio['unused']} of {audio['clips']} clips have sound, not heard"]


def _observed(run: RunSummary) -> list[str]:
    """Returns a line per thing that the scorer noticed, with its share in each test."""
    lines: dict[str, list[str]] = {}
    for test, shares in run.summary.get("observed", {}).items():
        for name, of in shares.items():
            interval = f"[{_percent(of['ci_low'])}, {_percent(of['ci_high'])}]"
            lines.setdefault(name, []).append(f"{test} {_percent(of['value'])} {interval}")
    return [f"{run.label}, {name} in %: {', '.join(found)}" for name, found in lines.items()]
