"""The story of `vbench status`: how far runs and sweeps are, from their folders alone."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from vbench.errors import RunError
from vbench.records import FINAL
from vbench.results.coverage import answered, short
from vbench.results.folders import existing, is_run, runs_under, sweeps_under
from vbench.results.progress import Progress, progress
from vbench.results.resume import SweepCommand, resume_run, sweep_command
from vbench.results.text import age, aligned, visible

SHOWN = 5
"""Failures that a terminal lists per status; JSON has all."""


@dataclass(frozen=True)
class RunStatus:
    """A run folder as it is now."""

    path: Path
    progress: Progress
    tests: Mapping[str, Any]
    """The estimates of a finished run by name."""
    coverage: Mapping[str, Any]
    """How much of a finished run's samples is behind them; see `statistics.summary`."""
    resume: Sequence[str]
    """Commands that would go on with it; none where there is nothing to do."""
    cache: Mapping[str, Any]
    """By kind: how many embeddings were asked of the cache, found, and missed for which reason."""

    @classmethod
    def of(cls, folder: Path) -> RunStatus:
        """Looks at a run folder."""
        now = progress(folder)
        found: Mapping[str, Any] = {}
        if now.state == "done":
            with suppress(OSError, ValueError):
                found = json.loads((folder / "summary.json").read_text("utf-8"))
        cache: Mapping[str, Any] = {}
        with suppress(OSError, ValueError):
            cache = json.loads((folder / "cache.json").read_text("utf-8"))
        tests, coverage = found.get("tests", {}), found.get("coverage", {})
        return cls(folder, now, tests, coverage, resume_run(folder, now), cache)

    def to_dict(self) -> dict[str, Any]:
        """Returns the fields as JSON takes them."""
        failed = [
            {fact: getattr(row, fact) for fact in ("status", "reason", "kind", "video_id", "path")}
            for row in self.progress.failed
        ]
        own = {"run": str(self.path), "tests": self.tests, "resume": self.resume}
        own |= {"coverage": self.coverage, "cache": self.cache}
        return own | asdict(self.progress) | {"failed": failed}


def print_status(paths: Sequence[str], as_json: bool = False, explain_cache: bool = False) -> None:
    """Prints how far runs are: one in full, several as a table.

    Args:
        paths: Run folders, or folders that hold some: a sweep, `outputs/runs`, `outputs`.
        as_json: Strict JSON instead of text.
        explain_cache: Tell, too, what each run found in the cache, and why it missed the rest.

    Raises:
        RunError: A path holds no run.
    """
    folders = [existing(path) for path in paths]
    runs = [RunStatus.of(run) for folder in folders for run in runs_under(folder)]
    noted = [sweep_command(sweep) for folder in folders for sweep in sweeps_under(folder)]
    sweeps = [sweep for sweep in noted if sweep is not None]
    if not runs and not sweeps:
        raise RunError(
            "there is no run yet",
            where=", ".join(map(str, folders)),
            mend="name a folder that `vbench evaluate` or a sweep wrote",
        )
    if as_json:
        found = {"runs": [r.to_dict() for r in runs], "sweeps": [asdict(s) for s in sweeps]}
        sys.stdout.write(json.dumps(found, indent=2, allow_nan=False) + "\n")
    else:
        alone = len(runs) == 1 and is_run(folders[0])
        text = run_lines(runs[0]) if alone else [*table_lines(runs), *sweep_lines(runs, sweeps)]
        if explain_cache:
            text += [line for run in runs for line in cache_lines(run)]
        sys.stdout.write("\n".join(text) + "\n")


def run_lines(run: RunStatus) -> list[str]:
    """Returns one run's status as text.

    Args:
        run: The run.
    """
    now = run.progress
    lines = [
        visible(run.path),
        *aligned(
            [
                ("state", _state(now)),
                ("answers", f"{_done(now)}, last written {age(now.age_s)} ago"),
                *_coverage(run.coverage),
                *(("unreadable", file) for file in now.unreadable),
                *_failures(now),
            ]
        ),
    ]
    if len(now.shares) > 1:
        facts = [(share.shard, share.state, share.reason) for share in now.shares]
        lines += ["shards", *aligned(facts)]
    if now.writers:
        head = ("shard", "rank", "files", "rows", "last")
        rows = [(w.shard, w.rank, w.files, w.rows, f"{age(w.age_s)} ago") for w in now.writers]
        lines += ["predictions", *aligned([head, *rows], right=True)]
    if run.tests:
        lines += ["accuracy in %", *aligned([(k, _estimate(t)) for k, t in run.tests.items()])]
    if run.resume:
        lines += ["to go on", *(f"  {visible(command)}" for command in run.resume)]
    return lines


