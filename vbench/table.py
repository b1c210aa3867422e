"""The story of `vbench table`: finished runs in, the paper's tables out."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from vbench.results.layouts import RunSummary, tables
from vbench.results.run import Run, load_run, metric_mark
from vbench.results.tables import to_csv, to_latex, to_markdown, to_terminal

_WRITERS = {"markdown": to_markdown, "latex": to_latex, "csv": to_csv}


def print_tables(paths: Sequence[str], form: str = "terminal") -> None:
    """Prints every table that the runs can fill.

    Args:
        paths: Run folders.
        form: `terminal`, `markdown`, `latex` or `csv`.

    Raises:
        RunError: A folder is no finished run.
    """
    runs = [load_run(path) for path in paths]
    names = _short_names(runs)
    shown = [
        RunSummary(name, r.summary, r.config["limit"], metric_mark(r.config))
        for name, r in zip(names, runs, strict=True)
    ]
    found = tables(shown)
    for name, table in found.items():
        if name == "tests" and len(found) > 1:
            continue  # the same numbers as in the paper's tables
        if form == "terminal":
            from rich.console import Console

            # A pipe or a log has no width of its own; wrapped intervals are hard to read there.
            width = None if sys.stdout.isatty() else 160
            Console(file=sys.stdout, width=width).print(to_terminal(table))
        else:
            sys.stdout.write(_WRITERS[form](table) + "\n")


def _short_names(runs: Sequence[Run]) -> list[str]:
    """Names runs by model, and by sampler and run folder where that is not enough."""
    choices = [run.config["command"]["choices"] for run in runs]
    ways = (
        [of["model"] for of in choices],
        [f"{of['model']} {of['sampler']}" for of in choices],
        [f"{of['model']} {run.path.name}" for of, run in zip(choices, runs, strict=True)],
    )
    return next(
        (names for names in ways if len(set(names)) == len(names)), [str(r.path) for r in runs]
    )
