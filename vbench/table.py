"""The story of `vbench table`: finished runs in, tables out, ours or a paper's with ours in it."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from vbench.results.census import census
from vbench.results.layouts import RunSummary, tables
from vbench.results.reproduction import LAYOUTS, reproduction
from vbench.results.rivals import Rival
from vbench.results.run import Run, load_run, metric_mark
from vbench.results.tables import Table, to_csv, to_html, to_latex, to_markdown, to_terminal

_WRITERS = {"markdown": to_markdown, "latex": to_latex, "csv": to_csv, "html": to_html}


def print_tables(paths: Sequence[str], form: str = "terminal", paper: str | None = None) -> None:
    """Prints every table that the runs can fill, or one paper's with ours beside it.

    Args:
        paths: Run folders.
        form: `terminal`, `markdown`, `latex`, `csv` or `html`.
        paper: `velociti/table3`: its printed values, with the runs'. None: our own tables.

    Raises:
        RunError: A folder is no finished run.
    """
    runs = [load_run(path) for path in paths]
    names = _short_names(runs)
    shown = [
        RunSummary(name, r.summary, r.config["limit"], metric_mark(r.config))
        for name, r in zip(names, runs, strict=True)
    ]
    if paper is not None and paper in LAYOUTS:
        rivals = [Rival(run, of) for run, of in zip(runs, shown, strict=True)]
        _print(reproduction(paper, rivals), form)
        return
    if paper is not None:
        _print(census(runs), form)
        return
    found = tables(shown)
    for name, table in found.items():
        if name == "tests" and len(found) > 1:
            continue  # the same numbers as in the paper's tables
        _print(table, form)


def _print(table: Table, form: str) -> None:
    if form == "terminal":
        from rich.console import Console

        # A pipe or a log has no width of its own; wrapped intervals are hard to read there.
        width = None if sys.stdout.isatty() else 160
        Console(file=sys.stdout, width=width).print(to_terminal(table))
    else:
        sys.stdout.write(_WRITERS[form](table) + "\n")


def _short_names(runs: Sequence[Run]) -> list[str]:
    """Names runs by entry or model, and by sampler and run folder where that is not enough."""
    choices = [run.config["command"]["choices"] for run in runs]
    ways = (
        [of.get("entry", of["model"]) for of in choices],
        [of["model"] for of in choices],
        [f"{of['model']} {of['sampler']}" for of in choices],
        [f"{of['model']} {run.path.name}" for of, run in zip(choices, runs, strict=True)],
    )
    return next(
        (names for names in ways if len(set(names)) == len(names)), [str(r.path) for r in runs]
    )
