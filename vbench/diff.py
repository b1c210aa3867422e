"""The story of `vbench diff`: why two runs give different numbers."""

from __future__ import annotations

import json
import math
import re
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from vbench.results.comparison import KINDS, Change, Comparison, SampleChange, TestChanges, compare
from vbench.results.text import aligned, visible


def print_diff(
    a: str, b: str, as_json: bool = False, limit: int = 20, tolerance: float = 1e-5
) -> int:
    """Prints what differs between two finished runs.

    Args:
        a: A run folder.
        b: Another.
        as_json: Strict JSON instead of text.
        limit: How many samples are listed, those with another outcome first; all are counted.
        tolerance: Scores no further apart than this are the same.

    Returns:
        0 if the results are the same, whatever was set and wherever it ran; 3 if they differ.

    Raises:
        RunError: One is no finished run.
    """
    found = compare(a, b, tolerance)
    if as_json:
        sys.stdout.write(json.dumps(to_dict(found, limit), indent=2, allow_nan=False) + "\n")
    else:
        sys.stdout.write("\n".join(lines(found, limit)) + "\n")
    return 0 if found.same else 3


def to_dict(found: Comparison, limit: int) -> dict[str, Any]:
    """Returns a comparison as JSON takes it.

    Args:
        found: The comparison.
        limit: How many samples are listed.
    """
    values = asdict(found) | {"same": found.same, "flips": flips(found.samples)}
    for test in values["tests"].values():
        if math.isinf(test["largest_score_difference"]):
            test["largest_score_difference"] = None  # matrices of different sizes
    for name in ("only_a", "only_b", "samples"):
        values[name] = values[name][:limit]
    return values


def flips(samples: Sequence[SampleChange]) -> list[dict[str, Any]]:
    """Counts samples by how their outcome changed, the most frequent change first.

    Args:
        samples: Samples that differ.
    """
    changed = Counter(s.outcomes for s in samples if "outcome" in s.kinds)
    return [{"a": a, "b": b, "samples": n} for (a, b), n in changed.most_common()]


def lines(found: Comparison, limit: int) -> list[str]:
    """Returns a comparison as text.

    Args:
        found: The comparison.
        limit: How many samples are listed.
    """
    total = sum(test.both for test in found.tests.values())
    apart = len(found.samples)
    return [
        *aligned([("A", found.a), ("B", found.b)], indent=0),
        *_section("settings that can change a score", found.settings),
        *_section("settings that cannot", found.other_settings),
        *_section("where it ran", found.environment),
        *_numbers(found.numbers),
        "",
        f"samples: {total} in both, {apart} of them differ; "
        f"{len(found.only_a)} only in A, {len(found.only_b)} only in B",
        *([] if found.same else _tests(found.tests)),
        *_names("only in A", found.only_a, limit),
        *_names("only in B", found.only_b, limit),
        *_listed(found.samples, limit),
        "",
        "the results are the same" if found.same else "the results differ",
    ]


def _section(title: str, changes: Sequence[Change]) -> list[str]:
    if not changes:
        return []
    rows = [(change.name, f"{_value(change.a)} → {_value(change.b)}") for change in changes]
    return ["", title, *aligned(rows)]


def _value(value: object) -> str:
    text = "-" if value is None else value if isinstance(value, str) else json.dumps(value)
    return re.sub(r"\b([0-9a-f]{12})[0-9a-f]{20,}\b", r"\1…", text)  # hashes


def _numbers(changes: Sequence[Change]) -> list[str]:
    if not changes:
        return []
    rows = [("", "A", "B", "B - A")]
    for change in changes:
        a, b = change.a, change.b
        apart = "-" if a is None or b is None else f"{100 * (b - a):+.1f}"
        rows.append((change.name, _percent(a), _percent(b), apart))
    return ["", "accuracy in %", *aligned(rows, right=True)]


def _tests(tests: dict[str, TestChanges]) -> list[str]:
    head = ("", "both", "only A", "only B", *KINDS, "largest score difference")
    columns: list[Sequence[object]] = [list(tests), [test.both for test in tests.values()]]
    columns += [[test.only_a for test in tests.values()], [test.only_b for test in tests.values()]]
    columns += [[test.differ[kind] for test in tests.values()] for kind in KINDS]
    columns += [[f"{test.largest_score_difference:.1e}" for test in tests.values()]]
    shown = [(title, *own) for title, own in zip(head, columns, strict=True) if any(own)]
    return aligned(list(zip(*shown, strict=True)), right=True)


def _names(title: str, names: Sequence[tuple[str, str]], limit: int) -> list[str]:
    if not names or not limit:
        return []
    shown = [f"  {visible(test)}/{visible(own)}" for test, own in names[:limit]]
    return ["", title, *shown, *_rest(len(names) - limit)]


def _listed(samples: Sequence[SampleChange], limit: int) -> list[str]:
    if not samples or not limit:
        return []
    text = ["", "samples that differ, other outcomes first"]
    text += aligned([(f["samples"], f"{f['a']} → {f['b']}") for f in flips(samples)])
    rows = []
    for sample in samples[:limit]:
        flip = " → ".join(dict.fromkeys(sample.outcomes))
        scores = " → ".join(" ".join(map(_score, own)) or "-" for own in sample.scores)
        rows.append((f"{sample.test}/{sample.sample_id}", flip, ", ".join(sample.kinds), scores))
    return [*text, *aligned(rows), *_rest(len(samples) - limit)]


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.1f}"


def _score(score: float | None) -> str:
    return "-" if score is None else f"{score:.6g}"


def _rest(count: int) -> list[str]:
    return [f"  … and {count} more: --limit=N lists more"] if count > 0 else []
