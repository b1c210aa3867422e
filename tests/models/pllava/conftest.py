"""Writes tiny checkpoints of the published names and files, frames of 24 x 24 patches."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

State = dict[str, torch.Tensor]
Shapes = dict[str, tuple[int, ...]]

WIDTH, BETWEEN, LAYERS = 8, 12, 3
SIDE, PATCH = 48, 2
WORDS, TEXT_BETWEEN, TEXT_LAYERS, RANK = 16, 24, 2, 4
PIECES, VOCABULARY = 460, 480
"""The file has rows to spare after its words, as the published 32,064 for 32,002."""

TEXTS = [
    "USER: Carefully watch the video and pay attention to the sequence of events. ASSISTANT:",
    "Based on your observation, does the given video entail the caption? Caption: a square jumps.",
    "What of a circle? Yes No A B C two circles",
] * 4
SPECIALS = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>"}


def linear(name: str, out: int, inside: int) -> Shapes:
    return {f"{name}.weight": (out, inside), f"{name}.bias": (out,)}


def norm(name: str) -> Shapes:
    return {f"{name}.weight": (WIDTH,), f"{name}.bias": (WIDTH,)}


def vision_shapes() -> Shapes:
    root = "vision_tower.vision_model"
    shapes = {
        f"{root}.embeddings.class_embedding": (WIDTH,),
        f"{root}.embeddings.patch_embedding.weight": (WIDTH, 3, PATCH, PATCH),
        f"{root}.embeddings.position_embedding.weight": ((SIDE // PATCH) ** 2 + 1, WIDTH),
        **norm(f"{root}.pre_layrnorm"),
        **norm(f"{root}.post_layernorm"),
    }
    for layer in (f"{root}.encoder.layers.{number}" for number in range(LAYERS)):
        for name in ("q_proj", "k_proj", "v_proj", "out_proj"):
            shapes |= linear(f"{layer}.self_attn.{name}", WIDTH, WIDTH)
        shapes |= norm(f"{layer}.layer_norm1") | norm(f"{layer}.layer_norm2")
        shapes |= linear(f"{layer}.mlp.fc1", BETWEEN, WIDTH)
        shapes |= linear(f"{layer}.mlp.fc2", WIDTH, BETWEEN)
    return shapes


def text_shapes() -> Shapes:
    """LLaMA as PEFT wraps it, queries and values with a low-rank change."""
    root = "language_model.base_model.model"
    shapes: Shapes = {
        f"{root}.model.embed_tokens.weight": (VOCABULARY, WORDS),
        f"{root}.model.norm.weight": (WORDS,),
        f"{root}.lm_head.weight": (VOCABULARY, WORDS),
    }
    for layer in (f"{root}.model.layers.{number}" for number in range(TEXT_LAYERS)):
        for name in ("q", "v"):
            shapes[f"{layer}.self_attn.{name}_proj.base_layer.weight"] = (WORDS, WORDS)
            shapes[f"{layer}.self_attn.{name}_proj.lora_A.default.weight"] = (RANK, WORDS)
            shapes[f"{layer}.self_attn.{name}_proj.lora_B.default.weight"] = (WORDS, RANK)
        for name in ("k", "o"):
            shapes[f"{layer}.self_attn.{name}_proj.weight"] = (WORDS, WORDS)
        for name in ("gate", "up"):
            shapes[f"{layer}.mlp.{name}_proj.weight"] = (TEXT_BETWEEN, WORDS)
        shapes[f"{layer}.mlp.down_proj.weight"] = (WORDS, TEXT_BETWEEN)
        for name in ("input_layernorm", "post_attention_layernorm"):
            shapes[f"{layer}.{name}.weight"] = (WORDS,)
    return shapes


def random_state() -> State:
    projector = linear("multi_modal_projector.linear_1", WORDS, WIDTH)
    projector |= linear("multi_modal_projector.linear_2", WORDS, WORDS)
    made = torch.Generator().manual_seed(3)
    state = {}
    for name, shape in (vision_shapes() | projector | text_shapes()).items():
        centre = 1.0 if re.search(r"norm\w*\.weight$", name) else 0.0
        state[name] = centre + 0.4 * torch.randn(shape, generator=made)
    state["language_model.base_model.model.lm_head.weight"] *= 5  # answers differ as if trained
    return state


def write_tokenizer(folder: Path) -> None:
    """Trains a SentencePiece model with LLaMA's settings; LLaVA's own marks follow its pieces."""
    import sentencepiece

    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(TEXTS), model_prefix=str(folder / "tokenizer"), vocab_size=PIECES,
        model_type="bpe", byte_fallback=True, normalization_rule_name="identity",
        remove_extra_whitespaces=False, hard_vocab_limit=False, minloglevel=2,
    )  # fmt: skip
    (folder / "tokenizer.vocab").unlink()
    model = sentencepiece.SentencePieceProcessor(model_file=str(folder / "tokenizer.model"))
    count = model.get_piece_size()
    marks = {**dict(enumerate(("<unk>", "<s>", "</s>"))), count: "<image>", count + 1: "<pad>"}
    flags = {"lstrip": False, "rstrip": False, "normalized": False, "single_word": False}
    added = {
        str(token): {"content": mark, **flags, "special": True} for token, mark in marks.items()
    }
    said = {**SPECIALS, "tokenizer_class": "LlamaTokenizer", "added_tokens_decoder": added}
    (folder / "tokenizer_config.json").write_text(json.dumps(said))


def config(image: int) -> dict[str, Any]:
    vision = {"hidden_size": WIDTH, "intermediate_size": BETWEEN, "num_hidden_layers": LAYERS}
    vision |= {"num_attention_heads": 2, "image_size": SIDE, "patch_size": PATCH}
    vision |= {"model_type": "clip_vision_model", "projection_dim": 768, "vocab_size": 32000}
    text = {"hidden_size": WORDS, "intermediate_size": TEXT_BETWEEN, "model_type": "llama"}
    text |= {"num_hidden_layers": TEXT_LAYERS, "num_attention_heads": 2, "vocab_size": VOCABULARY}
    text |= {"num_key_value_heads": 2, "max_position_embeddings": 4096, "rms_norm_eps": 1e-5}
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


def write_shards(folder: Path, state: State) -> None:
    from safetensors.torch import save_file

    names, places = sorted(state), {}
    for number, part in enumerate((names[::2], names[1::2]), start=1):
        file = f"model-0000{number}-of-00002.safetensors"
        save_file({name: state[name] for name in part}, folder / file, metadata={"format": "pt"})
        places |= dict.fromkeys(part, file)
    index = {"metadata": {"total_size": 0}, "weight_map": places}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))


@pytest.fixture(scope="session")
def state() -> State:
    """The weights."""
    return random_state()


@pytest.fixture(scope="session")
def pllava(tmp_path_factory: pytest.TempPathFactory, state: State) -> Path:
    """A folder as ermu2001/pllava-7b is."""
    folder = tmp_path_factory.mktemp("checkpoints") / "pllava"
    folder.mkdir()
    write_tokenizer(folder)
    image = next(
        int(token)
        for token, mark in json.loads((folder / "tokenizer_config.json").read_text())[
            "added_tokens_decoder"
        ].items()
        if mark["content"] == "<image>"
    )
    (folder / "config.json").write_text(json.dumps(config(image)))
    write_shards(folder, state)
    return folder


@pytest.fixture
def resaved(pllava: Path, tmp_path: Path, state: State) -> Callable[[State], Path]:
    """Writes the checkpoint again with other weights."""

    def write(own: State) -> Path:
        folder = tmp_path / "resaved"
        folder.mkdir()
        for name in ("config.json", "tokenizer.model", "tokenizer_config.json"):
            (folder / name).write_bytes((pllava / name).read_bytes())
        write_shards(folder, own)
        return folder

    return write
