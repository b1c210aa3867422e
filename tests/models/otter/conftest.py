"""Writes tiny checkpoints of the published names and files: random weights."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from ..assembled_files import (
    SPECIALS,
    Clip,
    Llama,
    Shapes,
    State,
    norm,
    random_tensors,
    write_bins,
    write_sentences,
)

CLIP = Clip(layers=2)
LATENTS, HEADS, SIZE, PLACES, PERCEIVER, EVERY = 3, 2, 5, 6, 2, 2
LAYERS = 4

TEXTS = [
    "User: What of a circle? GPT: Choose from A B C two circles. Yes No",
    "Does the video show it? a square jumps. Based on your observation",
] * 4


def looking(root: str, width: int, seen: int) -> Shapes:
    inner = HEADS * SIZE
    return {
        f"{root}.to_q.weight": (inner, width),
        f"{root}.to_kv.weight": (2 * inner, seen),
        f"{root}.to_out.weight": (width, inner),
    }


def thinking(root: str, width: int) -> Shapes:
    return {
        **norm(f"{root}.feed_forward.0", width),
        f"{root}.feed_forward.1.weight": (4 * width, width),
        f"{root}.feed_forward.3.weight": (width, 4 * width),
    }


def shapes(llama: Llama) -> Shapes:
    width = CLIP.width
    found = CLIP.shapes("vision_encoder.vision_model")
    found |= {"perceiver.latents": (LATENTS, width), "perceiver.frame_embs": (PLACES, width)}
    found |= norm("perceiver.norm", width)
    for layer in (f"perceiver.layers.{number}" for number in range(PERCEIVER)):
        found |= norm(f"{layer}.norm_media", width) | norm(f"{layer}.norm_latents", width)
        found |= looking(layer, width, width) | thinking(layer, width)
    for name, shape in llama.shapes("lang_encoder.").items():
        found[re.sub(r"(layers\.\d+)\.", r"\1.decoder_layer.", name)] = shape
    for number in range(EVERY - 1, llama.layers, EVERY):
        gated = f"lang_encoder.model.layers.{number}.gated_cross_attn_layer"
        found |= norm(f"{gated}.attn.norm", llama.width)
        found |= looking(f"{gated}.attn", llama.width, width) | thinking(gated, llama.width)
        found |= {f"{gated}.attn_gate": (1,), f"{gated}.ff_gate": (1,)}
    return found


def random_state(llama: Llama) -> State:
    state = random_tensors(shapes(llama), 0.4)
    for name in state:
        if name.endswith("_gate"):
            state[name] += 0.8
        elif name.endswith("feed_forward.0.weight"):
            state[name] += 1.0
    return state


def config(llama: Llama, **more: Any) -> dict[str, Any]:
    text = {**llama.config(), "model_type": "llama", "architectures": ["LlamaForCausalLM"]}
    return {
        "architectures": ["OtterForConditionalGeneration"],
        "model_type": "otter",
        "cross_attn_every_n_layers": EVERY,
        "max_num_frames": PLACES,
        "perceiver_layers": PERCEIVER,
        "latents": LATENTS,
        "base_words": llama.vocabulary - 4,
        "visual_heads": HEADS,
        "head_size": SIZE,
        "text_config": {**text, "rms_norm_eps": 1e-6, "pad_token_id": 0},
        "tie_word_embeddings": False,
        "torch_dtype": "float32",
        "transformers_version": "4.28.1",
        "use_media_placement_augmentation": True,
        "vision_config": CLIP.config(),
        **more,
    }


@pytest.fixture(scope="session")
def written(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, State]:
    """The folder, the LLaMA whose tokenizer it takes, and its weights."""
    root = tmp_path_factory.mktemp("checkpoints")
    words, folder = root / "llama", root / "otter"
    words.mkdir()
    folder.mkdir()
    count = write_sentences(words, TEXTS, 420)
    said = {**SPECIALS, "tokenizer_class": "LlamaTokenizer"}
    (words / "tokenizer_config.json").write_text(json.dumps(said))
    llama = Llama(vocabulary=count + 4, layers=LAYERS, context=512)
    made = config(llama)
    made["text_config"]["_name_or_path"] = str(words)
    (folder / "config.json").write_text(json.dumps(made))
    state = random_state(llama)
    write_bins(folder, state)
    return folder, words, state


@pytest.fixture(scope="session")
def otter(written: tuple[Path, Path, State]) -> Path:
    """A folder as luodian/OTTER-Video-LLaMA7B-DenseCaption is: without a tokenizer."""
    return written[0]


@pytest.fixture(scope="session")
def state(written: tuple[Path, Path, State]) -> State:
    """Its weights."""
    return written[2]
