"""Why two runs give different numbers: what was set, where it ran, and sample by sample."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from vbench.results.environment import read_environment
from vbench.results.folders import run_folder
from vbench.results.rows import read_records
from vbench.results.run import Run, load_run
from vbench.results.samples import read_samples
from vbench.schema import flatten, identity

Name = tuple[str, str]
"""A sample's test and sample_id."""

_TOLD = ("text", "system", "render", "continuations")
"""What a request says to the model."""

KINDS = ("texts", "labels", "frames", "pixels", "status", "answer", "outcome")
"""How a sample that both runs have can differ.

texts: the question, a text, or what the prompt made of it. labels: target, source, kind or groups.
frames: span, indices or times of what the model saw. pixels: the bytes of a file, or the model's
preprocessing. status: one run could not answer. answer: a score, beyond the tolerance. outcome:
right, wrong, tie or unscored.
"""


@dataclass(frozen=True)
class Change:
    """A setting, a fact or a number that is not the same; None where a run has none."""

    name: str
    a: Any
    b: Any


@dataclass(frozen=True)
class SampleChange:
    """A sample of both runs that is not the same."""

    test: str
    sample_id: str
    kinds: tuple[str, ...]
    """Of KINDS, in that order."""
    outcomes: tuple[str, str]
    scores: tuple[list[float | None], list[float | None]]


@dataclass
class TestChanges:
    """One test's samples, counted."""

    both: int = 0
    only_a: int = 0
    only_b: int = 0
    differ: dict[str, int] = field(default_factory=lambda: dict.fromkeys(KINDS, 0))
    """By kind; a sample may differ in several ways."""
    largest_score_difference: float = 0.0
    """Among samples that both runs answered, whatever the tolerance."""


@dataclass(frozen=True)
class Comparison:
    """Everything that differs between two runs."""

    a: str
    b: str
    settings: list[Change]
    """That can change a score."""
    other_settings: list[Change]
    """That cannot, such as batch size."""
    environment: list[Change]
    numbers: list[Change]
    """The summary's values, as fractions."""
    tests: dict[str, TestChanges]
    only_a: list[Name]
    only_b: list[Name]
    samples: list[SampleChange]
    """Those with another outcome first."""

    @property
    def same(self) -> bool:
        """Whether the results are the same, whatever was set and wherever it ran."""
        return not (self.numbers or self.only_a or self.only_b or self.samples)


@dataclass(frozen=True)
class _Side:
    run: Run
    environment: dict[str, Any]
    samples: dict[Name, dict[str, Any]]
    """Rows of samples.parquet and records.parquet in one."""

    @classmethod
    def read(cls, path: str | Path) -> _Side:
        run = load_run(run_folder(path))
        environment = read_environment(run.path)
        with suppress(KeyError, ValueError, TypeError):  # a model may name itself in JSON
            environment["model"] = json.loads(environment["model"])
        asked = {_name(row): row for row in read_samples(run.path).to_pylist()}
        became = read_records(run.path).to_pylist()
        return cls(run, environment, {_name(row): asked[_name(row)] | row for row in became})


def _name(row: Mapping[str, Any]) -> Name:
    return row["test"], row["sample_id"]


def compare(a: str | Path, b: str | Path, tolerance: float = 1e-5) -> Comparison:
    """Compares two finished runs.

    Args:
        a: A run folder.
        b: Another.
        tolerance: Scores no further apart than this are the same.

    Raises:
        RunError: One is no finished run.
    """
    left, right = _Side.read(a), _Side.read(b)
    config_a, config_b = dict(flatten(left.run.config)), dict(flatten(right.run.config))
    settings = list(changes(identity(left.run.config), identity(right.run.config)))
    scoring = identity(left.run.config).keys() | identity(right.run.config).keys()
    own = ("run_dir", "sweep", "fresh", "shard", "shards")
    others = [
        change
        for change in changes(config_a, config_b)
        if not (change.name in (*scoring, *own) or change.name.startswith("command."))
    ]
    pixels = left.environment.get("preprocess") != right.environment.get("preprocess")
    tests, changed = _samples(left.samples, right.samples, tolerance, pixels)
    return Comparison(
        a=str(left.run.path),
        b=str(right.run.path),
        settings=settings,
        other_settings=others,
        environment=list(
            changes(dict(flatten(left.environment)), dict(flatten(right.environment)))
        ),
        numbers=list(changes(_numbers(left.run), _numbers(right.run))),
        tests=tests,
        only_a=[name for name in left.samples if name not in right.samples],
        only_b=[name for name in right.samples if name not in left.samples],
        samples=sorted(changed, key=lambda change: "outcome" not in change.kinds),
    )


