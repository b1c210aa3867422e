"""Runs that are a summary and a config, nothing on disk."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from vbench.results.layouts import RunSummary
from vbench.results.run import Run
from vbench.results.videobench.ours import Ours

Make = Callable[..., Ours]


class Made(Run):
    """A run without records."""

    @property
    def records(self) -> pd.DataFrame:  # type: ignore[override]
        return pd.DataFrame({"test": [], "clip_paths": []})


def estimate(value: float, n: int = 100, chance: float = 0.25) -> dict[str, Any]:
    return {
        "value": value, "ci_low": value - 0.05, "ci_high": value + 0.05, "n": n, "clusters": n // 2,
        "ties": 0, "value_half_ties": value, "truncated": 0, "chance": chance,
    }  # fmt: skip


@pytest.fixture
def make() -> Make:
    def make(
        name: str, values: Mapping[str, float], dataset: str = "videobench/toy", **choices: str
    ) -> Ours:
        tests = {key: estimate(value) for key, value in values.items()}
        coverage = {"n": 100, "answered": 100, "failed": [], "incomplete": {}}
        chosen = {"dataset": dataset, "model": name, "scorer": "letters", **choices}
        config = {"command": {"choices": chosen}, "limit": None}
        run = Made(Path(name), config, {"tests": tests, "coverage": coverage})
        return Ours(run, RunSummary(name, run.summary))

    return make
