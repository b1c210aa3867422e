"""The story of `vbench report RUN…`: runs or a sweep as one page to look at."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from vbench.errors import RunError
from vbench.frames.source import open_source
from vbench.loop.filming import Shot, film, unfilmed
from vbench.records import Clip
from vbench.results.contest import Rows
from vbench.results.folders import existing, runs_under
from vbench.results.graded import graded_rows
from vbench.results.jobs import read_jobs
from vbench.results.progress import progress
from vbench.results.report.browser import Details, blocks
from vbench.results.report.page import page_file, write_page
from vbench.results.report.prompts import Prompts
from vbench.results.report.runs import SideBySide, read_runs, side_by_side
from vbench.results.report.sections import (
    Shown,
    commands,
    environments,
    estimates,
    failures,
    margin_plots,
    notes,
    overview,
    plots,
    settings,
)
from vbench.results.report.strips import Strips
from vbench.results.sweeps import finished, missing

MOST_SAMPLES = 20_000
"""In the browser of a page, unless more are asked for."""


def report_runs(
    paths: Sequence[str],
    out: str | None = None,
    most: int = MOST_SAMPLES,
    strips: bool = True,
) -> Path:
    """Writes the report of finished runs.

    Args:
        paths: Run folders, or folders that hold some: a sweep.
        out: The page's folder, or the .html file itself; None: the folder that holds all the runs.
        most: Samples in the browser; numbers and plots are of all.
        strips: Whether to make the pictures of frames that the runs have not left.

    Returns:
        The page.

    Raises:
        RunError: There is no finished run, or one is damaged.
    """
    asked = [existing(path) for path in paths]
    folders = list(dict.fromkeys(run for folder in asked for run in finished(folder)))
    left = [words for folder in asked for words in missing(folder)]
    if not folders:
        raise RunError(
            "there is no finished run to report",
            where=", ".join(map(str, asked)),
            why="; ".join(_how_far(asked))[:400],
            mend="`vbench status` says how far runs are and how to go on",
        )
    runs = read_runs(folders)
    page = page_file(out, _common(asked))
    shown = side_by_side(runs, most)
    remarks = _film_runs(runs, shown) if strips else _unfilmed(runs, shown, asked)
    remarks += [f"not finished, and left out: {words}" for words in left]
    remarks += _remarks(shown)
    found = Strips(page.parent)
    prompts = [Prompts(run.run.path) for run in runs]
    places = [run.run.path / "frames" for run in runs]
    details = Details(found, places, lambda k, row: prompts[k].of(row))
    named = [(run.name, run.probable) for run in runs]
    told = blocks(shown.rows, shown.answers, named, details)
    rows, reason = graded_rows([run.run for run in runs])
    remarks += [f"runs are not compared: {reason}"] if reason else []
    write_page(page, _about(runs, rows, remarks), told)
    return page


def _how_far(asked: Sequence[Path]) -> list[str]:
    """Returns how far the runs are of which none is finished, and how many are to come."""
    told = []
    for folder in asked:
        for run in runs_under(folder):
            now = progress(run)
            place = "" if run == folder else f"{run}: "
            told.append(f"{place}{now.state}, {now.done} of {now.total or '?'} answers")
        if jobs := read_jobs(folder):
            told.append(f"the sweep has {len(jobs)} jobs")
        elif not runs_under(folder):
            told.append(f"{folder} holds no run")
    return told


def _common(folders: Sequence[Path]) -> Path:
    """Returns the folder that holds all of these, or the one there is."""
    if len(folders) == 1:
        return folders[0]
    return Path(os.path.commonpath([folder.absolute() for folder in folders]))


def _film_runs(runs: Sequence[Shown], shown: SideBySide) -> list[str]:
    """Makes the strips that are not there; returns what is to be said of those that failed."""
    return unfilmed(film(_without_strips(runs, shown), open_source).values())


def _unfilmed(runs: Sequence[Shown], shown: SideBySide, asked: Sequence[Path]) -> list[str]:
    """Returns how to make the strips that are not there."""
    count = len(_without_strips(runs, shown))
    command = f"vbench report {' '.join(map(str, asked))}"
    return [f"{count} clips have no picture; `{command}` makes them"] if count else []


def _without_strips(runs: Sequence[Shown], shown: SideBySide) -> list[Shot]:
    """Returns what is to be filmed: the clips that models saw and no logger left a strip of."""
    shots: list[Shot] = []
    for run, answers, contents_then in zip(runs, shown.answers, shown.contents, strict=True):
        for record in (answer for answer in answers if answer is not None):
            seen = zip(
                record["clip_keys"], record["clip_paths"], record["frame_indices"], strict=True
            )
            for key, path, frames in seen:
                strip = run.run.path / "frames" / f"{key}.jpg"
                if key and frames:
                    content = contents_then.get(path, "")
                    shots.append(Shot(strip, Clip("", path), tuple(frames), content))
    return [shot for shot in dict.fromkeys(shots) if not shot.strip.is_file()]


def _remarks(shown: SideBySide) -> list[str]:
    told = []
    if shown.apart:
        told.append(f"{shown.apart} samples are not in all runs, or not the same in all")
    if len(shown.rows) < shown.count:
        told.append(
            f"the browser holds {len(shown.rows)} of {shown.count} samples, evenly "
            "chosen (--samples); numbers and plots are of all"
        )
    return told


def _about(runs: Sequence[Shown], rows: Sequence[Rows], remarks: Sequence[str]) -> dict[str, Any]:
    datasets = dict.fromkeys(str(run.run.config["command"]["choices"]["dataset"]) for run in runs)
    several = f"{len(runs)} runs" if len(runs) > 1 else runs[0].name
    return {
        "title": ", ".join(datasets),
        "subtitle": several,
        "runs": [run.name for run in runs],
        "remarks": [*notes(runs), *remarks],
        "estimates": estimates(runs),
        "overview": overview(runs, rows) if len(runs) > 1 else None,
        "plots": plots(runs, rows),
        "margins": margin_plots(runs),
        "failures": failures(runs),
        "settings": settings(runs),
        "environments": environments(runs),
        "commands": commands(runs),
        "contents": None,
    }