def changes(a: Mapping[str, Any], b: Mapping[str, Any]) -> Iterator[Change]:
    """Yields the keys whose values are not the same.

    >>> list(changes({"x": 1, "y": 2}, {"x": 1, "z": 3}))
    [Change(name='y', a=2, b=None), Change(name='z', a=None, b=3)]
    """
    for key in dict.fromkeys([*a, *b]):
        if a.get(key) != b.get(key):
            yield Change(key, a.get(key), b.get(key))


def _numbers(run: Run) -> dict[str, float]:
    return {name: test["value"] for name, test in run.summary["tests"].items()}


def _samples(
    a: Mapping[Name, dict[str, Any]],
    b: Mapping[Name, dict[str, Any]],
    tolerance: float,
    other_pixels: bool,
) -> tuple[dict[str, TestChanges], list[SampleChange]]:
    tests: dict[str, TestChanges] = {}
    changed = []
    for name in dict.fromkeys([*a, *b]):
        test = tests.setdefault(name[0], TestChanges())
        if name not in b:
            test.only_a += 1
        elif name not in a:
            test.only_b += 1
        else:
            test.both += 1
            ours, theirs = a[name], b[name]
            apart = score_difference(ours["scores"], theirs["scores"])
            test.largest_score_difference = max(test.largest_score_difference, apart)
            differs = _kinds(ours, theirs, apart > tolerance, other_pixels)
            for kind in differs:
                test.differ[kind] += 1
            if differs:
                outcomes = (ours["outcome"], theirs["outcome"])
                scores = (_finite(ours["scores"]), _finite(theirs["scores"]))
                changed.append(SampleChange(*name, differs, outcomes, scores))
    return tests, changed


def score_difference(a: Sequence[float], b: Sequence[float]) -> float:
    """Returns the largest difference of two matrices; 0 where either has none.

    >>> score_difference([0.1, 0.5], [0.1, 0.25]), score_difference([], [0.1])
    (0.25, 0.0)
    >>> score_difference([0.1, float("nan")], [0.1, 0.2])
    inf
    """
    if not a or not b:
        return 0.0
    if len(a) != len(b):
        return math.inf
    pairs = [(x, y) for x, y in zip(a, b, strict=True) if not (math.isnan(x) and math.isnan(y))]
    apart = [0.0 if x == y else abs(x - y) for x, y in pairs]
    return math.inf if any(map(math.isnan, apart)) else max(apart, default=0.0)


def _kinds(
    a: Mapping[str, Any], b: Mapping[str, Any], other_answer: bool, other_pixels: bool
) -> tuple[str, ...]:
    def differ(*keys: str) -> bool:
        return any(a[key] != b[key] for key in keys)

    rendered = [
        [[request[name] for name in _TOLD] for request in side["requests"]] for side in (a, b)
    ]
    contents = [[clip["content"] for clip in side["clips"]] for side in (a, b)]
    seen = all(any(side["frame_indices"]) for side in (a, b))
    found = {
        "texts": differ("question", "texts") or rendered[0] != rendered[1],
        "labels": differ("target", "cluster", "kind", "groups"),
        "frames": differ("clip_spans_s", "frame_indices", "timestamps_s"),
        "pixels": seen and (other_pixels or contents[0] != contents[1]),
        "status": differ("status"),
        "answer": other_answer,
        "outcome": differ("outcome"),
    }
    return tuple(kind for kind in KINDS if found[kind])


def _finite(scores: Sequence[float]) -> list[float | None]:
    return [score if math.isfinite(score) else None for score in scores]
