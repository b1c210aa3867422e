"""Do 95 % intervals hold chance 95 % of the time? Scores a toy set at random, many times over.

    python scripts/check_chance_coverage.py --videos 2000 --seeds 200

The answers of `model=oracle/random` go through scorer, metric and statistics as in a real run. The
share of intervals that hold chance should be near 0.95 for every row; the share in 200 fair draws
lies within 0.91 to 0.98 with a probability of 0.985. Takes some ten CPU minutes. The last line is
JSON; the exit code is 1 if a row lies outside.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence

import numpy as np

from vbench.datasets.toy.benchmark import ToyVelociti
from vbench.metrics.velociti import Velociti
from vbench.models.oracles import Random
from vbench.prompts import OptionOnly
from vbench.records import Answer, Request, Sample
from vbench.results.statistics import Estimate, estimate
from vbench.scorers.similarity import Similarity

LOWEST, HIGHEST = 0.91, 0.98


class RandomRuns:
    """Runs of the random oracle over the same samples; each request is answered once per run."""

    def __init__(self, samples: Sequence[Sample]) -> None:
        self.scorer = Similarity()
        numbers: dict[Request, int] = {}
        self.asked = [
            (sample, [numbers.setdefault(request, len(numbers)) for request in requests])
            for sample in samples
            for requests in [self.scorer.requests(sample, OptionOnly())]
        ]
        self.requests = list(numbers)

    def estimates(self, seed: int) -> dict[str, Estimate]:
        """Returns what a run with this seed of the oracle reports."""
        oracle = Random(seed)
        answers = [Answer("ok", *oracle.score(r.clips[0], [r.text])) for r in self.requests]
        scores = [
            self.scorer.score(sample, [answers[number] for number in own])
            for sample, own in self.asked
        ]
        return {row.name: estimate(row) for row in Velociti()(scores)}


def coverage(samples: Sequence[Sample], seeds: int) -> dict[str, float]:
    """Returns per row the share of seeds whose interval holds chance."""
    runs = RandomRuns(samples)
    held: dict[str, list[bool]] = {}
    for seed in range(seeds):
        for name, found in runs.estimates(seed).items():
            held.setdefault(name, []).append(found.ci_low <= found.chance <= found.ci_high)
        print(f"seed {seed + 1} of {seeds}", end="\r", file=sys.stderr)
    return {name: float(np.mean(hits)) for name, hits in held.items()}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--videos", type=int, default=2000)
    parser.add_argument("--seeds", type=int, default=200)
    parser.add_argument("--build-seed", type=int, default=0, help="of the toy set")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        samples = ToyVelociti(
            f"{folder}/toy", num_videos=asked.videos, seed=asked.build_seed, render=False
        ).samples()
    shares = coverage(samples, asked.seeds)
    fair = all(LOWEST <= share <= HIGHEST for share in shares.values())
    result = {
        "videos": asked.videos,
        "seeds": asked.seeds,
        "samples": len(samples),
        "coverage": shares,
        "mean": float(np.mean(list(shares.values()))),
        "within": [LOWEST, HIGHEST],
        "ok": fair,
    }
    print(json.dumps(result))
    return 0 if fair else 1


if __name__ == "__main__":
    sys.exit(main())
