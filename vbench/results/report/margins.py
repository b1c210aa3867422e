"""Numbers that only a report draws: score margins, and how far a P(yes) can be believed."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from vbench.metrics.outcomes import Outcomes
from vbench.results.statistics import estimate

BINS = 10
"""Of the reliability curve, equally wide from 0 to 1."""


def right_cells(kind: str, target: str | None, clips: int, texts: int) -> list[bool] | None:
    """Returns which cells of a sample's matrix are right, row-major; None where nobody knows.

    Args:
        kind: See `records.Kind`.
        target: As records.parquet holds it.
        clips: Rows.
        texts: Columns.

    >>> right_cells("match", None, 2, 2)
    [True, False, False, True]
    >>> right_cells("t2v", "1", 2, 1)
    [False, True]
    """
    cells = [(clip, text) for clip in range(clips) for text in range(texts)]
    if kind == "match":
        return [clip == text for clip, text in cells]
    if kind == "open" or target is None:
        return None
    return [target == str(clip if kind == "t2v" else text) for clip, text in cells]


def margin(scores: Sequence[float | None], right: Sequence[bool] | None) -> float | None:
    """Returns how far the lowest right cell is above the highest wrong one.

    Above 0 a sample is right under strict comparison, IVAT's by its group score; at 0 it is tied.

    Args:
        scores: A sample's matrix, row-major.
        right: From `right_cells`.

    >>> margin([0.5, 0.25, 0.375], [True, False, False])
    0.125
    """
    known = [score for score in scores if score is not None and math.isfinite(score)]
    if right is None or len(known) != len(right) or all(right) or not any(right):
        return None
    ours = [score for score, own in zip(known, right, strict=True) if own]
    others = [score for score, own in zip(known, right, strict=True) if not own]
    return min(ours) - max(others)


@dataclass(frozen=True)
class Bin:
    """Pairs of a clip and a text to which a model gave about the same P(yes)."""

    said: float
    """Mean P(yes)."""
    true: float
    """Share of them in which the text does describe the clip."""
    ci_low: float
    ci_high: float
    """95 % interval of that share, clustered by source."""
    n: int


@dataclass(frozen=True)
class Reliability:
    """P(yes) against the truth."""

    bins: tuple[Bin, ...]
    error: float
    """Expected calibration error: mean distance of said and true, weighted by n."""
    n: int


GRADED = ("kind", "target", "clip_paths", "texts", "scores")
"""Fields of a record that say which of its scores are right."""


def right_scores(record: Mapping[str, Any]) -> list[bool] | None:
    """Returns which of a record's scores are right (see `right_cells`).

    Args:
        record: A row of records.parquet, with GRADED.
    """
    clips, texts = len(record["clip_paths"]), len(record["texts"])
    return right_cells(record["kind"], record["target"], clips, texts)


def reliability(records: Iterable[Mapping[str, Any]]) -> Reliability | None:
    """Bins P(yes) of all pairs whose truth is known; None if there are none.

    Args:
        records: Rows of a run whose scores are probabilities of a yes, with GRADED and cluster.
    """
    said, true, source = [], [], []
    for record in records:
        right = right_scores(record)
        if right is None or len(record["scores"]) != len(right):
            continue
        for score, own in zip(record["scores"], right, strict=True):
            if score is not None and math.isfinite(score):
                said.append(score)
                true.append(float(own))
                source.append(record["cluster"])
    if not said:
        return None
    p, truth, clusters = np.array(said), np.array(true), np.array(source, dtype=np.str_)
    place = np.clip((p * BINS).astype(int), 0, BINS - 1)
    bins = [_bin(p[place == k], truth[place == k], clusters[place == k]) for k in np.unique(place)]
    error = sum(b.n * abs(b.said - b.true) for b in bins) / len(p)
    return Reliability(tuple(bins), error, len(p))


def _bin(p: np.ndarray, truth: np.ndarray, clusters: np.ndarray) -> Bin:
    none = np.zeros(len(p), dtype=np.bool_)
    found = estimate(Outcomes("bin", truth, truth, clusters, none, chance=math.nan))
    return Bin(float(p.mean()), found.value, found.ci_low, found.ci_high, len(p))
