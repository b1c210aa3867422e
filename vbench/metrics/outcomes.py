"""What a metric hands on: a credit per sample, and which samples had none."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from vbench.errors import ConfigError, DataError
from vbench.records import Sample, Score, Status

Floats: TypeAlias = NDArray[np.float64]

Tie = Literal["strict", "half"]
"""What a tie is worth. `strict`: a miss, as in VELOCITI's own code (every comparison is `>`).
`half`: the expected outcome if tied scores were ordered at random."""

REGROUPED = "samples of other rows, regrouped"
OTHER_RULE = "other rows by another rule"


@dataclass(frozen=True, eq=False)
class Credit:
    """What samples earn under both tie rules. All arrays are (n,)."""

    strict: Floats
    """0 to 1; a tie is a miss."""
    half: Floats
    """0 to 1; the mean over all orders of tied scores."""
    chance: Floats
    """What random scores without ties would earn on average."""


@dataclass(frozen=True, eq=False)
class Outcomes:
    """One row of a summary before any statistics. All arrays are (n,)."""

    name: str
    """The row: a test, one of IVAT's five scores, or `<column>=<value>`."""
    credit: Floats
    """Under strict ties."""
    half_credit: Floats
    """Under half ties."""
    clusters: NDArray[np.str_]
    """The source of each sample."""
    truncated: NDArray[np.bool_]
    """A text of the sample was longer than the model reads."""
    chance: float
    """The accuracy of random scores; NaN without samples."""
    unanswered: int = 0
    """Samples of this row without a usable answer of the model."""
    counts_all: bool = False
    """Whether these are among the graded, with what such a sample earns; else they have no credit.
    """
    tie: Tie = "strict"
    samples: tuple[Sample, ...] = ()
    """The samples themselves, so that runs can be compared on those they share."""
    beside: str = ""
    """What it shows again that other rows show: `REGROUPED`, `OTHER_RULE`; empty: a result of its
    own. Runs are held against one another in the latter only, unless others are named."""

    @property
    def graded(self) -> Floats:
        """The credits that the tie rule asks for."""
        return self.credit if self.tie == "strict" else self.half_credit

    @property
    def tied(self) -> NDArray[np.bool_]:
        """Whether the deciding comparison is tied, so that ordering the tie decides the credit.

        A comparison that is tied where another is already lost decides nothing and does not count.
        """
        return self.half_credit > self.credit

    @property
    def parts(self) -> tuple[Outcomes, ...]:
        """The row itself: an average of one."""
        return (self,)

    @property
    def weights(self) -> tuple[float, ...]:
        """Of that one part: all."""
        return (1.0,)


@dataclass(frozen=True)
class Mean:
    """A row that is the mean of other rows, each row counting alike unless it is weighted."""

    name: str
    parts: tuple[Outcomes, ...]
    relative: tuple[float, ...] = ()
    """Weight of each part, in any unit; none: all alike."""
    beside: str = ""
    """As of `Outcomes`."""

    @property
    def weights(self) -> tuple[float, ...]:
        """Weight of each part; they add up to 1.

        >>> Mean("final", ()).weights
        ()
        """
        relative = self.relative or (1.0,) * len(self.parts)
        return tuple(weight / math.fsum(relative) for weight in relative)


Row: TypeAlias = Outcomes | Mean


def failure(score: Score) -> tuple[Status, str] | None:
    """Returns why a sample has no credit, as (status, reason), or None if it was answered.

    NaN compares false with everything, so it would pass for a loss here and a win there; it is no
    answer.
    """
    if score.status != "ok":
        return score.status, score.reason
    if any(map(math.isnan, score.values)):
        return "model_error", "the score is not a number (NaN)"
    return None


def has_target(score: Score) -> bool:
    """Returns whether the right answer is known; without it there is nothing to grade."""
    target = score.sample.target
    return score.sample.kind == "match" or not (target is None or isinstance(target, str))


def collect(
    name: str,
    scores: Sequence[Score],
    grade: Callable[[Sequence[Score]], Credit],
    tie: Tie,
    invalid: Literal["excluded", "graded"] = "excluded",
    beside: str = "",
) -> Outcomes:
    """Grades the answered samples of one row and counts the others.

    Args:
        name: The row.
        scores: All its samples. Those without a known target are left out of every count.
        grade: Turns answered samples into credits, in their order; never called with none.
        tie: Which credit the row's value is made of.
        invalid: Whether samples without an answer are left out, or given to `grade` as well.
        beside: What the row shows again; see `Outcomes`.

    Raises:
        ConfigError: A sample asks for a free answer, which has no scores to compare.
        DataError: A sample's matrix is not clips x texts, or its target is none of them.
    """
    for score in scores:
        if score.sample.kind == "open":
            raise ConfigError(
                "free answers have no scores to compare",
                where=f"sample {score.sample.sample_id} of {score.sample.test}",
                mend="leave out kind=open, or grade it with a scorer that reads answers",
            )
    known = [score for score in scores if has_target(score)]
    valid = [score for score in known if failure(score) is None]
    for score in valid:
        _check_shape(score)
    answered = valid if invalid == "excluded" else known
    none = np.empty(0)
    credit = grade(answered) if answered else Credit(none, none, none)
    return Outcomes(
        name=name,
        credit=credit.strict,
        half_credit=credit.half,
        clusters=np.array([score.sample.cluster for score in answered], dtype=np.str_),
        truncated=np.array([score.truncated for score in answered], dtype=np.bool_),
        chance=mean(credit.chance) if answered else math.nan,
        unanswered=len(known) - len(valid),
        counts_all=invalid == "graded",
        tie=tie,
        samples=tuple(score.sample for score in answered),
        beside=beside,
    )


def mean(values: Floats) -> float:
    """Returns the mean; where all values agree it is that value, free of rounding.

    >>> mean(np.full(719, 1 / 6)) == 1 / 6
    True
    """
    agreed = bool((values == values[0]).all())
    return float(values[0] if agreed else values.mean())


def _check_shape(score: Score) -> None:
    sample, size = score.sample, len(score.values)
    where = f"sample {sample.sample_id} of {sample.test}"
    if size != len(sample.clips) * len(sample.texts):
        raise DataError(
            f"{size} scores for {len(sample.clips)} clips x {len(sample.texts)} texts",
            where=where,
            mend="a scorer fills one score per clip and text, row by row",
        )
    if sample.kind != "match" and not 0 <= int(sample.target or 0) < size:
        raise DataError(
            f"the target is number {sample.target} of {size}",
            where=where,
            mend="targets count from 0",
        )
