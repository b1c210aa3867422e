"""Writes tiny checkpoints of the published names, shapes and files: random weights."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from ..assembled_files import (
    SPECIALS,
    Llama,
    State,
    linear,
    norm,
    random_tensors,
    write_bins,
    write_sentences,
)

QUERIES, WIDTH, WORDS, LAYERS = 4, 16, 32, 2
SIDE, PATCH = 16, 4
RANK = 3
TOKENS = (SIDE // PATCH) ** 2 + 1
GATED = 256
"""Two thirds of 24, rounded up to a multiple of 256."""

TEXTS = [
    "The following is a conversation between a curious human and AI assistant.",
    "The assistant gives helpful, detailed, and polite answers to the user's questions.",
    "Human: AI: Based on your observation, does the given video entail the caption?",
    'Does this video entail the description: "a circle"? Caption: a square jumps. Yes No A B C',
] * 4

PIXELS = {  # of the published checkpoint, in the format of 2023
    "crop_size": 224,
    "do_center_crop": True,
    "do_normalize": True,
    "do_resize": True,
    "feature_extractor_type": "CLIPFeatureExtractor",
    "image_mean": [0.48145466, 0.4578275, 0.40821073],
    "image_std": [0.26862954, 0.26130258, 0.27577711],
    "resample": 3,
    "size": 224,
}


def llama(vocabulary: int) -> Llama:
    return Llama(vocabulary=vocabulary, width=WORDS, between=48, heads=4, context=512)


def vision_shapes() -> dict[str, tuple[int, ...]]:
    root = "vision_model"
    shapes = {
        f"{root}.embeddings.cls_token": (1, 1, WIDTH),
        f"{root}.embeddings.position_embedding": (1, TOKENS, WIDTH),
        f"{root}.embeddings.patch_embed.weight": (WIDTH, 3, PATCH, PATCH),
        **norm(f"{root}.embeddings.pre_layernorm", WIDTH),
        **norm(f"{root}.post_layernorm", WIDTH),
    }
    for layer in (f"{root}.encoder.layers.{number}" for number in range(LAYERS)):
        half = WIDTH // 2
        shapes |= norm(f"{layer}.temporal.ln", WIDTH)
        shapes[f"{layer}.temporal.down_proj.weight"] = (half, WIDTH, 1, 1, 1)
        shapes[f"{layer}.temporal.down_proj.bias"] = (half,)
        shapes[f"{layer}.temporal.conv.weight"] = (half, 1, 3, 1, 1)
        shapes[f"{layer}.temporal.conv.bias"] = (half,)
        shapes[f"{layer}.temporal.up_proj.weight"] = (WIDTH, half, 1, 1, 1)
        shapes[f"{layer}.temporal.up_proj.bias"] = (WIDTH,)
        shapes |= linear(f"{layer}.self_attn.query_key_value", 3 * WIDTH, WIDTH)
        shapes |= linear(f"{layer}.self_attn.dense", WIDTH, WIDTH)
        shapes |= norm(f"{layer}.input_layernorm", WIDTH) | norm(
            f"{layer}.post_attention_layernorm", WIDTH
        )
        shapes |= linear(f"{layer}.mlp.fc1", 32, WIDTH) | linear(f"{layer}.mlp.fc2", WIDTH, 32)
    return shapes


def abstractor_shapes() -> dict[str, tuple[int, ...]]:
    shapes = {"abstractor.vit_eos": (1, 1, WORDS)}
    shapes |= linear("abstractor.visual_fc", WORDS, WIDTH)
    shapes |= linear("abstractor.temporal_visual_fc", WORDS, WIDTH)
    for number in range(LAYERS):
        layer = f"abstractor.encoder.layers.{number}.crossattention"
        for name in ("query", "key", "value"):
            shapes |= linear(f"{layer}.attention.{name}", WIDTH, WIDTH)
        shapes |= linear(f"{layer}.output.out_proj", WIDTH, WIDTH)
        shapes |= linear(f"{layer}.output.mlp.w1", GATED, WIDTH)
        shapes |= linear(f"{layer}.output.mlp.w2", WIDTH, GATED)
        shapes |= linear(f"{layer}.output.mlp.w3", GATED, WIDTH)
        shapes |= norm(f"{layer}.output.mlp.ffn_ln", GATED) | norm(f"{layer}.output.norm2", WIDTH)
        shapes |= norm(f"{layer}.norm1", WIDTH) | norm(f"{layer}.normk", WIDTH)
    return shapes


def random_state(vocabulary: int) -> State:
    queries = {"query_tokens": (1, QUERIES, WIDTH), "temporal_query_tokens": (1, QUERIES, WIDTH)}
    text = llama(vocabulary).shapes("language_model.")
    for number in range(llama(vocabulary).layers):  # as files of 2023 hold it
        text[f"language_model.model.layers.{number}.self_attn.rotary_emb.inv_freq"] = (4,)
    return random_tensors(queries | vision_shapes() | abstractor_shapes() | text, 0.3)


def write_tokenizer(folder: Path) -> int:
    said = {**SPECIALS, "tokenizer_class": "LlamaTokenizer", "add_bos_token": True}
    (folder / "tokenizer_config.json").write_text(json.dumps(said))
    return write_sentences(folder, TEXTS)


def config(vocabulary: int) -> dict[str, Any]:
    old = {"max_length": 20, "do_sample": False, "top_k": 50, "return_dict": True}
    heads = {"hidden_size": WIDTH, "num_hidden_layers": LAYERS, "num_attention_heads": 2}
    vision = {"intermediate_size": 32, "image_size": SIDE, "patch_size": PATCH}
    reader = {"intermediate_size": 24, "encoder_hidden_size": WIDTH}
    text = {**llama(vocabulary).config(), "pad_token_id": 2}
    return {
        "architectures": ["MplugOwlForConditionalGeneration"],
        "model_type": "mplug-owl",
        "num_query_tokens": QUERIES,
        "torch_dtype": "bfloat16",
        "transformers_version": "4.28.1",
        "vision_config": {**old, **heads, **vision, "model_type": "mplug_owl_vision_model"},
        "visual_abstractor_config": {
            **old, **heads, **reader, "model_type": "mplug_owl_visual_abstract",
        },
        "text_config": {**old, **text, "model_type": "llama", "rms_norm_eps": 1e-6},
    }  # fmt: skip


@pytest.fixture(scope="session")
def owl(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as MAGAer13/mplug-owl-llama-7b-video is."""
    folder = tmp_path_factory.mktemp("checkpoints") / "owl"
    folder.mkdir()
    vocabulary = write_tokenizer(folder)
    (folder / "config.json").write_text(json.dumps(config(vocabulary)))
    (folder / "preprocessor_config.json").write_text(json.dumps(PIXELS))
    write_bins(folder, random_state(vocabulary))
    return folder


