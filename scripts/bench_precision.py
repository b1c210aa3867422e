"""How many answers flip when toy/clip runs in another precision than 32-true.

The same samples are scored in each precision; an answer flips when its outcome differs from the one
under 32-true. The share is the noise floor of a comparison across precisions.

    python scripts/bench_precision.py [--videos 60]

Prints one JSON object as its last line.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path

import numpy as np

import vbench

PRECISIONS = ("32-true", "bf16-mixed", "bf16-true")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--videos", type=int, default=60)
    videos = parser.parse_args().videos
    with tempfile.TemporaryDirectory() as folder:
        records = {name: run(Path(folder), videos, name) for name in PRECISIONS}
    reference = records["32-true"]
    found: dict[str, object] = {"bench": "precision", "samples": len(reference)}
    for name in PRECISIONS[1:]:
        other = records[name]
        flipped = reference.outcome.to_numpy() != other.outcome.to_numpy()
        shift = np.abs(np.concatenate([*reference.scores]) - np.concatenate([*other.scores]))
        found[name] = {
            "flipped": int(flipped.sum()),
            "flipped_share": float(flipped.mean()),
            "flipped_by_test": reference.test[flipped].value_counts().to_dict(),
            "largest_score_shift": float(shift.max()),
        }
    print(json.dumps(found))


def run(folder: Path, videos: int, precision: str):
    data = [f"dataset.root={folder / 'toy'}", f"dataset.num_videos={videos}"]
    how = ["trainer=cpu", "logger=none", f"trainer.precision={precision}"]
    where = f"run_dir={folder / precision}"
    finished = vbench.evaluate("dataset=velociti/toy", "model=toy/clip", *data, *how, where)
    return finished.records  # type: ignore[union-attr]


if __name__ == "__main__":
    main()
