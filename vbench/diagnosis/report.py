"""What the doctor says: a table and a line per finding for people, JSON for programs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from vbench.diagnosis import audit_report
from vbench.diagnosis.audit import Audit
from vbench.diagnosis.files import Examined
from vbench.diagnosis.findings import KINDS, Finding, counts, ordered
from vbench.results.text import aligned, visible

VERSION = 1
"""Of the JSON; a key that goes or changes its meaning raises it."""


@dataclass(frozen=True)
class Report:
    """What was looked at, and what was found."""

    dataset: str
    model: str | None
    """Whose limit texts were held against, if any."""
    samples: int
    files: Sequence[Examined]
    findings: Sequence[Finding]
    audit: Audit | None = None
    """What the texts give away, where that was asked; then no file was looked at."""

    @property
    def problems(self) -> int:
        """Findings that are more than a note."""
        return sum(finding.severity != "note" for finding in self.findings)

    @property
    def exit_code(self) -> int:
        """0: nothing is wrong; 3: something is."""
        return 3 if self.problems else 0


def to_json(report: Report) -> str:
    """Returns one JSON object, strict: no NaN, only ASCII."""
    values = {
        "version": VERSION,
        "dataset": report.dataset,
        "model": report.model,
        "samples": report.samples,
        "problems": report.problems,
        "counts": counts(report.findings),
        "findings": [
            {"severity": finding.severity, **asdict(finding)}
            for finding in ordered(report.findings)
        ],
        "files": [_file(file) for file in report.files],
    }
    if report.audit is not None:
        values["audit"] = audit_report.to_values(report.audit)
    return json.dumps(values, indent=2, allow_nan=False)


def _file(file: Examined) -> dict[str, object]:
    facts = file.facts
    return {
        "path": facts.path,
        "bytes": facts.size,
        "content": file.content or None,
        "container": facts.container or None,
        "codec": facts.codec or None,
        "frames": facts.frames,
        "duration_s": facts.duration_s,
        "fps": facts.fps,
        "width": facts.width,
        "height": facts.height,
        "variable_rate": facts.variable_rate,
    }


def headline(report: Report) -> str:
    """Returns one line on what was looked at.

    >>> headline(Report("velociti/toy", None, 3, [], []))
    'velociti/toy: 3 samples, 0 files, 0.0 MB, 0:00 of video'
    """
    if report.audit is not None:
        return f"{report.dataset}: {_count(report.samples, 'sample')}, no file was opened"
    size = sum(file.facts.size for file in report.files)
    seconds = int(sum(file.facts.duration_s for file in report.files))
    looked_at = f"{_count(report.samples, 'sample')}, {_count(len(report.files), 'file')}"
    length = f"{seconds // 60}:{seconds % 60:02d} of video"
    return f"{report.dataset}: {looked_at}, {size / 1e6:.1f} MB, {length}"


def tally(report: Report) -> list[str]:
    """Returns the findings counted by kind, a line each."""
    found = counts(ordered(report.findings)).items()
    return aligned([[count, KINDS[kind][0], kind, KINDS[kind][1]] for kind, count in found])


def audit_lines(report: Report) -> list[str]:
    """Returns the table of shortcuts, if there was an audit."""
    return [] if report.audit is None else audit_report.to_lines(report.audit)


def line(finding: Finding) -> str:
    """Returns a finding on one line, free of characters that could steer a terminal.

    >>> line(Finding("missing", "a.mp4", "no such video file", "fetch it", 12))
    'error    missing             a.mp4: no such video file [12 samples]; fetch it'
    """
    touched = f" [{finding.samples} samples]" if finding.samples > 1 else ""
    mend = f"; {finding.mend}" if finding.mend else ""
    text = visible(f"{finding.where}: {finding.what}{touched}{mend}")
    return f"{finding.severity:8} {finding.kind:19} {text}"


def conclusion(report: Report) -> str:
    """Returns the last line."""
    notes = len(report.findings) - report.problems
    said = _count(report.problems, "problem") if report.problems else "no problems"
    return f"{said}, {_count(notes, 'note')}" if notes else said


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' * (number != 1)}"
