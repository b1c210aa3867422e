"""Do 95 % intervals hold chance 95 % of the time? Scores a toy set at random, many times over.

    python scripts/check_chance_coverage.py --videos 2000 --seeds 200

Every request, a clip with a text, gets one random score, which all samples that ask it share, as
with `model=oracle/random`. Scores then go through the metric and the statistics of a real run. The
share of intervals that hold chance should be near 0.95 for every row; 200 draws of a fair one lie
within 0.91 to 0.98 about 98 times in 100. Takes about five CPU minutes. The last line is JSON; the
exit code is 1 if a row lies outside.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence

import numpy as np

from vbench.datasets.toy.benchmark import ToyVelociti
from vbench.metrics.outcomes import Row
from vbench.metrics.velociti import Velociti
from vbench.records import Sample, Score
from vbench.results.statistics import estimate

LOWEST, HIGHEST = 0.91, 0.98


def requests(samples: Sequence[Sample]) -> tuple[list[list[int]], int]:
    """Returns the numbers of each sample's requests, row-major, and how many there are in all."""
    numbers: dict[object, int] = {}
    asked = [
        [
            numbers.setdefault((clip, text), len(numbers))
            for clip in sample.clips
            for text in sample.texts
        ]
        for sample in samples
    ]
    return asked, len(numbers)


def random_rows(
    samples: Sequence[Sample], asked: Sequence[Sequence[int]], draw: list[float]
) -> list[Row]:
    """Grades the samples on one draw of all requests."""
    filled = [
        Score(sample, "ok", tuple(draw[number] for number in own))
        for sample, own in zip(samples, asked, strict=True)
    ]
    return Velociti()(filled)


def coverage(samples: Sequence[Sample], seeds: int) -> dict[str, float]:
    """Returns per row the share of seeds whose interval holds chance."""
    asked, total = requests(samples)
    held: dict[str, list[bool]] = {}
    for seed in range(seeds):
        draw = np.random.default_rng(seed).random(total).tolist()
        for row in random_rows(samples, asked, draw):
            found = estimate(row)
            held.setdefault(row.name, []).append(found.ci_low <= found.chance <= found.ci_high)
        if sys.stderr.isatty():
            print(f"\rseed {seed + 1} of {seeds}", end="", file=sys.stderr)
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
