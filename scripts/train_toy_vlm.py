"""Trains the tiny video-language model of the toy world, from scratch, on one CPU core.

    OMP_NUM_THREADS=1 python scripts/train_toy_vlm.py --out vbench/assets/toy_vlm

The number of steps and every seed are fixed: what the clock says changes nothing. Clips come from
the training namespace only. docs/toy_vlm.md has the reasons and figures.
"""

from __future__ import annotations

import argparse
import math
import random
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from toy_vlm_model import FactHeads, ReadingHeads, build_model, read, see
from toy_vlm_questions import draw, exam
from toy_vlm_rows import MOMENTS, PAIRS, Rows, lay_out
from toy_vlm_statements import NONE
from toy_vlm_words import (
    IMAGE_SIZE,
    LETTERS,
    build_processor,
    vocabulary,
)
from transformers import Qwen2VLForConditionalGeneration, Qwen2VLProcessor

from vbench.datasets.toy.render import render_frame
from vbench.datasets.toy.world import EVENTS_PER_CLIP, ToyClip, training_clip

REPORT_STEPS = 50
LENGTHS = ((5, 0.76), (4, 0.04), (3, 0.04), (2, 0.16))
"""How many events a step's videos show: subset tests cut clips short."""
VERDICTS = torch.tensor([vocabulary()[word] for word in ("Yes", "No")])
LETTER_WORDS = torch.tensor([vocabulary()[word] for word in LETTERS])


@dataclass(frozen=True)
class Design:
    """Everything that decides the weights."""

    clips: int = 6000
    """Distinct clips; each is drawn once and seen again with other questions."""
    seeing_steps: int = 1200
    """Steps in which the vision tower alone learns to tell facts apart."""
    seeing_clips: int = 16
    """Of each step."""
    reading_steps: int = 2200
    """Steps in which questions are asked."""
    reading_clips: int = 8
    questions: tuple[int, int, int, int] = (6, 2, 1, 1)
    """Yes or no, which of two, which of many, describe: of each clip."""
    seeing_rate: float = 2e-3
    reading_rate: float = 1.5e-3
    weight_decay: float = 0.05
    warmup_steps: int = 50
    facts_share: float = 0.5
    """Weight of the facts' losses once questions are asked."""
    width: int = 128
    depth: int = 3
    hidden: int = 128
    layers: int = 4
    mlp: int = 320
    seed: int = 0

    def rate(self, step: int) -> float:
        """Returns the learning rate: constant while seeing, then a cosine; each warmed up."""
        read = step - self.seeing_steps
        warmth = min(1.0, ((step if read < 0 else read) + 1) / self.warmup_steps)
        if read < 0:
            return warmth * self.seeing_rate
        return warmth * self.reading_rate * (1 + math.cos(math.pi * read / self.reading_steps)) / 2


class Videos:
    """Training clips and their pixels, each drawn once."""

    def __init__(self, count: int, processor: Qwen2VLProcessor, file: Path | None) -> None:
        self.processor = processor.video_processor
        self.count = count
        shape = (count, len(MOMENTS), 3, IMAGE_SIZE, IMAGE_SIZE)
        if file is None:
            self.frames, self.drawn = np.zeros(shape, np.uint8), np.zeros(count, bool)
        else:
            mode = "r+" if file.exists() else "w+"
            drawn = file.with_suffix(".drawn")
            self.frames = np.memmap(file, np.uint8, mode, shape=shape)
            self.drawn = np.memmap(drawn, bool, "r+" if drawn.exists() else "w+", shape=(count,))

    def batch(
        self, first: int, size: int, events: int = EVENTS_PER_CLIP
    ) -> tuple[list[ToyClip], Tensor]:
        """Returns clips, or excerpts of them, and their pixels as the video processor makes them.

        Args:
            first: Number of the first clip; the others follow.
            size: How many.
            events: How many events an excerpt has.
        """
        numbers = [(first + k) % self.count for k in range(size)]
        clips = [training_clip(number) for number in numbers]
        starts = [(first + number) % (EVENTS_PER_CLIP - events + 1) for number in numbers]
        each = len(MOMENTS) // EVENTS_PER_CLIP
        for number, clip in zip(numbers, clips, strict=True):
            if not self.drawn[number]:
                self.frames[number], self.drawn[number] = self._draw(clip), True
        made = self.processor(
            [
                torch.from_numpy(self.frames[number][each * start : each * (start + events)])
                for number, start in zip(numbers, starts, strict=True)
            ],
            do_resize=False,
            do_sample_frames=False,
            return_tensors="pt",
        )
        excerpts = [
            replace(clip, events=clip.events[start : start + events])
            for clip, start in zip(clips, starts, strict=True)
        ]
        return excerpts, made["pixel_values_videos"]

    def _draw(self, clip: ToyClip) -> np.ndarray:
        frames = np.stack([render_frame(clip, moment) for moment in MOMENTS])
        video = torch.from_numpy(frames).permute(0, 3, 1, 2)
        resized = self.processor.resize(
            video[None], self.processor.size, self.processor.resample, IMAGE_SIZE // 2
        )
        return resized[0].numpy()


