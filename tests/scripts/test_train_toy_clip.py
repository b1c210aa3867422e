"""The tiny CLIP as shipped, and the script that trains it."""

import importlib.util
import json
import sys
from dataclasses import replace
from itertools import combinations, pairwise
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import torch
from PIL import Image
from transformers import AutoProcessor, CLIPModel

from vbench.datasets.toy.captions import chrono_caption, coref_caption, event_caption
from vbench.datasets.toy.render import render_frame
from vbench.datasets.toy.world import CHARACTERS, SCENES, VERBS, benchmark_clip, training_clip

ROOT = Path(__file__).parents[2]
CHECKPOINT = ROOT / "vbench" / "assets" / "toy_clip"


@pytest.fixture(scope="module")
def script() -> ModuleType:
    path = ROOT / "scripts" / "train_toy_clip.py"
    spec = importlib.util.spec_from_file_location("train_toy_clip", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def processor() -> AutoProcessor:
    return AutoProcessor.from_pretrained(CHECKPOINT)


def test_checkpoint_is_small_and_holds_no_code() -> None:
    files = list(CHECKPOINT.iterdir())
    assert {file.suffix for file in files} == {".json", ".safetensors"}
    assert sum(file.stat().st_size for file in files) < 6_000_000


def test_checkpoint_loads_whole() -> None:
    model, info = CLIPModel.from_pretrained(CHECKPOINT, output_loading_info=True)
    assert not any(info.values()), info
    assert not model.training
    assert {p.dtype for p in model.parameters()} == {torch.float32}


def test_checkpoint_is_of_the_scripts_design(script: ModuleType, tmp_path: Path) -> None:
    shipped = CLIPModel.from_pretrained(CHECKPOINT)
    built = script.build_model(script.Design(), len(script.build_tokenizer()))
    shapes = [{k: v.shape for k, v in m.state_dict().items()} for m in (shipped, built)]
    assert shapes[0] == shapes[1]
    script.build_processor(script.build_tokenizer()).save_pretrained(tmp_path)
    for file in tmp_path.iterdir():
        assert json.loads(file.read_text()) == json.loads((CHECKPOINT / file.name).read_text())


def test_every_caption_is_known_and_fits(processor: AutoProcessor) -> None:
    captions = set()
    for index in range(300):
        events = benchmark_clip(9, index).events
        captions |= {event_caption(event) for event in events}
        captions |= {chrono_caption(b, a) for a, b in combinations(events, 2)}
        captions |= {coref_caption(a, b) for a, b in pairwise(events)}
    # The longest there can be, twice.
    longest = replace(
        benchmark_clip(9, 0).events[0],
        scene="city",
        verb="light",
        patient="the red star",
        instrument="a lamp",
        manner="sadly",
    )
    captions.add(chrono_caption(longest, longest))
    ids = processor.tokenizer(sorted(captions))["input_ids"]
    assert max(map(len, ids)) <= processor.tokenizer.model_max_length == 48
    assert not any(processor.tokenizer.unk_token_id in row for row in ids)


def test_tokenizer_knows_what_it_does_not_know(processor: AutoProcessor) -> None:
    tokens = processor.tokenizer("In space, a dog is JUMPING.")["input_ids"]
    words = processor.tokenizer.convert_ids_to_tokens(tokens)
    start, end = "<|startoftext|>", "<|endoftext|>"
    assert words == [start, "in", "space", ",", "a", "<unk>", "is", "jumping", ".", end]


def test_training_sees_what_the_processor_makes(
    script: ModuleType, processor: AutoProcessor, monkeypatch: pytest.MonkeyPatch
) -> None:
    pictures: list[np.ndarray] = []

    def remembered(clip: object, time_s: float) -> np.ndarray:
        pictures.append(render_frame(clip, time_s))
        return pictures[-1]

    monkeypatch.setattr(script, "render_frame", remembered)
    batch = script.draw_batch(1_000_000, 4)
    images = [Image.fromarray(picture) for picture in pictures]
    expected = processor(images=images, return_tensors="pt")["pixel_values"]
    grey_level = 1 / 255 / 0.26
    assert (batch.pixels - expected).abs().max() <= 1.05 * grey_level


def test_batch_labels_are_the_facts(script: ModuleType) -> None:
    first = 1_000_000
    batch = script.draw_batch(first, 3)
    clips = [training_clip(first + k) for k in range(3)]
    events = [event for clip in clips for event in clip.events]
    assert batch.pixels.shape == (15, 3, 64, 64)
    assert [list(VERBS)[k] for k in batch.labels["verb"]] == [event.verb for event in events]
    assert [SCENES[k] for k in batch.labels["scene"]] == [event.scene for event in events]
    casts = [
        {c for c, here in zip(CHARACTERS, row, strict=True) if here} for row in batch.labels["cast"]
    ]
    assert casts == [set(clip.cast) for clip in clips for _ in clip.events]
    for caption, event in zip(batch.event_captions, events, strict=True):
        assert caption in (event_caption(event), event_caption(replace(event, manner=None)))
    assert len(batch.clip_captions) == 3


def test_two_steps_end_to_end_are_reproducible(
    script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    weights = []
    for name in ("one", "two"):
        out = tmp_path / name
        monkeypatch.setattr(sys, "argv", ["train_toy_clip.py", "--out", str(out), "--steps", "2"])
        script.main()
        weights.append((out / "model.safetensors").read_bytes())
        AutoProcessor.from_pretrained(out)
    assert weights[0] == weights[1]
    torch.manual_seed(0)
    untrained = script.build_model(script.Design(), len(script.build_tokenizer()))
    trained = CLIPModel.from_pretrained(tmp_path / "one")
    assert not torch.equal(trained.logit_scale, untrained.logit_scale)


def test_losses_reach_every_weight(script: ModuleType) -> None:
    design = script.Design()
    tokenizer = script.build_tokenizer()
    model = script.build_model(design, len(tokenizer))
    heads = script.FactHeads(design.vision_width, 16)
    losses = script.step_losses(model, heads, tokenizer, script.draw_batch(1_000_000, 2))
    assert set(losses) == {"frame", "clip", "facts"}
    torch.stack(list(losses.values())).sum().backward()
    idle = [
        name
        for module in (model, heads)
        for name, weight in module.named_parameters()
        if weight.grad is None or not weight.grad.any()
    ]
    assert not idle


def test_checkpoint_tells_agents_apart_on_unseen_clips(processor: AutoProcessor) -> None:
    # Guards against shipping an untrained or mismatched file; the figures are in docs/toy_clip.md.
    model = CLIPModel.from_pretrained(CHECKPOINT)
    right = total = 0
    for index in range(20):
        clip = training_clip(10_000_000 + index)
        images = [Image.fromarray(render_frame(clip, k + 0.5)) for k in range(10)]
        pixels = processor(images=images, return_tensors="pt")["pixel_values"]
        other = next(name for name in CHARACTERS if name not in clip.cast)
        texts = [
            event_caption(replace(event, agent=agent))
            for event in clip.events
            for agent in (event.agent, other)
        ]
        tokens = processor.tokenizer(texts, padding=True, return_tensors="pt")
        with torch.no_grad():
            frames = model.get_image_features(pixel_values=pixels).pooler_output
            captions = model.get_text_features(**tokens).pooler_output
        scores = torch.cosine_similarity(frames.mean(0), captions).view(-1, 2)
        right += int((scores[:, 0] > scores[:, 1]).sum())
        total += len(scores)
    assert right / total > 0.9
