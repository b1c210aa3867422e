"""How much a run got of what it asked: samples by status, frames by clip, and both in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from statistics import median
from typing import Any

from vbench.records import Prediction, Status

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


def frames(clips: Iterable[Prediction], order: str) -> dict[str, float]:
    """Counts how many frames clips were shown with, and how many the sampler was asked for.

    A frame that was repeated to fill up a short clip counts once.

    Args:
        clips: A stored row per clip that was shown.
        order: `sampler.order`: `single` asks for one frame, `repeat_one` repeats one on purpose.

    Returns:
        `clips`, how many of them are `short` (have fewer frames than wanted), the fewest and most
        `wanted_min`, `wanted_max`, and of what was delivered `delivered_min`, `delivered_median`;
        `short_min`, `short_max` of short clips only, if there are any. Empty without clips.
    """
    counts = [_frames(clip, order) for clip in clips]
    if not counts:
        return {}
    delivered, wanted = zip(*counts, strict=True)
    short = [given for given, asked in counts if given < asked]
    return {
        "clips": len(counts),
        "short": len(short),
        "wanted_min": min(wanted),
        "wanted_max": max(wanted),
        "delivered_min": min(delivered),
        "delivered_median": median(delivered),
        **({"short_min": min(short), "short_max": max(short)} if short else {}),
    }


def _frames(clip: Prediction, order: str) -> tuple[int, int]:
    shown = clip.frame_indices
    given = len(shown) if order == "repeat_one" else len(set(shown))
    return given, 1 if order == "single" else clip.frames_wanted


def short(coverage: Coverage) -> str:
    """Says how many clips have fewer frames than were asked for; empty if none has.

    Args:
        coverage: Of a run; those of earlier versions do not know.

    >>> lengths = {"wanted_min": 400, "wanted_max": 400, "short_min": 120, "short_max": 380}
    >>> short({"frames": {"clips": 20, "short": 7, **lengths}})
    '7 of 20 clips have fewer frames than the 400 asked for: 120 to 380'
    """
    own = coverage.get("frames", {})
    if not own.get("short"):
        return ""
    low, high = own["short_min"], own["short_max"]
    asked = f"the {own['wanted_max']} " if own["wanted_min"] == own["wanted_max"] else ""
    have = f"{own['short']} of {own['clips']} clips {'has' if own['short'] == 1 else 'have'}"
    span = f"{low}" if low == high else f"{low} to {high}"
    return f"{have} fewer frames than {asked}asked for: {span}"


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
