"""Trains the tiny CLIP that ships with the toy world, from scratch, on one CPU core.

    OMP_NUM_THREADS=1 python scripts/train_toy_clip.py --out vbench/assets/toy_clip

The number of steps and every seed are fixed: what the clock says changes nothing. Each training
clip is drawn once, from the training namespace only. docs/toy_clip.md has the reasons and figures.
"""

from __future__ import annotations

import argparse
import math
import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from PIL import Image
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
from torch import Tensor, nn
from transformers import (
    CLIPConfig,
    CLIPImageProcessor,
    CLIPModel,
    CLIPProcessor,
    PreTrainedTokenizerFast,
)
from transformers.image_utils import OPENAI_CLIP_MEAN, OPENAI_CLIP_STD

from vbench.datasets.toy import captions
from vbench.datasets.toy.render import FPS, render_frame
from vbench.datasets.toy.world import (
    CHARACTERS,
    EVENT_S,
    EVENTS_PER_CLIP,
    MANNER_GROUPS,
    MANNERS,
    SCENES,
    VERBS,
    ToyClip,
    ToyEvent,
    training_clip,
)

IMAGE_SIZE = 64
MAX_TOKENS = 48
SPECIAL = ("<pad>", "<|startoftext|>", "<unk>", "<|endoftext|>")
EMOTIONS = (None, *MANNER_GROUPS["emotion"])


@dataclass(frozen=True)
class Design:
    """Everything that decides the weights."""

    steps: int = 1800
    schedule_steps: int = 3600
    """Where the learning rate would reach 0. Stopping half-way leaves a model that knows actions
    well and who does them hardly: see docs/toy_clip.md."""
    clips_per_step: int = 16
    learning_rate: float = 1.5e-3
    weight_decay: float = 0.05
    warmup_steps: int = 60
    patch_size: int = 16
    vision_width: int = 160
    vision_layers: int = 4
    text_width: int = 96
    text_layers: int = 2
    projection: int = 128
    seed: int = 0


@dataclass(frozen=True)
class Batch:
    """One step's pictures, captions and labels; c clips of e events each, n = c * e frames."""

    pixels: Tensor
    """(n, 3, h, w), one moment of each event."""
    event_captions: list[str]
    """n captions, one for each frame."""
    clip_captions: list[str]
    """c captions of one or two events of the clip."""
    labels: Mapping[str, Tensor]
    """`cast` (n, characters) 0 or 1; `verb`, `scene`, `emotion` (n,) indices."""


def build_tokenizer() -> PreTrainedTokenizerFast:
    """Returns a tokenizer of whole words, every word of the toy world's captions in it."""
    phrases = [*captions.SCENE_PHRASES.values(), *captions.ACTION_PHRASES.values()]
    fillers = [*CHARACTERS, *MANNERS, "upwards downwards to the left to the right a ball a lamp"]
    text = " ".join([*phrases, *fillers, "first then , . the person who is also the one"]).lower()
    words = [*SPECIAL, *sorted({word for word in text.split() if "{" not in word})]
    vocabulary = {word: k for k, word in enumerate(words)}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token=SPECIAL[2]))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    pad, start, unknown, end = SPECIAL
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{start} $A {end}",
        special_tokens=[(word, SPECIAL.index(word)) for word in (start, end)],
    )
    names = {"pad_token": pad, "bos_token": start, "unk_token": unknown, "eos_token": end}
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_max_length=MAX_TOKENS, **names)


def build_model(design: Design, vocabulary: int) -> CLIPModel:
    """Returns an untrained CLIP of about a million weights."""
    shared = {"num_attention_heads": 4, "projection_dim": design.projection, "hidden_act": "gelu"}
    text = {
        "vocab_size": vocabulary,
        "hidden_size": design.text_width,
        "intermediate_size": 2 * design.text_width,
        "num_hidden_layers": design.text_layers,
        "max_position_embeddings": MAX_TOKENS,
        "pad_token_id": SPECIAL.index("<pad>"),
        "bos_token_id": SPECIAL.index("<|startoftext|>"),
        "eos_token_id": SPECIAL.index("<|endoftext|>"),
    }
    vision = {
        "image_size": IMAGE_SIZE,
        "patch_size": design.patch_size,
        "hidden_size": design.vision_width,
        "intermediate_size": 2 * design.vision_width,
        "num_hidden_layers": design.vision_layers,
    }
    config = CLIPConfig(
        text_config=text | shared,
        vision_config=vision | shared,
        projection_dim=design.projection,
        logit_scale_init_value=math.log(10),
    )
    return CLIPModel(config)