@pytest.fixture(scope="session")
def state(owl: Path) -> State:
    """Its weights."""
    found: State = {}
    for file in owl.glob("*.bin"):
        found |= torch.load(file, weights_only=True)
    return found


@pytest.fixture
def resaved(owl: Path, tmp_path: Path, state: State) -> Callable[[Callable[[State], Any]], Path]:
    """Writes the checkpoint again with other weights."""

    def write(edit: Callable[[State], Any]) -> Path:
        folder = tmp_path / "resaved"
        folder.mkdir()
        for file in owl.glob("*.json"):
            (folder / file.name).write_bytes(file.read_bytes())
        (folder / "tokenizer.model").write_bytes((owl / "tokenizer.model").read_bytes())
        own = dict(state)
        edit(own)
        write_bins(folder, own)
        return folder

    return write


@pytest.fixture(scope="session")
def low_rank(state: State) -> State:
    """By layer its A and B, for every linear layer inside LLaMA's blocks."""
    made = torch.Generator().manual_seed(5)
    found = {}
    for name, weight in state.items():
        if name.startswith("language_model.") and "_proj." in name:
            layer = name.removesuffix(".weight")
            out, inside = weight.shape
            found[f"{layer}.lora_A"] = 0.3 * torch.randn(RANK, inside, generator=made)
            found[f"{layer}.lora_B"] = 0.3 * torch.randn(out, RANK, generator=made)
    return found


@pytest.fixture(scope="session")
def owl_con(state: State, low_rank: State, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as videocon/owl-con is: the wrapped model's whole state dict in one file."""
    folder = tmp_path_factory.mktemp("checkpoints") / "owl_con"
    folder.mkdir()
    wrapped = {f"base_model.model.{name}": value for name, value in state.items()}
    for name, value in low_rank.items():
        wrapped[f"base_model.model.{name}.default.weight"] = value
    torch.save(wrapped, folder / "pytorch_model.bin")
    return folder
