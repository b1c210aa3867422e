"""From credits to estimates: value, interval, and everything that qualifies it.

The formulas and why they were chosen are in docs/statistics.md. In short: samples of one source
are not independent, so the standard error sums residuals by source (Miller, arXiv 2411.00640,
Eq. 4); the interval is built on the log-odds scale, because a symmetric one is far too short near
0 and 1; where the standard error is zero the interval is exact, with n = sources.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy import special

from vbench.errors import DataError
from vbench.metrics.outcomes import Floats, Outcomes, Row, failure, mean
from vbench.records import Clip, Prediction, Score
from vbench.results.coverage import statuses

LEVEL = 0.95
"""Confidence level of every interval."""

ZERO = 1e-9
"""A standard error below this is rounding noise around an exact zero."""


@dataclass(frozen=True)
class Estimate:
    """One number of a summary with what it takes to judge it. Fractions are 0 to 1."""

    value: float
    """Mean credit under the metric's tie rule."""
    ci_low: float
    ci_high: float
    """Ends of the 95 % interval."""
    stderr: float | None
    """Clustered by source; None with a single source, which says nothing about other sources."""
    n: int
    """Samples graded."""
    clusters: int
    """Distinct sources among them."""
    ties: int
    """Samples whose deciding comparison is tied."""
    value_half_ties: float
    """Mean credit if tied scores were ordered at random."""
    truncated: int
    """Samples with a text longer than the model reads, or a reply that was cut off."""
    chance: float
    """Mean credit of random scores."""

    def to_dict(self) -> dict[str, Any]:
        """Returns the fields as JSON takes them."""
        return asdict(self)


def estimate(row: Row) -> Estimate:
    """Estimates a row: the mean credit of its samples, or the weighted mean of its parts.

    Args:
        row: One test, or a mean of tests that share sources.

    Raises:
        DataError: A part has no graded sample.

    >>> from vbench.metrics.outcomes import Outcomes
    >>> credit, source = np.array([1.0, 1.0, 0.0, 1.0]), np.array(["a", "a", "b", "c"])
    >>> found = estimate(Outcomes("chrono", credit, credit, source, credit > 2, 0.5))
    >>> found.value, round(found.stderr, 4), found.clusters
    (0.75, 0.2864, 3)
    """
    parts = row.parts
    if not all(len(part.credit) for part in parts):
        raise DataError("nothing to estimate", where=row.name, why="no sample has a credit")
    value = weighted_mean(row)
    found = sources(row)
    low, high = _interval(value, found)
    return Estimate(
        value=value,
        ci_low=low,
        ci_high=high,
        stderr=found.stderr,
        n=sum(len(part.credit) for part in parts),
        clusters=len(found.share),
        ties=sum(int(part.tied.sum()) for part in parts),
        value_half_ties=_mean(row, [part.half_credit for part in parts]),
        truncated=sum(int(part.truncated.sum()) for part in parts),
        chance=_weighted(row, [part.chance for part in parts]),
    )


def weighted_mean(row: Row) -> float:
    """Returns the value of a row: the weighted mean of its parts' means under its tie rule."""
    return _mean(row, [part.graded for part in row.parts])


def _mean(row: Row, parts: Sequence[Floats]) -> float:
    return _weighted(row, [mean(credit) for credit in parts])


def _weighted(row: Row, values: Sequence[float]) -> float:
    """Returns the weighted mean; parts that weigh alike take no detour over their weights."""
    array = np.array(values)
    if len(set(row.weights)) == 1:
        return mean(array)
    return math.fsum(weight * value for weight, value in zip(row.weights, values, strict=True))


@dataclass(frozen=True, eq=False)
class Sources:
    """What each source adds to an estimate. All arrays are (clusters,), in order of their names."""

    share: Floats
    """Of the weight of all samples; they add up to 1."""
    earned: Floats
    """Of the value; they add up to it."""
    residual: Floats
    """What it earned beyond what its samples earn on average; they add up to 0."""

    @property
    def stderr(self) -> float | None:
        """Standard error, clustered; None with a single source."""
        return clustered_stderr(self.residual)

    @property
    def freedom(self) -> float:
        """Degrees of freedom of the standard error.

        Sources of unequal weight tell less than their number; with equal ones it is clusters - 1.
        """
        return max(1.0, 1 / float(self.share @ self.share) - 1)


def sources(row: Row) -> Sources:
    """Adds up the credits of a row by source.

    The estimate is linear in the credits: a sample of part t weighs w_t / n_t. A source that feeds
    several parts gets one sum over all of them.
    """
    parts = row.parts
    weight = np.concatenate(
        [
            np.full(len(part.credit), of_part / len(part.credit))
            for part, of_part in zip(parts, row.weights, strict=True)
        ]
    )
    credit = np.concatenate([part.graded for part in parts])
    residual = np.concatenate([part.graded - mean(part.graded) for part in parts])
    names = np.concatenate([part.clusters for part in parts])
    distinct, index = np.unique(names, return_inverse=True)

    def summed(values: Floats) -> Floats:
        return np.bincount(index, weights=values, minlength=len(distinct)).astype(np.float64)

    return Sources(summed(weight), summed(weight * credit), summed(weight * residual))


