"""The small sister of scripts/check_coverage.py: same code, fewer runs."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(scope="module")
def script(repository: Path) -> Any:
    file = repository / "scripts" / "check_coverage.py"
    spec = importlib.util.spec_from_file_location("check_coverage", file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
@pytest.mark.parametrize("icc", [0.0, 0.3, 0.7])
def test_intervals_hold_the_truth_and_equal_runs_are_not_told_apart(
    script: Any, icc: float
) -> None:
    simulation = script.Simulation(100, 10, icc, seed=1)
    covered, ignoring = simulation.coverage(1000)
    assert 0.93 <= covered <= 0.97
    assert (ignoring < 0.8) == (icc > 0)
    alarms, ignoring = simulation.false_alarms(1000)
    assert alarms <= 0.065
    assert (ignoring > 0.1) == (icc > 0)


def test_the_simulation_has_the_correlation_it_says(script: Any) -> None:
    simulation = script.Simulation(4000, 2, 0.3)
    first, second = simulation.answers(simulation.shares()).reshape(-1, 2).T
    centred = (first - script.TRUTH) * (second - script.TRUTH)
    assert centred.mean() / (script.TRUTH * (1 - script.TRUTH)) == pytest.approx(0.3, abs=0.05)
    assert first.mean() == pytest.approx(script.TRUTH, abs=0.03)
