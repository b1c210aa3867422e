"""What a dataset gives away without its videos: the accuracy of shortcuts, beside chance.

The same audit for captions (VELOCITI) and options (Video-Bench). No file is opened.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from vbench.diagnosis.chance import above_chance
from vbench.diagnosis.findings import Finding
from vbench.diagnosis.ngrams import cross_validated
from vbench.diagnosis.repeats import Repeats, repeats
from vbench.diagnosis.shortcuts import Rule, Values, rules
from vbench.metrics.choice import grade_choice
from vbench.metrics.outcomes import collect
from vbench.records import Sample, Score
from vbench.results.paired import holm
from vbench.results.statistics import Estimate, estimate

LEVEL = 0.05
"""Below it, a p-value adjusted for all lines of an audit tells a shortcut."""

_KINDS = ("v2t", "mcq", "yes_no")
"""One clip, several texts: what words alone may decide."""

_LETTER, _MAJORITY = "letter ", "majority letter"


@dataclass(frozen=True)
class Line:
    """One shortcut on one test."""

    test: str
    shortcut: str
    estimate: Estimate
    """Ties count as if ordered at random."""
    decided: int
    """Samples in which the shortcut has one favourite."""
    p: float
    """One-sided: the accuracy is above chance."""
    p_holm: float = 1.0
    """Adjusted for all lines of the audit."""

    @property
    def found(self) -> bool:
        """Whether the shortcut works."""
        return self.p_holm < LEVEL


@dataclass(frozen=True)
class Audit:
    """What was found."""

    lines: Sequence[Line]
    repeats: Mapping[str, Repeats]
    """By test."""
    left_out: Mapping[str, str]
    """Tests that words cannot decide, and why."""


def audit(samples: Sequence[Sample], models: Mapping[str, Rule] | None = None) -> Audit:
    """Tries every shortcut on every test.

    Args:
        samples: All samples of a dataset.
        models: Further rules by name: models that read the texts only.
    """
    tests: dict[str, list[Sample]] = {}
    for sample in samples:
        tests.setdefault(sample.test, []).append(sample)
    lines: list[Line] = []
    left_out: dict[str, str] = {}
    for test, own in tests.items():
        readable = [sample for sample in own if _is_choice(sample)]
        usable = [sample for sample in readable if _has_target(sample)]
        if usable:
            lines += _lines(test, usable, models or {})
        else:
            left_out[test] = (
                "no right answers are known" if readable else "its texts do not compete"
            )
    adjusted = holm([line.p for line in lines])
    return Audit(
        [replace(line, p_holm=p) for line, p in zip(lines, adjusted, strict=True)],
        repeats(samples),
        left_out,
    )


def audit_findings(found: Audit) -> Iterator[Finding]:
    """Yields the shortcuts that work, and the contradictions."""
    for line in found.lines:
        if line.found:
            own = line.estimate
            what = (
                f"'{line.shortcut}' is right in {100 * own.value:.1f} % "
                f"[{100 * own.ci_low:.1f}, {100 * own.ci_high:.1f}], "
                f"chance {100 * own.chance:.1f} %"
            )
            mend = "balance it in the data, or report it beside the models"
            yield Finding("shortcut", line.test, what, mend, own.n)
    for test, asked in found.repeats.items():
        if asked.contradictory:
            first = ", ".join(asked.examples[0])
            what = (
                f"{asked.contradictory} of {asked.groups} repeated questions contradict "
                f"themselves: a text is right in one sample and wrong in another, such as {first}"
            )
            yield Finding("contradictory_group", test, what, "remove the wrong ones")


def _lines(test: str, samples: Sequence[Sample], models: Mapping[str, Rule]) -> Iterator[Line]:
    letters = []
    for shortcut, rule in {**rules(samples), **models}.items():
        line = _line(test, shortcut, samples, rule(samples))
        if shortcut.startswith(_LETTER):
            letters.append(line)
        yield line
    if letters:
        best = max(letters, key=lambda line: line.estimate.value)
        # It was chosen for its accuracy among so many.
        p = min(1.0, len(letters) * best.p)
        name = f"{_MAJORITY} ({best.shortcut.removeprefix(_LETTER)})"
        yield replace(best, shortcut=name, p=p)
    learned = cross_validated(samples)
    if learned is not None:
        yield _line(test, "n-grams", samples, learned)


def _line(test: str, shortcut: str, samples: Sequence[Sample], values: Sequence[Values]) -> Line:
    scores = [Score(s, "ok", own) for s, own in zip(samples, values, strict=True)]
    outcomes = collect(test, scores, grade_choice, "half")
    chance = grade_choice(scores).chance
    return Line(
        test,
        shortcut,
        estimate(outcomes),
        decided=sum(own.count(max(own)) == 1 for own in values),
        p=above_chance(outcomes.graded, chance, outcomes.clusters),
    )


def _is_choice(sample: Sample) -> bool:
    return sample.kind in _KINDS and len(sample.clips) == 1 and bool(sample.texts)


def _has_target(sample: Sample) -> bool:
    return isinstance(sample.target, int) and 0 <= sample.target < len(sample.texts)