def untrained(design: Design) -> Qwen2VLForConditionalGeneration:
    """Returns a new model of the design."""
    return build_model(
        width=design.width,
        depth=design.depth,
        hidden=design.hidden,
        layers=design.layers,
        mlp=design.mlp,
    )


def reading_losses(
    model: Qwen2VLForConditionalGeneration, heads: ReadingHeads, seen: Tensor, rows: Rows
) -> dict[str, Tensor]:
    """Returns the losses of what is said, of answers and of what is to be known half-way."""
    videos = seen.view(int(rows.clips[-1]) + 1, -1, seen.shape[-1])[rows.clips]
    states = read(model, videos, rows.ids, rows.positions, rows.allowed)
    asked = rows.targets != NONE
    target = rows.targets[asked]
    logits = model.lm_head(states[-1][asked])
    loss = F.cross_entropy(logits, target, reduction="none")
    verdict, letter = (torch.isin(target, words) for words in (VERDICTS, LETTER_WORDS))
    known = heads(model, states, rows)
    return {
        "said": loss[~verdict & ~letter].mean(),
        "verdict": loss[verdict].mean(),
        "letter": loss[letter].mean(),
        "last": 6 * known["last"],
        "match": 6 * known["match"],
        "truth": 6 * known["truth"],
        "when": 0.2 * known["when"],
    }


Report = Callable[[int, dict[str, float]], None]


def train(design: Design, frames: Path | None, report: Report) -> Qwen2VLForConditionalGeneration:
    """Trains a model.

    Args:
        design: What decides the weights.
        frames: A file that keeps what was drawn for another run.
        report: Called with the mean losses since the last call, every 50 steps.
    """
    torch.manual_seed(design.seed)
    torch.set_num_threads(1)
    model = untrained(design).train()
    facts, reading = FactHeads(design.hidden), ReadingHeads(design.hidden, PAIRS)
    videos = Videos(design.clips, build_processor(), frames)
    weights = [p for module in (model, facts, reading) for p in module.parameters()]
    optimizer = torch.optim.AdamW(weights, betas=(0.9, 0.98), weight_decay=design.weight_decay)
    sums: dict[str, float] = {}
    clips: list[ToyClip] = []
    first = 0
    for step in range(design.seeing_steps + design.reading_steps):
        reads = step >= design.seeing_steps
        others = clips
        rng = random.Random(f"train_toy_vlm/{design.seed}/{step}")
        events = draw(rng, LENGTHS) if reads else EVENTS_PER_CLIP
        size = design.reading_clips if reads else design.seeing_clips
        clips, pixels = videos.batch(first, size, events)
        first += len(clips)
        seen = see(model, pixels)
        losses = facts(seen, clips)
        if reads:
            exams = [exam(c, others or clips, rng, design.questions) for c in clips]
            rows = lay_out(exams, len(seen) // len(clips))
            losses = {name: design.facts_share * loss for name, loss in losses.items()}
            losses |= reading_losses(model, reading, seen, rows)
        for group in optimizer.param_groups:
            group["lr"] = design.rate(step)
        optimizer.zero_grad()
        torch.stack(list(losses.values())).sum().backward()
        nn.utils.clip_grad_norm_(weights, 1.0)
        optimizer.step()
        for name, loss in losses.items():
            sums[name] = sums.get(name, 0.0) + loss.item() / REPORT_STEPS
        if (step + 1) % REPORT_STEPS == 0:
            report(step + 1, sums)
            sums = {}
    return model.eval()


def save(model: Qwen2VLForConditionalGeneration, folder: Path) -> None:
    """Writes a checkpoint: halves on disk, float32 once loaded, as its config asks."""
    halves = {name: weight.half() for name, weight in model.state_dict().items()}
    del halves["lm_head.weight"]  # the embedding's
    model.save_pretrained(folder, state_dict=halves)
    build_processor().save_pretrained(folder)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="folder for the checkpoint")
    parser.add_argument("--seeing-steps", type=int, default=Design.seeing_steps)
    parser.add_argument("--reading-steps", type=int, default=Design.reading_steps)
    parser.add_argument("--frames", type=Path, help="file that keeps drawn clips for another run")
    arguments = parser.parse_args()

    def report(step: int, losses: dict[str, float]) -> None:
        shown = "  ".join(f"{name} {loss:.3f}" for name, loss in losses.items())
        print(f"step {step}  {shown}  {time.process_time():.0f} CPU s", flush=True)

    steps = {"seeing_steps": arguments.seeing_steps, "reading_steps": arguments.reading_steps}
    model = train(Design(**steps), arguments.frames, report)
    save(model, arguments.out)


if __name__ == "__main__":
    main()
