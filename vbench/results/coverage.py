"""How much a run got of what it asked: samples by status, in words below its numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from vbench.records import Status

Coverage = Mapping[str, Any]
"""The `coverage` of summary.json; see `statistics.summary`."""


def statuses(found: Iterable[Status]) -> dict[str, int]:
    """Counts samples by status, the most frequent first.

    Args:
        found: What became of each sample.

    >>> statuses(["ok", "unparsed", "decode_error", "unparsed"])
    {'unparsed': 2, 'decode_error': 1, 'ok': 1}
    """
    counts = Counter(found)
    return {status: counts[status] for status in sorted(counts, key=lambda s: (-counts[s], s))}


def answered(coverage: Coverage) -> str:
    """Says how many samples were answered, and what became of the others.

    Args:
        coverage: Of a run; those of earlier versions do not know the statuses.

    >>> answered({"n": 39, "answered": 1, "statuses": {"unparsed": 36, "oom": 2, "ok": 1}})
    '2 % of 39 samples answered, 38 not: 36 unparsed, 2 oom'
    """
    n, given = coverage["n"], coverage["answered"]
    if not n:
        return "no samples"
    told = f"{share(given, n)} of {n} samples answered"
    counts = coverage.get("statuses", {}).items()
    lost = ", ".join(f"{count} {status}" for status, count in counts if status != "ok")
    return told if given == n else f"{told}, {n - given} not" + (f": {lost}" if lost else "")


def share(part: int, whole: int) -> str:
    """Writes a share in percent, rounded down so that only all is 100 %; a decimal from 99 % on.

    >>> share(1, 39), share(9999, 10000), share(3, 3)
    ('2 %', '99.9 %', '100 %')
    """
    tenths = 1000 * part // whole
    if tenths < 990 or part == whole:
        return f"{tenths // 10} %"
    return f"{tenths / 10:.1f} %"
