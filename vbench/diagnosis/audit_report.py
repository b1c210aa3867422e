"""What an audit says: a table for people, plain values for JSON."""

from __future__ import annotations

from dataclasses import asdict
from itertools import groupby
from typing import Any

from vbench.diagnosis.audit import Audit, Line
from vbench.diagnosis.repeats import totals
from vbench.results.statistics import LEVEL
from vbench.results.text import aligned, visible

_HEAD = ("right %", "95 %", "chance", "decided", "n", "sources", "p", "p Holm")


def to_values(audit: Audit) -> dict[str, Any]:
    """Returns an audit as JSON takes it."""
    return {
        "level": LEVEL,
        "lines": [
            {
                "test": line.test,
                "shortcut": line.shortcut,
                **line.estimate.to_dict(),
                "decided": line.decided,
                "p": line.p,
                "p_holm": line.p_holm,
                "found": line.found,
            }
            for line in audit.lines
        ],
        "repeats": {test: asdict(own) for test, own in audit.repeats.items()},
        "left_out": dict(audit.left_out),
    }


def to_lines(audit: Audit) -> list[str]:
    """Returns an audit as lines of text."""
    said = ["shortcuts: right without any video; ties count as if ordered at random"]
    rows: list[list[object]] = []
    for test, lines in groupby(audit.lines, key=lambda line: line.test):
        rows += [[test, *_HEAD], *map(_cells, lines)]
    said += aligned(rows, right=True)
    found = sum(line.found for line in audit.lines)
    said.append(f"{found} of {len(audit.lines)} are above chance after Holm's correction (*)")
    groups, extra, contradictory = totals(audit.repeats)
    said.append(
        f"repeated questions: {groups}, with {extra} samples more than needed; "
        f"{contradictory} contradict themselves"
    )
    said += [
        visible(f"not decided by words: {test}: {why}") for test, why in audit.left_out.items()
    ]
    return said


def _cells(line: Line) -> list[object]:
    own = line.estimate
    return [
        f"  {line.shortcut}",
        f"{100 * own.value:.1f}",
        f"[{100 * own.ci_low:.1f}, {100 * own.ci_high:.1f}]" if line.decided else "all tie",
        f"{100 * own.chance:.1f}",
        line.decided,
        own.n,
        own.clusters,
        _p(line.p),
        _p(line.p_holm) + ("*" if line.found else " "),
    ]


def _p(value: float) -> str:
    """Writes a p-value with three places.

    >>> _p(0.04123), _p(0.00001), _p(1.0)
    ('0.041', '<.001', '1')
    """
    if value < 0.001:
        return "<.001"
    return "1" if value >= 0.9995 else f"{value:.3f}"
