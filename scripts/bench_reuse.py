"""Decode once, encode once: a whole evaluation against a loop that starts over for every sample.

The same ViT-B/32 (random weights) scores the same samples three ways:

- `naive` decodes the clip and encodes its frames and both captions, padded to 77 tokens, for every
  sample, as VELOCITI's own code and the peers do; it runs on some samples and is scaled;
- `vbench` is the product, from samples to records;
- `limit` is the least any program must do: decode each clip once, transform and encode each frame
  once, encode each text once, in full batches.

A clip has 15 samples, each a pair of its 5 captions (words of a toy vocabulary, 18 to 34 of them).
Rounds are interleaved; CPU seconds are of the process with its workers; start-up, model loading and
hashing the checkpoint are left out; nothing is cached.

    python scripts/bench_reuse.py [--clips 30] [--rounds 3]

Prints one JSON object as its last line; exit code 1 if scores differ by more than 1e-5, if vbench
is less than 12 times as fast as `naive`, or if it reaches less than 0.80 of the limit.
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
import resource
import shutil
import statistics
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import av
import numpy as np
import torch
from transformers import AutoTokenizer, CLIPConfig, CLIPImageProcessor, CLIPModel, CLIPProcessor

import vbench
from vbench.composition import compose_unchecked
from vbench.evaluation import run_parts
from vbench.frames.rules import uniform_midpoints
from vbench.frames.source import open_source
from vbench.parts import Parts

SAMPLES, FRAMES = 15, 8
LEAST_SPEEDUP, LEAST_OF_LIMIT, TOLERANCE = 12.0, 0.80, 1e-5
TOY_CLIP = Path(vbench.__file__).parent / "assets" / "toy_clip"


def write_clip(path: Path, seed: int) -> None:
    """Writes 10 s of 640x360 H.264 at 25 fps: drifting texture with noise, two scene cuts."""
    dice = np.random.default_rng(seed)
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", 25, options={"crf": "23", "threads": "1"})
        stream.width, stream.height, stream.pix_fmt = 640, 360, "yuv420p"
        for number in range(250):
            if number % 84 == 0:
                small = dice.integers(0, 255, (23, 40, 3), dtype=np.uint8)
                texture = np.kron(small, np.ones((16, 16, 1), np.uint8))[:360, :640]
            frame = np.roll(texture, (number, 2 * number), (0, 1)).astype(np.int16)
            frame += dice.integers(-6, 7, frame.shape, dtype=np.int16)
            picture = av.VideoFrame.from_ndarray(frame.clip(0, 255).astype(np.uint8), "rgb24")
            container.mux(stream.encode(picture))
        container.mux(stream.encode())


def write_table(folder: Path, clips: int) -> None:
    """Writes the samples."""
    tokenizer = AutoTokenizer.from_pretrained(TOY_CLIP)
    words = sorted(word for word in tokenizer.get_vocab() if word.isalpha())
    dice = random.Random(0)
    rows = []
    for clip in range(clips):
        captions = [" ".join(dice.choices(words, k=dice.randint(18, 34))) for _ in range(5)]
        pairs = list(itertools.permutations(captions, 2))[:SAMPLES]
        rows += [{"video": f"{clip}.mp4", "positive": a, "negative": b} for a, b in pairs]
    (folder / "pairs.jsonl").write_text("\n".join(json.dumps(row) for row in rows))


def write_checkpoint(folder: Path) -> None:
    """Writes CLIP ViT-B/32 with random weights, a processor and the toy's word tokenizer."""
    torch.manual_seed(0)
    config = CLIPConfig()
    config.text_config.eos_token_id, config.text_config.bos_token_id = 3, 1
    tokenizer = AutoTokenizer.from_pretrained(TOY_CLIP)
    tokenizer.model_max_length = 77
    CLIPModel(config).save_pretrained(folder)
    CLIPProcessor(CLIPImageProcessor(), tokenizer).save_pretrained(folder)


def cpu_s() -> float:
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def timed(run: Callable[[], object]) -> tuple[float, object]:
    before = cpu_s()
    result = run()
    return cpu_s() - before, result


