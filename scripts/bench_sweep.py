"""A sweep over frame counts in one command, against one uncached job per count.

The same ViT-B/32 (random weights) scores the same samples with 1, 2, 4, 8, 16 and 32 frames, once
as six jobs that share nothing and once as one sweep, for `sampler=uniform_midpoints`, whose 63
frames are all different, and for `sampler=nested`, where they are 32.

A line through the six jobs' CPU seconds gives what a clip costs whatever the number of frames (a)
and what each frame adds (b). Nobody can do with less than a once and b for each different frame:

    bound = (6 a + 63 b) / (a + 63 b)   and   (6 a + 63 b) / (a + 32 b)

times as fast. Rounds are interleaved; CPU seconds are of the process with its workers; start-up
(imports, composing, loading the model, hashing its file) is measured once, in a process of its own,
and is in neither side, although six commands would pay it six times.

    python scripts/bench_sweep.py [--clips 6] [--rounds 2]

Prints one JSON object as its last line; exit code 1 if scores differ by more than 1e-5, or if the
sweep reaches less than 0.85 of either bound.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import torch
from bench_reuse import cpu_s, write_checkpoint, write_clip, write_table
from omegaconf import DictConfig

from vbench.evaluation import run_parts
from vbench.parts import Parts
from vbench.schema import compose
from vbench.together import Together

COUNTS = (1, 2, 4, 8, 16, 32)
SAMPLERS = {"uniform_midpoints": sum(COUNTS), "nested": max(COUNTS)}
"""By sampler, how many different frames the counts show together."""
LEAST_OF_BOUND, TOLERANCE = 0.85, 1e-5


class Bench:
    """Both ways over one set of samples."""

    def __init__(self, folder: Path, clips: int) -> None:
        self.folder = folder
        self.clips = clips
        self.startup_s = self.startup()
        self.parts = Parts.build(self.config("nested", 1, "warm"))
        self.warm(self.parts)

    def words(self, sampler: str, count: int, place: str) -> list[str]:
        """Returns the command of a job that keeps all it writes in one place."""
        return [
            "dataset=table", "dataset.kind=pairs", f"dataset.file={self.folder / 'pairs.jsonl'}",
            "model=hf/dual_encoder", f"model.checkpoint={self.folder / 'clip'}",
            f"sampler={sampler}", f"sampler.num_frames={count}", "trainer=cpu", "logger=none",
            "loader.num_workers=0", f"paths.cache={self.folder / place / 'cache'}",
            f"run_dir={self.folder / place / str(count)}",
        ]  # fmt: skip

    def config(self, sampler: str, count: int, place: str, *more: str) -> DictConfig:
        """Composes it."""
        return compose([*self.words(sampler, count, place), *more])

    @staticmethod
    def warm(parts: Parts) -> None:
        """Loads the model and hashes its file."""
        parts.model.identity()
        parts.model.module.eval()

    def startup(self) -> float:
        """Returns the CPU seconds that a process takes before it opens the first video."""
        code = (
            "import sys; import vbench.loop.predict; from vbench.parts import Parts;"
            "from vbench.schema import compose; model = Parts.build(compose(sys.argv[1:])).model;"
            "model.identity(); model.module"
        )
        before = cpu_s()
        words = self.words("nested", 1, "startup")
        subprocess.run([sys.executable, "-c", code, *words], check=True)
        return cpu_s() - before

    def apart(self, sampler: str, count: int) -> tuple[float, np.ndarray]:
        """Runs one job alone; returns CPU seconds and the scores (samples, 2)."""
        place = self.folder / "apart"
        shutil.rmtree(place, ignore_errors=True)
        config = self.config(sampler, count, "apart", "loader.cache=false")
        built = Parts.build(config)
        parts = Parts(**{**vars(built), "model": self.parts.model, "dataset": self.parts.dataset})
        before = cpu_s()
        run = run_parts(parts, config)
        return cpu_s() - before, np.stack(list(run.records.scores))

    def together(self, sampler: str) -> tuple[float, list[np.ndarray]]:
        """Runs all jobs as one sweep; returns CPU seconds and each job's scores."""
        shutil.rmtree(self.folder / "sweep", ignore_errors=True)
        configs = [self.config(sampler, count, "sweep") for count in COUNTS]
        sweep = Together(configs)
        self.warm(sweep._parts(configs[0]))  # what start-up is, is in neither side
        before = cpu_s()
        runs = [sweep.run(config) for config in configs]
        return cpu_s() - before, [np.stack(list(run.records.scores)) for run in runs]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clips", type=int, default=6)
    parser.add_argument("--rounds", type=int, default=2)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for clip in range(arguments.clips):
            write_clip(folder / f"{clip}.mp4", clip)
        write_table(folder, arguments.clips)
        write_checkpoint(folder / "clip")
        bench = Bench(folder, arguments.clips)
        bench.apart("nested", 2)  # whatever is slower the first time
        found = {
            sampler: [one_round(bench, sampler) for _ in range(arguments.rounds)]
            for sampler in SAMPLERS
        }
    return report(found, bench)


def one_round(bench: Bench, sampler: str) -> tuple[list[float], float, float]:
    """Returns CPU seconds of each job apart and of the sweep, and by how much scores differ."""
    apart = [bench.apart(sampler, count) for count in COUNTS]
    sweep_s, sweep = bench.together(sampler)
    moved = max(float(np.abs(a - b).max()) for (_, a), b in zip(apart, sweep, strict=True))
    return [seconds for seconds, _ in apart], sweep_s, moved


def report(found: dict[str, list[tuple[list[float], float, float]]], bench: Bench) -> int:
    told: dict[str, object] = {
        "bench": "sweep", "counts": COUNTS, "clips": bench.clips,
        "startup_cpu_s": round(bench.startup_s, 1), "least_share_of_bound": LEAST_OF_BOUND,
    }  # fmt: skip
    within = True
    for sampler, rounds in found.items():
        each = [
            statistics.median(job) for job in zip(*(jobs for jobs, _, _ in rounds), strict=True)
        ]
        sweep_s = statistics.median(seconds for _, seconds, _ in rounds)
        per_frame, per_clip = np.polyfit(COUNTS, np.array(each) / bench.clips, 1)
        least_s = bench.clips * (per_clip + per_frame * SAMPLERS[sampler])
        moved = max(difference for _, _, difference in rounds)
        within &= least_s / sweep_s >= LEAST_OF_BOUND and moved <= TOLERANCE
        told[sampler] = {
            "apart_cpu_s": round(sum(each), 1), "sweep_cpu_s": round(sweep_s, 1),
            "per_clip_cpu_s": round(per_clip, 3), "per_frame_cpu_s": round(per_frame, 4),
            "different_frames": SAMPLERS[sampler], "speedup": round(sum(each) / sweep_s, 2),
            "bound": round(sum(each) / least_s, 2), "share_of_bound": round(least_s / sweep_s, 3),
            "speedup_with_startup": round(
                (sum(each) + len(COUNTS) * bench.startup_s) / (sweep_s + bench.startup_s), 2
            ),
            "largest_score_difference": moved,
        }  # fmt: skip
    print(json.dumps(told | {"within_limit": bool(within)}))
    return 0 if within else 1


if __name__ == "__main__":
    sys.exit(main())
