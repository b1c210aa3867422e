"""Writes tiny checkpoints of the published names and files, frames of 24 x 24 patches."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ..assembled_files import (
    SPECIALS,
    Clip,
    Llama,
    Shapes,
    State,
    linear,
    random_tensors,
    write_safetensors,
    write_sentences,
)

CLIP = Clip(side=48, patch=2)
RANK = 4
LLAMA = Llama(vocabulary=480)
"""The file has rows to spare after its 460 words, as the published 32,064 for 32,002."""

TEXTS = [
    "USER: Carefully watch the video and pay attention to the sequence of events. ASSISTANT:",
    "Based on your observation, does the given video entail the caption? Caption: a square jumps.",
    "What of a circle? Yes No A B C two circles",
] * 4


def text_shapes() -> Shapes:
    """LLaMA as PEFT wraps it, queries and values with a low-rank change."""
    shapes: Shapes = {}
    for name, shape in LLAMA.shapes("language_model.base_model.model.").items():
        layer = name.removesuffix(".weight")
        if layer.endswith((".q_proj", ".v_proj")):
            shapes[f"{layer}.base_layer.weight"] = shape
            shapes[f"{layer}.lora_A.default.weight"] = (RANK, LLAMA.width)
            shapes[f"{layer}.lora_B.default.weight"] = (LLAMA.width, RANK)
        else:
            shapes[name] = shape
    return shapes


def random_state() -> State:
    projector = linear("multi_modal_projector.linear_1", LLAMA.width, CLIP.width)
    projector |= linear("multi_modal_projector.linear_2", LLAMA.width, LLAMA.width)
    shapes = CLIP.shapes("vision_tower.vision_model") | projector | text_shapes()
    return random_tensors(shapes, 0.4)


def write_tokenizer(folder: Path) -> int:
    """LLaVA's own marks follow the pieces; returns the id of its mark for an image."""
    count = write_sentences(folder, TEXTS)
    marks = {**dict(enumerate(("<unk>", "<s>", "</s>"))), count: "<image>", count + 1: "<pad>"}
    flags = {"lstrip": False, "rstrip": False, "normalized": False, "single_word": False}
    added = {
        str(token): {"content": mark, **flags, "special": True} for token, mark in marks.items()
    }
    said = {**SPECIALS, "pad_token": "<pad>", "tokenizer_class": "LlamaTokenizer"}
    said["added_tokens_decoder"] = added
    (folder / "tokenizer_config.json").write_text(json.dumps(said))
    return count


def config(image: int) -> dict[str, Any]:
    vision = {**CLIP.config(), "projection_dim": 768, "vocab_size": 32000}
    text = {**LLAMA.config(), "model_type": "llama", "num_key_value_heads": LLAMA.heads}
    text["rms_norm_eps"] = 1e-5
    return {
        "architectures": ["PllavaForConditionalGeneration"],
        "model_type": "llava",
        "frame_shape": [24, 24],
        "ignore_index": -100,
        "image_token_index": image,
        "num_frames": 16,
        "pooling_method": "avg",
        "pooling_shape": [16, 8, 8],  # what its code replaces when it loads
        "projector_hidden_act": "gelu",
        "text_config": text,
        "torch_dtype": "bfloat16",
        "transformers_version": "4.37.1",
        "use_pooling": True,
        "vision_config": vision,
        "vision_feature_layer": -2,
        "vision_feature_select_strategy": "default",
    }


@pytest.fixture(scope="session")
def state() -> State:
    """The weights."""
    return random_state()


@pytest.fixture(scope="session")
def pllava(tmp_path_factory: pytest.TempPathFactory, state: State) -> Path:
    """A folder as ermu2001/pllava-7b is."""
    folder = tmp_path_factory.mktemp("checkpoints") / "pllava"
    folder.mkdir()
    image = write_tokenizer(folder)
    (folder / "config.json").write_text(json.dumps(config(image)))
    write_safetensors(folder, state)
    return folder


@pytest.fixture
def resaved(pllava: Path, tmp_path: Path, state: State) -> Callable[[State], Path]:
    """Writes the checkpoint again with other weights."""

    def write(own: State) -> Path:
        folder = tmp_path / "resaved"
        folder.mkdir()
        for name in ("config.json", "tokenizer.model", "tokenizer_config.json"):
            (folder / name).write_bytes((pllava / name).read_bytes())
        write_safetensors(folder, own)
        return folder

    return write
