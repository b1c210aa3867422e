"""Does memory stay flat over many clips? Resident memory of an evaluation against files done.

Makes a few toy clips, copies them into many files that differ by some bytes (so that each is
decoded and encoded on its own), evaluates all of them and looks at the process and its workers four
times a second. The slope is a least-squares line over the second half of the looks at which the
workers were at work, when pools have filled.

    python scripts/bench_memory.py [--clips 2000]

Prints one JSON object as its last line; exit code 1 if the slope is above 10 MB per 1,000 clips:
the answers themselves (embeddings, frame indices) take about 2.
"""

from __future__ import annotations

import argparse
import json
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import psutil

import vbench
from vbench.datasets.toy.video import write_mp4
from vbench.datasets.toy.world import benchmark_clip

SEEDS, LIMIT_MB = 20, 10.0


def write_files(folder: Path, clips: int) -> None:
    """Writes the clips, each copy with a free box of its own at the end, and their table."""
    for index in range(SEEDS):
        write_mp4(benchmark_clip(3, index), folder / f"seed{index}.mp4")
    contents = [(folder / f"seed{index}.mp4").read_bytes() for index in range(SEEDS)]
    rows = []
    for number in range(clips):
        box = struct.pack(">I4sI", 12, b"free", number)
        (folder / f"{number}.mp4").write_bytes(contents[number % SEEDS] + box)
        rows.append({"video": f"{number}.mp4", "positive": "a", "negative": "b"})
    (folder / "pairs.jsonl").write_text("\n".join(map(json.dumps, rows)))


def look(process: psutil.Process) -> tuple[float, int, float]:
    """Returns the time, the number of child processes, and the memory of all in MB.

    Pages that processes share count once for each.
    """
    children = process.children(recursive=True)
    total = 0
    for one in [process, *children]:
        try:
            total += one.memory_info().rss
        except psutil.NoSuchProcess:
            continue
    return time.monotonic(), len(children), total / 1e6


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clips", type=int, default=2000)
    clips = parser.parse_args().clips
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_files(folder, clips)
        words = [
            "dataset=table", "dataset.kind=pairs", f"dataset.file={folder / 'pairs.jsonl'}",
            "model=toy/clip", "sampler=uniform_midpoints", "sampler.num_frames=4", "trainer=cpu",
            "logger=none", "loader.cache=false", "loader.flush_seconds=1",
            f"run_dir={folder / 'run'}",
        ]  # fmt: skip
        process = subprocess.Popen(
            [sys.executable, "-m", "vbench", *words], stdout=subprocess.DEVNULL
        )
        watched, seen = psutil.Process(process.pid), []
        shards = folder / "run" / "predictions"
        while process.poll() is None:
            if shards.is_dir():
                seen.append(look(watched))
            time.sleep(0.25)
        if process.returncode != 0:
            return process.returncode
        done = len(vbench.load_run(folder / "run").records)
    times, children, memory = np.array(seen).T
    at_work = children == children.max()
    times, memory = times[at_work], memory[at_work]
    # Files are of one size, so time at work stands for files done.
    files = (times - times[0]) / (times[-1] - times[0]) * done / 1000
    half = len(times) // 2
    slope = float(np.polyfit(files[half:], memory[half:], 1)[0])
    within = slope <= LIMIT_MB and done == clips
    print(json.dumps({
        "bench": "memory", "clips": done, "looks": int(at_work.sum()),
        "peak_mb": round(float(memory.max())), "slope_mb_per_1000_clips": round(slope, 2),
        "limit_mb_per_1000_clips": LIMIT_MB, "within_limit": within,
    }))  # fmt: skip
    return 0 if within else 1


if __name__ == "__main__":
    sys.exit(main())