def build_processor(tokenizer: PreTrainedTokenizerFast) -> CLIPProcessor:
    """Returns the processor whose resize and normalisation `draw_batch` repeats."""
    images = CLIPImageProcessor(
        size={"shortest_edge": IMAGE_SIZE},
        crop_size={"height": IMAGE_SIZE, "width": IMAGE_SIZE},
        resample=Image.Resampling.BICUBIC,
    )
    return CLIPProcessor(image_processor=images, tokenizer=tokenizer)


def draw_batch(first: int, count: int) -> Batch:
    """Draws training clips `first` to `first + count - 1`, a random frame of each event."""
    rng = random.Random(f"train_toy_clip/{first}")
    clips = [training_clip(first + k) for k in range(count)]
    events = [event for clip in clips for event in clip.events]
    frames = [_frame(clip, event, rng) for clip in clips for event in clip.events]
    mean, std = (torch.tensor(v).view(3, 1, 1) for v in (OPENAI_CLIP_MEAN, OPENAI_CLIP_STD))
    pixels = torch.from_numpy(np.stack(frames)).permute(0, 3, 1, 2) / 255
    cast = [[float(c in clip.cast) for c in CHARACTERS] for clip in clips for _ in clip.events]
    emotions = [e.manner if e.manner in EMOTIONS else None for e in events]
    return Batch(
        pixels=(pixels - mean) / std,
        event_captions=[captions.event_caption(_vaguer(event, rng)) for event in events],
        clip_captions=[_clip_caption(clip, rng) for clip in clips],
        labels={
            "cast": torch.tensor(cast),
            "verb": torch.tensor([list(VERBS).index(e.verb) for e in events]),
            "scene": torch.tensor([SCENES.index(e.scene) for e in events]),
            "emotion": torch.tensor([EMOTIONS.index(e) for e in emotions]),
        },
    )


def _frame(clip: ToyClip, event: ToyEvent, rng: random.Random) -> np.ndarray:
    moment = event.index * EVENT_S + rng.randrange(round(EVENT_S * FPS)) / FPS
    picture = Image.fromarray(render_frame(clip, moment))
    return np.asarray(picture.resize((IMAGE_SIZE, IMAGE_SIZE), Image.Resampling.BICUBIC))


def _vaguer(event: ToyEvent, rng: random.Random) -> ToyEvent:
    """Leaves out the manner of one event in five: a caption need not say it all."""
    return replace(event, manner=None) if rng.random() < 0.2 else event


def _clip_caption(clip: ToyClip, rng: random.Random) -> str:
    """Returns one of the clip's true captions: of one event, of two in order, or of one agent."""
    kind = rng.random()
    pairs = list(combinations(clip.events, 2))
    if kind < 1 / 3:
        # Five events and three agents: there is a pair.
        pair = rng.choice([(a, b) for a, b in pairs if a.agent == b.agent])
        return captions.coref_caption(*pair)
    if kind < 2 / 3:
        return captions.chrono_caption(*rng.choice(pairs))
    return captions.event_caption(rng.choice(clip.events))


class FactHeads(nn.Module):
    """Reads facts off the vision tower while training; not saved.

    The contrast alone takes long to find the small marks that tell verbs apart. Who does what is
    not among the facts: a frame's cast is, its agent is not.
    """

    def __init__(self, width: int, tokens: int) -> None:
        super().__init__()
        facts = {"cast": CHARACTERS, "verb": VERBS, "scene": SCENES, "emotion": EMOTIONS}
        sizes = {name: len(values) for name, values in facts.items()}
        self.pooled = nn.ModuleDict({k: nn.Linear(width, n) for k, n in sizes.items()})
        self.patches = nn.ModuleDict({k: nn.Linear(width * tokens, n) for k, n in sizes.items()})

    def forward(self, pooled: Tensor, patches: Tensor, labels: Mapping[str, Tensor]) -> Tensor:
        """Returns the summed loss over facts, pooled (n, d) and patch (n, t, d) tokens."""
        losses = []
        for name, target in labels.items():
            for heads, features in ((self.pooled, pooled), (self.patches, patches.flatten(1))):
                logits = heads[name](features)
                if name == "cast":
                    losses.append(3 * F.binary_cross_entropy_with_logits(logits, target))
                else:
                    losses.append(F.cross_entropy(logits, target))
        return torch.stack(losses).sum() / 2


