"""What a report of a dataset says, which no model was asked about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from statistics import fmean
from typing import Any

from vbench.records import Sample


def as_row(sample: Sample) -> dict[str, Any]:
    """Returns a sample with the fields of samples.parquet that the browser reads.

    Args:
        sample: The sample.
    """
    return {
        **{name: getattr(sample, name) for name in ("test", "sample_id", "kind", "cluster")},
        "question": sample.question,
        "texts": list(sample.texts),
        "letters": list(sample.letters),
        "target": None if sample.target is None else str(sample.target),
        "groups": dict(sample.groups),
        "clips": [asdict(clip) for clip in sample.clips],
    }


def as_answer(sample: Sample, seen: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Returns what stands where a run's record would: frames of each clip, and nothing else.

    Args:
        sample: The sample.
        seen: For each of its clips `key`, `frame_indices` and `timestamps_s`.
    """
    return {
        "outcome": "unscored",
        "status": "ok",
        "truncated": False,
        "scores": [],
        "reason": next((clip["reason"] for clip in seen if clip["reason"]), ""),
        "rule": "",
        "response": "",
        "observed": [],
        "clip_paths": [clip.path for clip in sample.clips],
        "clip_keys": [clip["key"] for clip in seen],
        "frame_indices": [clip["frame_indices"] for clip in seen],
        "timestamps_s": [clip["timestamps_s"] for clip in seen],
    }


def contents(samples: Sequence[Sample]) -> list[dict[str, Any]]:
    """Returns a line per test: how many samples, sources and files, and how long its texts are.

    Args:
        samples: All samples.
    """
    tests: dict[str, list[Sample]] = {}
    for sample in samples:
        tests.setdefault(sample.test, []).append(sample)
    return [_line(test, own) for test, own in tests.items()]


def _line(test: str, own: Sequence[Sample]) -> dict[str, Any]:
    right: list[int] = []
    wrong: list[int] = []
    for sample in own:
        for place, text in enumerate(sample.texts):
            if sample.kind not in ("t2v", "match") and isinstance(sample.target, int):
                (right if place == sample.target else wrong).append(len(text.split()))
    return {
        "test": test,
        "kind": ", ".join(sorted({sample.kind for sample in own})),
        "n": len(own),
        "sources": len({sample.cluster for sample in own}),
        "files": len({clip.path for sample in own for clip in sample.clips}),
        "texts": fmean(len(sample.texts) for sample in own),
        "right_words": fmean(right) if right else None,
        "wrong_words": fmean(wrong) if wrong else None,
    }
