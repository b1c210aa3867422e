"""p-values against simulation and closed forms, Holm's against its definition."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import stats

from vbench.diagnosis.chance import above_chance
from vbench.results.paired import holm


@pytest.mark.parametrize("size", [1, 4])
@pytest.mark.parametrize(("chance", "least"), [(0.5, 0.03), (0.25, 0.015)])
def test_false_alarms_are_as_rare_as_promised(size: int, chance: float, least: float) -> None:
    """Skew makes them rarer where chance is low, never more frequent."""
    dice = np.random.default_rng(0)
    names = np.repeat(np.arange(60), size)
    p = []
    for _ in range(2000):
        # All samples of a source share their luck: as clustered as can be.
        credit = np.repeat((dice.random(60) < chance).astype(float), size)
        p.append(above_chance(credit, np.full(60 * size, chance), names))
    assert least < np.mean(np.array(p) < 0.05) < 0.065


def test_without_clusters_it_is_students_t() -> None:
    dice = np.random.default_rng(1)
    credit, chance = (dice.random(90) < 0.6).astype(float), dice.choice([0.25, 0.5], 90)
    expected = stats.ttest_1samp(credit - chance, 0, alternative="greater").pvalue
    assert above_chance(credit, chance, np.arange(90)) == pytest.approx(expected, rel=1e-9)


def test_certainty_counts_sources_not_samples() -> None:
    ones, half = np.ones(12), np.full(12, 0.5)
    assert above_chance(ones, half, np.arange(12) // 4) == pytest.approx(0.5**3)
    assert above_chance(ones, half, np.zeros(12)) == pytest.approx(0.5)
    assert above_chance(half, half, np.arange(12)) == 1.0
    assert above_chance(1 - ones, half, np.arange(12)) == 1.0
    assert above_chance(np.empty(0), np.empty(0), np.empty(0)) == 1.0


def test_holm_steps_down() -> None:
    p = [0.04, 0.001, 0.3, 0.02, 0.02]
    adjusted = holm(p)
    for level in (0.004, 0.06, 0.1, 0.5):
        rejected = set()
        for place, row in enumerate(sorted(range(5), key=p.__getitem__)):
            if p[row] > level / (5 - place):
                break
            rejected.add(row)
        assert {row for row in range(5) if adjusted[row] <= level} == rejected
    assert all(holm([p[i] for i in order]) == [adjusted[i] for i in order]
               for order in itertools.permutations(range(5)))  # fmt: skip
    assert holm([]) == []
    assert holm([0.6, 0.9]) == [1.0, 1.0]