def contrast(images: Tensor, texts: Tensor, scale: Tensor) -> Tensor:
    """Returns the symmetric InfoNCE of image and text embeddings (n, d), row i matching row i."""
    logits = scale * F.normalize(images, dim=-1) @ F.normalize(texts, dim=-1).T
    target = torch.arange(len(logits))
    return (F.cross_entropy(logits, target) + F.cross_entropy(logits.T, target)) / 2


def step_losses(
    model: CLIPModel, heads: FactHeads, tokenizer: PreTrainedTokenizerFast, batch: Batch
) -> dict[str, Tensor]:
    """Returns the three losses of a batch."""
    n, said = len(batch.event_captions), batch.event_captions + batch.clip_captions
    tokens = tokenizer(said, padding=True, return_tensors="pt")
    texts = model.get_text_features(**tokens).pooler_output
    vision = model.vision_model(pixel_values=batch.pixels)
    frames = model.visual_projection(vision.pooler_output)
    clips = frames.unflatten(0, (-1, EVENTS_PER_CLIP)).mean(1)
    scale = model.logit_scale.exp().clamp(max=60)
    return {
        "frame": contrast(frames, texts[:n], scale),
        "clip": 0.5 * contrast(clips, texts[n:], scale),
        "facts": heads(vision.pooler_output, vision.last_hidden_state[:, 1:], batch.labels),
    }


def train(design: Design, report: Callable[[int, dict[str, float]], None]) -> CLIPModel:
    """Trains a model; calls `report` with the mean losses since the last call every 100 steps."""
    torch.manual_seed(design.seed)
    torch.set_num_threads(1)
    tokenizer = build_tokenizer()
    model = build_model(design, len(tokenizer)).train()
    heads = FactHeads(design.vision_width, (IMAGE_SIZE // design.patch_size) ** 2)
    weights = [*model.parameters(), *heads.parameters()]
    optimizer = torch.optim.AdamW(
        weights, lr=design.learning_rate, betas=(0.9, 0.98), weight_decay=design.weight_decay
    )
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, partial(_rate, design))
    sums: dict[str, float] = {}
    for step in range(1, design.steps + 1):
        batch = draw_batch((step - 1) * design.clips_per_step, design.clips_per_step)
        losses = step_losses(model, heads, tokenizer, batch)
        optimizer.zero_grad()
        torch.stack(list(losses.values())).sum().backward()
        nn.utils.clip_grad_norm_(weights, 1.0)
        optimizer.step()
        schedule.step()
        for name, loss in losses.items():
            sums[name] = sums.get(name, 0.0) + loss.item() / 100
        if step % 100 == 0:
            report(step, sums)
            sums = {}
    return model.eval()


def _rate(design: Design, step: int) -> float:
    """Returns the share of the learning rate: a linear warm-up times a cosine."""
    cosine = (1 + math.cos(math.pi * step / design.schedule_steps)) / 2
    return min(1.0, (step + 1) / design.warmup_steps) * cosine


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="folder for the checkpoint")
    parser.add_argument("--steps", type=int, default=Design.steps)
    arguments = parser.parse_args()

    def report(step: int, losses: dict[str, float]) -> None:
        shown = "  ".join(f"{name} {loss:.3f}" for name, loss in losses.items())
        print(f"step {step}  {shown}  {time.process_time():.0f} CPU s", flush=True)

    model = train(Design(steps=arguments.steps), report)
    model.save_pretrained(arguments.out)
    build_processor(build_tokenizer()).save_pretrained(arguments.out)


if __name__ == "__main__":
    main()