class Bench:
    """The three ways over one set of samples."""

    def __init__(self, folder: Path, clips: int) -> None:
        self.folder = folder
        self.config = compose_unchecked([
            "dataset=table", "dataset.kind=pairs", f"dataset.file={folder / 'pairs.jsonl'}",
            "model=hf/dual_encoder", f"model.checkpoint={folder / 'clip'}",
            "sampler=uniform_midpoints", f"sampler.num_frames={FRAMES}", "loader.cache=false",
            "trainer=cpu", "logger=none",
        ])  # fmt: skip
        self.parts = Parts.build(self.config)
        self.model = self.parts.model
        self.model.identity()
        self.samples = self.parts.dataset.samples()
        # Each round of `naive` takes one sample of every third clip, another sample each time.
        self.every = 3 * SAMPLES
        self.tokenizer = AutoTokenizer.from_pretrained(folder / "clip")
        self.model.module.eval()

    def ours(self) -> np.ndarray:
        """Evaluates; returns the scores (samples, 2)."""
        run_dir = self.folder / "run"
        shutil.rmtree(run_dir, ignore_errors=True)
        self.config.run_dir = str(run_dir)
        run = run_parts(self.parts, self.config)
        return np.stack(list(run.records.scores))

    @torch.inference_mode()
    def naive(self, first: int) -> np.ndarray:
        """Scores every n-th sample from `first` on its own; returns (some samples, 2)."""
        scores = []
        for sample in self.samples[first :: self.every]:
            frames, picked = [], uniform_midpoints(250, FRAMES)
            with av.open(sample.clips[0].path) as container:
                container.streams.video[0].thread_type = "NONE"
                for index, frame in enumerate(container.decode(video=0)):
                    if index in picked:
                        frames.append(frame.to_ndarray(format="rgb24"))
            clip = self.model.pool(self.model.embed_frames(self.model.preprocess(frames)))
            tokens = self.tokenizer(
                list(sample.texts), padding="max_length", truncation=True, return_tensors="pt"
            )
            texts = self.model.module.get_text_features(**tokens).pooler_output
            scores.append((torch.nn.functional.normalize(texts) @ clip).numpy())
        return np.stack(scores)

    @torch.inference_mode()
    def limit(self) -> None:
        """Does the least there is to do."""
        pixels = []
        for clip in dict.fromkeys(sample.clips[0] for sample in self.samples):
            source = open_source(clip.path)
            frames = source.read(source.pick(clip, self.parts.sampler).indices)
            pixels.append(self.model.preprocess([frames[index] for index in sorted(frames)]))
        for chunk in torch.cat(pixels).split(32):
            self.model.embed_frames(chunk)
        self.model.embed_texts(list(dict.fromkeys(t for s in self.samples for t in s.texts)))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clips", type=int, default=30)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for clip in range(arguments.clips):
            write_clip(folder / f"{clip}.mp4", clip)
        write_table(folder, arguments.clips)
        write_checkpoint(folder / "clip")
        bench = Bench(folder, arguments.clips)
        rounds, difference = [], 0.0
        for number in range(arguments.rounds):
            naive_s, naive = timed(lambda first=number: bench.naive(first))
            ours_s, ours = timed(bench.ours)
            limit_s, _ = timed(bench.limit)
            scale = len(bench.samples) / len(naive)
            rounds.append((naive_s * scale, ours_s, limit_s))
            theirs = ours[number :: bench.every]
            difference = max(difference, float(np.abs(theirs - naive).max()))
    return report(rounds, difference, arguments.clips)


def report(rounds: list[tuple[float, float, float]], difference: float, clips: int) -> int:
    naive_s, ours_s, limit_s = (statistics.median(side) for side in zip(*rounds, strict=True))
    speedup = statistics.median(naive / ours for naive, ours, _ in rounds)
    share = statistics.median(limit / ours for _, ours, limit in rounds)
    within = speedup >= LEAST_SPEEDUP and share >= LEAST_OF_LIMIT and difference <= TOLERANCE
    print(json.dumps({
        "bench": "reuse", "clips": clips, "samples": clips * SAMPLES, "rounds": len(rounds),
        "naive_cpu_s_median": round(naive_s, 1), "vbench_cpu_s_median": round(ours_s, 1),
        "limit_cpu_s_median": round(limit_s, 1), "speedup": round(speedup, 2),
        "share_of_limit": round(share, 3), "largest_score_difference": difference,
        "least_speedup": LEAST_SPEEDUP, "least_share_of_limit": LEAST_OF_LIMIT,
        "within_limit": within,
    }))  # fmt: skip
    return 0 if within else 1


if __name__ == "__main__":
    sys.exit(main())
