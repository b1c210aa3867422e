"""The story of `vbench compare`: which of some runs is better, as far as their answers show it."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from vbench.errors import ConfigError, RunError, did_you_mean
from vbench.flags import listed
from vbench.results.contest import ALPHA, Rows, contest, row_names
from vbench.results.contest_tables import (
    Shown,
    agreement_table,
    contest_table,
    item_table,
    letter,
    verdict,
    warnings,
)
from vbench.results.folders import run_folder
from vbench.results.graded import graded, read_scores
from vbench.results.items import Item, agreements, disagreements, items
from vbench.results.naming import run_names
from vbench.results.paired import by_name
from vbench.results.pairing import check_samples, settings_apart
from vbench.results.resampling import opinions
from vbench.results.run import Run, load_run, metric_mark
from vbench.results.sweeps import runs_of
from vbench.results.tables import Table
from vbench.table import print_table


@dataclass(frozen=True)
class Wanted:
    """What is to be compared and told."""

    against: str | None = None
    """The run that the others are held against; None: the best of each row."""
    tests: str = ""
    """Rows of the family, with commas between; none: all results of their own."""
    all_rows: bool = False
    """Whether the family is all rows, also those that only show others again."""
    detect: float | None = None
    """A difference, as a fraction, for which to say how many sources would show it."""
    everything: bool = False
    """McNemar, bootstrap and sign flips as well."""
    items: bool = False
    """Single samples as well."""
    limit: int = 20
    """How many samples a list shows."""


def print_comparison(
    paths: Sequence[str], wanted: Wanted, form: str = "terminal", as_json: bool = False
) -> None:
    """Prints which of some finished runs is better, row by row.

    Args:
        paths: Run folders, or folders that hold some: a sweep.
        wanted: What to compare.
        form: `terminal`, `markdown`, `latex`, `csv` or `html`.
        as_json: Strict JSON instead.

    Raises:
        ConfigError: Fewer than two runs, or a row or run that is not there.
        DataError: The runs do not answer the same samples.
        RunError: A folder is no finished run.
    """
    named = [] if wanted.against is None else [run_folder(wanted.against)]
    folders = [*runs_of(paths), *named]
    runs = [load_run(folder) for folder in dict.fromkeys(folder.resolve() for folder in folders)]
    if len(runs) < 2:
        raise ConfigError("nothing to compare", where=str(folders[0]), mend="name two runs or more")
    shown, of_samples = _compared(runs, wanted), _items(runs) if wanted.items else None
    if as_json:
        values = to_dict(shown, of_samples, wanted.limit)
        sys.stdout.write(json.dumps(values, indent=2, allow_nan=False) + "\n")
        return
    if form == "csv":  # which has no room for notes
        sys.stderr.write("".join(f"vbench: {warning}\n" for warning in warnings(shown)))
    for table in [contest_table(shown), *_item_tables(shown, of_samples, wanted.limit)]:
        print_table(table, form)


def _compared(runs: Sequence[Run], wanted: Wanted) -> Shown:
    apart = check_samples(runs)
    rows = [by_name(graded(run)) for run in runs]
    tests = _named(wanted.tests, rows)
    against = None
    if wanted.against is not None:
        named = run_folder(wanted.against).resolve()
        against = next(place for place, run in enumerate(runs) if run.path == named)
    family = row_names(rows) if wanted.all_rows else tests or None
    found = contest(rows, family, against)
    if not found.matches:
        raise RunError(
            "the runs have no row with samples in common",
            where=", ".join(str(run.path) for run in runs),
            why="; ".join(", ".join(own) or "no graded row" for own in rows),
            mend="compare runs of one dataset and metric; vbench score RUN metric=… grades stored "
            "answers anew",
        )
    marks = [metric_mark(run.config) for run in runs]
    names = zip(run_names(runs), marks, strict=True)
    return Shown(
        contest=found,
        names=tuple(f"{name} ({mark})" if mark else name for name, mark in names),
        paths=tuple(str(run.path) for run in runs),
        settings=tuple(settings_apart(runs)),
        apart=apart,
        named=against is not None,
        detect=wanted.detect,
        opinions=tuple(opinions(*m.rows) for m in found.matches) if wanted.everything else (),
    )


def _named(text: str, rows: Sequence[Rows]) -> list[str]:
    known = row_names(rows)
    tests = listed(text, known)
    for test in tests:
        if sum(test in own for own in rows) < 2:
            raise ConfigError(
                f"no two runs have a row '{test}'",
                where="--tests",
                mend=did_you_mean(test, known),
            )
    return tests


def _items(runs: Sequence[Run]) -> list[Item]:
    outcomes = []
    for run in runs:
        stored = (run.records[name] for name in ("test", "sample_id", "outcome"))
        rows = zip(*(map(str, column) for column in stored), strict=True)
        outcomes.append({(test, sample): outcome for test, sample, outcome in rows})
    return items(outcomes, [read_scores(run.path) for run in runs])


def _item_tables(shown: Shown, found: Sequence[Item] | None, limit: int) -> list[Table]:
    if found is None:
        return []
    count = len(shown.names)
    return [
        agreement_table(agreements(found, count), shown.names),
        item_table("Samples, the hardest first", found, limit, count),
        item_table("Samples on which the runs disagree", disagreements(found), limit, count),
    ]


def to_dict(shown: Shown, found: Sequence[Item] | None, limit: int) -> dict[str, Any]:
    """Returns a comparison as JSON takes it.

    Args:
        shown: The comparison.
        found: Single samples, if asked for.
        limit: How many of them are listed.
    """
    runs = [
        {"letter": letter(place), "name": name, "path": path}
        for place, (name, path) in enumerate(zip(shown.names, shown.paths, strict=True))
    ]
    values: dict[str, Any] = {
        "runs": runs,
        "settings": [asdict(setting) for setting in shown.settings],
        "samples_left_out": dict(shown.apart),
        "family": {
            "correction": "holm",
            "level": round(ALPHA, 12),
            "comparisons": shown.contest.compared,
            "tests": list(shown.contest.tests),
            "left_out": dict(shown.contest.beside),
            "against": "named" if shown.named or len(runs) == 2 else "best",
        },
        "tests": [_match(shown, place) for place in range(len(shown.contest.matches))],
        "warnings": warnings(shown),
    }
    if found is not None:
        values["agreement"] = [
            asdict(one) | {"a": letter(one.a), "b": letter(one.b)}
            for one in agreements(found, len(runs))
        ]
        values["hardest"] = [asdict(item) for item in found[:limit]]
        disputed = disagreements(found)
        values["disagreements"] = {
            "n": len(disputed),
            "samples": [asdict(item) for item in disputed[:limit]],
        }
    return values


def _match(shown: Shown, place: int) -> Mapping[str, Any]:
    match = shown.contest.matches[place]
    values = {
        "test": match.test,
        "a": letter(match.a),
        "b": letter(match.b),
        **asdict(match.difference),
        "p_holm": match.p_holm,
        "detectable": match.detectable,
        "verdict": verdict(match),
    }
    if shown.detect is not None:
        needed = shown.contest.needed(match, shown.detect)
        values["needed"] = {"difference": shown.detect, "sources": needed}
    if shown.opinions:
        values |= asdict(shown.opinions[place])
    return values