def _coverage(found: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    if found:
        yield "samples", answered(found)
    if line := short(found):
        yield "frames", line


def cache_lines(run: RunStatus) -> list[str]:
    """Returns what a run found in the cache when it was last started, and why it missed the rest.

    Args:
        run: The run.
    """
    lines = ["", visible(f"{run.path}: asked of the cache")]
    for kind, account in run.cache.items():
        lines.append(f"  {kind}: {account['found']} of {account['asked']} found")
        lines += [visible(f"    {n} missed: {why}") for why, n in account["missed"].items()]
    return lines if run.cache else [*lines, "  nothing"]


def _failures(now: Progress) -> Iterator[tuple[str, str]]:
    counts = Counter(row.status for row in now.failed)
    for status, count in counts.most_common():
        yield status, str(count)
        told = [f"{r.path or r.kind}: {r.reason}" for r in now.failed if r.status == status]
        distinct = list(dict.fromkeys(told))
        yield from (("", line) for line in distinct[:SHOWN])
        if len(distinct) > SHOWN:
            yield "", f"… and {len(distinct) - SHOWN} more: --json lists them"


def table_lines(runs: Sequence[RunStatus]) -> list[str]:
    """Returns many runs as a table, with the headline numbers of those that are finished.

    Args:
        runs: The runs.
    """
    names = headline(runs)
    head = ("run", "state", "answers", "failed", "last", *names)
    rows = [
        (
            run.path,
            run.progress.state,
            _done(run.progress),
            len(run.progress.failed) or "-",
            f"{age(run.progress.age_s)} ago",
            *(_estimate(run.tests[n]) if n in run.tests else "-" for n in names),
        )
        for run in runs
    ]
    return aligned([head, *rows], indent=0)


def headline(runs: Sequence[RunStatus]) -> list[str]:
    """Returns the names of the numbers to show: the average if there is one, else the first three.

    Args:
        runs: The runs.
    """
    names = list(dict.fromkeys(name for run in runs for name in run.tests))
    averages = [name for name in names if name.startswith("average")]
    return averages or names[:3]


def sweep_lines(runs: Sequence[RunStatus], sweeps: Sequence[SweepCommand]) -> list[str]:
    """Returns what is to be done about runs that are not finished, and the sweeps they belong to.

    Args:
        runs: The runs of the table.
        sweeps: The sweeps among the folders asked for.
    """
    lines = []
    for run in runs:
        if run.resume:
            lines += ["", visible(f"{run.path}: {_state(run.progress)}")]
            lines += [f"  {visible(command)}" for command in run.resume]
    for sweep in sweeps:
        begun = len(runs_under(Path(sweep.folder)))
        lines += ["", visible(f"{sweep.folder}: {begun} of {sweep.jobs} jobs have begun")]
        lines += [f"  failed: {visible(words)}" for words in sweep.failed]
        unwritten = begun == sweep.jobs and _unwritten(sweep, runs)
        lines += ["  all are done, but tables, figures and report are not written"] * unwritten
        if begun < sweep.jobs or sweep.failed or unwritten:
            lines.append(f"  {visible(sweep.command)}")
    return lines


def _unwritten(sweep: SweepCommand, runs: Sequence[RunStatus]) -> bool:
    """Says whether a sweep was stopped after its last job; the report is what it writes last."""
    folder = Path(sweep.folder)
    inside = [run.progress.state for run in runs if folder in run.path.parents]
    there = (folder / "report.html").is_file()
    return not there and all(state == "done" for state in inside)


def _state(now: Progress) -> str:
    retried = sum(row.status not in FINAL for row in now.failed)
    if now.state == "done" and retried:
        return f"done, {retried} answers failed and would be tried again"
    return f"{now.state}: {now.reason}" if now.reason else now.state


def _done(now: Progress) -> str:
    if not now.total:
        return f"{now.done} of ?"
    return f"{now.done} of {now.total} ({100 * now.done // now.total} %)"


def _estimate(test: Mapping[str, Any]) -> str:
    value, low, high = (100 * test[name] for name in ("value", "ci_low", "ci_high"))
    return f"{value:.1f} [{low:.1f}, {high:.1f}]"
