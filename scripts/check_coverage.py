"""Do intervals hold the truth 95 % of the time, and are equal runs told apart no more than 5 %?

    python scripts/check_coverage.py [--runs 10000] [--sources 100] [--samples 10]

Simulated runs: each source has its own share of right answers, drawn from a beta distribution so
that answers of one source correlate by 0, 0.3 or 0.7 (ICC), as samples of one video do. Then

- coverage: the share of runs whose 95 % interval (`estimate`) holds the true accuracy; and beside
  it that of the same interval if every sample is taken for a source of its own, which is what most
  evaluations print;
- false alarms: the share of pairs of equally good runs that `difference` tells apart at p < 0.05.
  Half of each source's difficulty is shared by both runs, half is each run's own.

Expected: coverage within 93 to 97 %, false alarms at most 6 %, and the interval that ignores
sources below 93 % at an ICC of 0.3 and of 0.7. The last line is JSON; exit code 1 if not as
expected. Takes about a CPU minute.
"""

from __future__ import annotations

import argparse
import json
import sys

import numpy as np

from vbench.metrics.outcomes import Outcomes
from vbench.results.paired import difference
from vbench.results.statistics import estimate

LOWEST, HIGHEST, FALSE_ALARMS = 0.93, 0.97, 0.06
ICCS = (0.0, 0.3, 0.7)
TRUTH = 0.7


class Simulation:
    """Runs over the same sources.

    Args:
        sources: How many there are.
        samples: Of each.
        icc: Correlation of two answers to the same source.
        seed: Of all draws.
    """

    def __init__(self, sources: int, samples: int, icc: float, seed: int = 0) -> None:
        self.sources, self.samples, self.icc = sources, samples, icc
        self.rng = np.random.default_rng([seed, round(1000 * icc)])
        self.clusters = np.repeat(np.arange(sources), samples).astype(np.str_)
        self.alone = np.arange(sources * samples).astype(np.str_)
        self.none = np.zeros(sources * samples, dtype=np.bool_)

    def shares(self) -> np.ndarray:
        """Draws each source's share of right answers, (sources,), with mean TRUTH."""
        if self.icc == 0:
            return np.full(self.sources, TRUTH)
        size = (1 - self.icc) / self.icc
        return self.rng.beta(TRUTH * size, (1 - TRUTH) * size, self.sources)

    def answers(self, shares: np.ndarray) -> np.ndarray:
        """Draws credits, (sources x samples,), 0 or 1."""
        return 1.0 * (self.rng.random(len(self.alone)) < np.repeat(shares, self.samples))

    def row(self, credit: np.ndarray, *, clustered: bool = True) -> Outcomes:
        """Returns the row of a run, every sample a source of its own if not clustered."""
        names = self.clusters if clustered else self.alone
        return Outcomes("simulated", credit, credit, names, self.none, 0.5)

    def coverage(self, runs: int) -> tuple[float, float]:
        """Returns how often the interval holds the truth, by source and ignoring sources."""
        held = np.zeros(2)
        for _ in range(runs):
            credit = self.answers(self.shares())
            for place, clustered in enumerate((True, False)):
                found = estimate(self.row(credit, clustered=clustered))
                held[place] += found.ci_low <= TRUTH <= found.ci_high
        return float(held[0] / runs), float(held[1] / runs)

    def false_alarms(self, runs: int) -> tuple[float, float]:
        """Returns how often equally good runs differ at p < 0.05, by source and ignoring them."""
        alarms = np.zeros(2)
        for _ in range(runs):
            common = self.shares()
            pair = [self.answers((common + self.shares()) / 2) for _ in range(2)]
            for place, clustered in enumerate((True, False)):
                a, b = (self.row(credit, clustered=clustered) for credit in pair)
                alarms[place] += difference(a, b).p < 0.05
        return float(alarms[0] / runs), float(alarms[1] / runs)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--sources", type=int, default=100)
    parser.add_argument("--samples", type=int, default=10, help="of each source")
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    found = []
    for icc in ICCS:
        simulation = Simulation(asked.sources, asked.samples, icc, asked.seed)
        covered, naive = simulation.coverage(asked.runs)
        alarms, naive_alarms = simulation.false_alarms(asked.runs)
        found.append(
            {
                "icc": icc,
                "coverage": covered,
                "coverage_ignoring_sources": naive,
                "false_alarms": alarms,
                "false_alarms_ignoring_sources": naive_alarms,
            }
        )
        print(found[-1], file=sys.stderr)
    fair = all(
        LOWEST <= one["coverage"] <= HIGHEST and one["false_alarms"] <= FALSE_ALARMS
        for one in found
    )
    shown = all(one["coverage_ignoring_sources"] < LOWEST for one in found if one["icc"] > 0)
    print(json.dumps({**vars(asked), "by_icc": found, "ok": fair and shown}))
    return 0 if fair and shown else 1


if __name__ == "__main__":
    sys.exit(main())