def clustered_stderr(residual: Floats) -> float | None:
    """Returns the root of C / (C - 1) times the squared residuals of C sources; None for one.

    Args:
        residual: (clusters,) as in `Sources`, or the difference of two runs' residuals.
    """
    clusters = len(residual)
    if clusters < 2:
        return None
    return math.sqrt(clusters / (clusters - 1) * float(residual @ residual))


def _interval(value: float, found: Sources) -> tuple[float, float]:
    clusters, stderr = len(found.share), found.stderr
    if stderr is None or stderr < ZERO:
        return exact_interval(value * clusters, clusters)
    reach = special.stdtrit(found.freedom, (1 + LEVEL) / 2) * stderr / (value * (1 - value))
    odds = special.logit(value)
    return float(special.expit(odds - reach)), float(special.expit(odds + reach))


def exact_interval(successes: float, trials: int) -> tuple[float, float]:
    """Returns the Clopper-Pearson interval; successes need not be whole.

    >>> [round(end, 4) for end in exact_interval(20, 20)]
    [0.8316, 1.0]
    """
    tail, failures = (1 - LEVEL) / 2, trials - successes
    low = special.betaincinv(successes, failures + 1, tail) if successes > 0 else 0.0
    high = special.betaincinv(successes + 1, failures, 1 - tail) if failures > 0 else 1.0
    return float(low), float(high)


def summary(
    rows: Sequence[Row],
    scores: Sequence[Score],
    failures: Iterable[Prediction] = (),
    frames: Mapping[str, float] | None = None,
) -> dict[str, Any]:
    """Returns what summary.json holds.

    Args:
        rows: What the metric made of the scores. A row without a graded sample gets no estimate.
        scores: All samples of the run.
        failures: The stored rows that are not ok, which know the very file that failed. A failed
            sample that none of them explains is listed with its own clips.
        frames: How many clips were shown with; see `coverage.frames`.

    Returns:
        `tests`: an estimate per row. `coverage`: `n` samples, `answered`, `statuses` (samples by
        status), `failed` (distinct video_id, path, status, reason: one may cost many samples),
        `incomplete`: per row with unanswered samples its `n`, `answered`, and the value `if_wrong`,
        `if_right`: if all of the rest were; and `frames`, if any were shown. `observed`, where the
        scorer noticed anything: per test and name its `value`, `ci_low`, `ci_high` and `n`.
    """
    failed = [(f.video_id, f.path, f.status, f.reason) for f in failures]
    explained = {found[2:] for found in failed}
    reasons = [failure(score) for score in scores]
    for score, why in zip(scores, reasons, strict=True):
        if why is not None and why not in explained:
            failed += [(clip.video_id, clip.path, *why) for clip in _suspects(score)]
    names = ("video_id", "path", "status", "reason")
    seen = _observed(scores)
    return {
        "tests": {
            row.name: estimate(row).to_dict()
            for row in rows
            if all(len(part.credit) for part in row.parts)
        },
        "coverage": {
            "n": len(scores),
            "answered": reasons.count(None),
            "statuses": statuses("ok" if why is None else why[0] for why in reasons),
            "failed": [dict(zip(names, row, strict=True)) for row in dict.fromkeys(failed)],
            "incomplete": {
                row.name: _bounds(row) for row in rows if any(p.unanswered for p in row.parts)
            },
            **({"frames": dict(frames)} if frames else {}),
        },
        **({"observed": seen} if seen else {}),
    }


def _observed(scores: Sequence[Score]) -> dict[str, dict[str, dict[str, Any]]]:
    """Averages what the scorer observed, all of it shares from 0 to 1, as credits are averaged."""
    found: dict[tuple[str, str], list[tuple[float, str]]] = {}
    for score in scores:
        for name, value in score.observed.items():
            own = found.setdefault((score.sample.test, name), [])
            own.append((value, score.sample.cluster))
    kept = ("value", "ci_low", "ci_high", "n")
    tests: dict[str, dict[str, dict[str, Any]]] = {}
    for (test, name), pairs in found.items():
        shares = np.array([value for value, _ in pairs], dtype=np.float64)
        clusters = np.array([cluster for _, cluster in pairs], dtype=np.str_)
        none = np.zeros(len(pairs), dtype=np.bool_)
        whole = estimate(Outcomes(name, shares, shares, clusters, none, chance=math.nan)).to_dict()
        tests.setdefault(test, {})[name] = {key: whole[key] for key in kept}
    return tests


def _suspects(score: Score) -> list[Clip]:
    """Returns the clips whose scores are NaN, or all clips where there are no scores."""
    clips, width = score.sample.clips, len(score.sample.texts)
    if not score.values:
        return list(clips)
    rows = [score.values[i * width : (i + 1) * width] for i in range(len(clips))]
    return [clip for clip, row in zip(clips, rows, strict=True) if any(map(math.isnan, row))]


def _bounds(row: Row) -> dict[str, Any]:
    asked = [len(part.credit) + (0 if part.counts_all else part.unanswered) for part in row.parts]
    earned = [float(part.graded.sum()) for part in row.parts]
    missing = [part.unanswered for part in row.parts]
    return {
        "n": sum(asked),
        "answered": sum(asked) - sum(missing),
        "if_wrong": _weighted(row, list(np.divide(earned, asked))),
        "if_right": _weighted(row, list(np.divide(np.add(earned, missing), asked))),
    }
