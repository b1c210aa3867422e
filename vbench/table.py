"""The story of `vbench table`: finished runs in, tables out, ours or a paper's with ours in it."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from vbench.metrics.outcomes import Row
from vbench.results.census import census
from vbench.results.drawing import Drawing, save_drawing
from vbench.results.graded import graded_rows
from vbench.results.layouts import RunSummary, tables
from vbench.results.naming import run_names
from vbench.results.reproduction import LAYOUTS, reproduction
from vbench.results.rivals import Rival
from vbench.results.run import Run, load_run, metric_mark
from vbench.results.sweeps import runs_of, write_figures
from vbench.results.tables import Table, to_csv, to_html, to_latex, to_markdown, to_terminal
from vbench.results.text import visible
from vbench.results.videobench.catalogue import drawing, read_models
from vbench.results.videobench.ours import Ours

_WRITERS = {"markdown": to_markdown, "latex": to_latex, "csv": to_csv, "html": to_html}


def print_tables(
    paths: Sequence[str],
    form: str = "terminal",
    paper: str | None = None,
    out: str | None = None,
    models: str | None = None,
    figures: str | None = None,
) -> None:
    """Prints every table that the runs can fill, or one paper's with ours beside it.

    Args:
        paths: Run folders, or folders that hold some: a sweep. Runs in those that are not finished
            are named on stderr.
        form: `terminal`, `markdown`, `latex`, `csv` or `html`.
        paper: `velociti/table3`: its printed values, with the runs'. None: our own tables.
        out: A folder that gets each table, and a figure's pictures, as files; None: none.
        models: What is known of models, in the columns of Video-Bench's Table 1.
        figures: A folder that gets pictures of accuracy along what the runs vary: number of frames,
            sampler, order of frames; None: none.

    Raises:
        RunError: A folder is no finished run, or `out` cannot be written.
        DataError: The file of models cannot be read.
    """
    runs = [load_run(path) for path in runs_of(paths)]
    names = run_names(runs)
    compared = paper is None or paper in LAYOUTS or figures is not None
    graded = _graded(runs) if compared else [{} for _ in runs]
    shown = [
        RunSummary(name, r.summary, r.config["limit"], metric_mark(r.config), rows)
        for name, r, rows in zip(names, runs, graded, strict=True)
    ]
    for name, drawn in _drawings(paper, runs, shown, models).items():
        print_table(drawn.table, form)
        if out is not None:
            _tell(save_drawing(drawn, Path(out), name))
    if figures is not None:
        _tell(write_figures(runs, graded, Path(figures)))


def _tell(files: Sequence[Path]) -> None:
    for file in files:
        sys.stderr.write(f"vbench: {file}\n")


def _graded(runs: Sequence[Run]) -> list[Mapping[str, Row]]:
    """Returns the graded rows of several runs, by which a table finds what is to be in bold."""
    if len(runs) < 2:
        return [{} for _ in runs]
    rows, reason = graded_rows(runs)
    if reason:
        sys.stderr.write(f"vbench: nothing is in bold: {visible(reason)}\n")
    return rows


def _drawings(
    paper: str | None, runs: Sequence[Run], shown: Sequence[RunSummary], models: str | None
) -> dict[str, Drawing]:
    """Returns what is to be printed, by file name."""
    if paper is not None:
        family, _, name = paper.partition("/")
        file = paper.replace("/", "_")
        if family == "videobench":
            ours = [Ours(run, of) for run, of in zip(runs, shown, strict=True)]
            return {file: drawing(name, ours, read_models(models))}
        if paper in LAYOUTS:
            rivals = [Rival(run, of) for run, of in zip(runs, shown, strict=True)]
            return {file: Drawing(reproduction(paper, rivals))}
        return {file: Drawing(census(runs))}
    found = tables(shown)
    if len(found) > 1:
        del found["tests"]  # the same numbers as in the paper's tables
    return {name: Drawing(table) for name, table in found.items()}


def print_table(table: Table, form: str) -> None:
    """Prints one table.

    Args:
        table: The table.
        form: `terminal`, `markdown`, `latex`, `csv` or `html`.
    """
    if form == "terminal":
        from rich.console import Console

        # A pipe or a log has no width of its own; wrapped intervals are hard to read there.
        width = None if sys.stdout.isatty() else 160
        Console(file=sys.stdout, width=width).print(to_terminal(table))
    else:
        sys.stdout.write(_WRITERS[form](table) + "\n")
