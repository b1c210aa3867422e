"""What Lightning, the writer and the progress display cost over a bare loop on the same batches.

Both loops put the same prepared batches of frames through the same ViT-B/32 (random weights); the
vbench side also stores its answers. Rounds are interleaved, CPU seconds are of the whole process
with its children, start-up and model building are left out.

    python scripts/bench_loop.py [--rounds 5]

Prints one JSON object as its last line; exit code 1 if the overhead is above 5 % or a batch is
shorter than 0.2 s (then the figure would say nothing about real batches).
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import torch
from torch.utils.data import DataLoader
from transformers import CLIPVisionConfig, CLIPVisionModelWithProjection

from vbench.loop.ask import AskFrameEncoder
from vbench.loop.data import Batch, PreparedClip, PreparedFile
from vbench.loop.predict import Predictor, make_trainer, predict
from vbench.loop.settings import TrainerSettings
from vbench.loop.writer import PredictionWriter, Progress
from vbench.records import Clip
from vbench.results.store import RunFolder

BATCHES, FRAMES = 8, 8
LIMIT, SHORTEST_S = 0.05, 0.2


class VitB32:
    """The vision half of CLIP B/32 with random weights."""

    def __init__(self) -> None:
        torch.manual_seed(0)
        config = CLIPVisionConfig(patch_size=32, projection_dim=512)  # else the defaults: ViT-B
        self.module = CLIPVisionModelWithProjection(config).eval().requires_grad_(False)

    def embed_frames(self, pixels: torch.Tensor) -> torch.Tensor:
        """Encodes (n, 3, 224, 224) into (n, 512)."""
        return self.module(pixels).image_embeds

    def pool(self, frames: torch.Tensor) -> torch.Tensor:
        """Pools (n, 512) into a unit vector (512,)."""
        return torch.nn.functional.normalize(frames.mean(0), dim=0)


def batches() -> list[Batch]:
    dice = torch.Generator().manual_seed(0)
    made = []
    for number in range(BATCHES):
        clip = PreparedClip(f"k{number}", Clip(f"v{number}", "v"), tuple(range(FRAMES)))
        clip.rows = tuple(range(FRAMES))
        pixels = torch.rand(FRAMES, 3, 224, 224, generator=dice)
        made.append(Batch([PreparedFile("v", [clip], pixels)]))
    return made


def cpu_s() -> float:
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def timed(run: Callable[[], object]) -> float:
    before = cpu_s()
    run()
    return cpu_s() - before


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    torch.set_num_threads(1)
    work, model = batches(), VitB32()
    ask = AskFrameEncoder(model, FRAMES)

    @torch.inference_mode()
    def bare() -> None:
        for batch in work:
            ask(batch.work, torch.device("cpu"), torch.float32)

    def ours() -> None:
        with tempfile.TemporaryDirectory() as folder:
            trainer = make_trainer(TrainerSettings("cpu"))
            writer = PredictionWriter(RunFolder(Path(folder)), 5.0)
            predictor = Predictor(ask, model.module, "32-true")
            loader = DataLoader(work, batch_size=None)
            predict(trainer, predictor, loader, [writer, Progress(len(work))])

    for run in (bare, ours):
        run()
    pairs = [(timed(bare), timed(ours)) for _ in range(rounds)]
    bare_s, ours_s = (statistics.median(side) for side in zip(*pairs, strict=True))
    overhead = statistics.median(o / b for b, o in pairs) - 1
    within = overhead <= LIMIT and bare_s / BATCHES >= SHORTEST_S
    print(json.dumps({
        "bench": "loop", "rounds": rounds, "batches": BATCHES, "frames_per_batch": FRAMES,
        "bare_cpu_s_median": round(bare_s, 3), "vbench_cpu_s_median": round(ours_s, 3),
        "batch_cpu_s": round(bare_s / BATCHES, 3), "overhead_median": round(overhead, 4),
        "limit": LIMIT, "within_limit": within,
    }))  # fmt: skip
    return 0 if within else 1


if __name__ == "__main__":
    sys.exit(main())
