"""Writes tiny checkpoints of the published names and files: LLaVA's, what was tuned, and CLIP."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch

from ..assembled_files import Clip, Llama, State, linear, random_tensors, write_bins
from ..llava_files import write_clip, write_words

CLIP = Clip()
LLAMA = Llama(vocabulary=462, context=2048)
"""Of the base: 459 words, and LLaVA's three marks."""
TUNED_ROWS = 465

TEXTS = [
    "You are Video-ChatGPT, a large vision-language assistant. USER: What jumps? ASSISTANT:",
    "Follow the instructions carefully and explain your answers in detail based on the video.",
    "What of a circle? Yes No A B C two circles. Answer with the letter of the right option.",
] * 4


@dataclass(frozen=True)
class Places:
    """Where the parts lie."""

    base: Path
    tuned: Path
    words: list[str]
    """That name both on a command line."""


def base_state() -> State:
    state = random_tensors(LLAMA.shapes() | linear("model.mm_projector", 16, 8), 0.4)
    state["model.layers.0.self_attn.rotary_emb.inv_freq"] = torch.ones(4)
    return state


def tuned_state() -> State:
    shapes = {"model.embed_tokens.weight": (TUNED_ROWS, 16)}
    return random_tensors(shapes | linear("model.mm_projector", 16, 8), 0.4, seed=4)


def config(tower: Path) -> dict[str, object]:
    return {
        **LLAMA.config(),
        "architectures": ["LlavaLlamaForCausalLM"],
        "model_type": "llava",
        "mm_vision_tower": str(tower),
        "mm_hidden_size": CLIP.width,
        "mm_vision_select_layer": -2,
        "use_mm_proj": True,
        "mm_use_im_start_end": True,
        "max_sequence_length": 2048,
        "torch_dtype": "float16",
        "transformers_version": "4.28.0.dev0",
        "rms_norm_eps": 1e-6,
        "pad_token_id": 0,
    }


@pytest.fixture(scope="session")
def tower(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as openai/clip-vit-large-patch14 is."""
    return write_clip(tmp_path_factory.mktemp("hub") / "clip", CLIP)


@pytest.fixture(scope="session")
def chatgpt(tmp_path_factory: pytest.TempPathFactory, tower: Path) -> Places:
    """Folders as mmaaz60/LLaVA-7B-Lightening-v1-1 and MBZUAI/Video-ChatGPT-7B are."""
    folder = tmp_path_factory.mktemp("checkpoints")
    base, tuned = folder / "llava", folder / "video_chatgpt"
    base.mkdir()
    tuned.mkdir()
    write_words(base, TEXTS, 459, ("<im_patch>", "<im_start>", "<im_end>"))
    (base / "config.json").write_text(json.dumps(config(tower)))
    write_bins(base, base_state())
    torch.save(tuned_state(), tuned / "video_chatgpt-7B.bin")
    return Places(base, tuned, [f"model.checkpoint={base}", f"model.adapter.tuned={tuned}"])


@pytest.fixture(scope="session")
def state(chatgpt: Places, tower: Path) -> State:
    """All weights as they count, under the names of the files, CLIP's as it names them."""
    from safetensors.torch import load_file

    return base_state() | tuned_state() | load_file(tower / "model.safetensors")


@pytest.fixture
def retuned(chatgpt: Places, tmp_path: Path) -> Callable[[State], Path]:
    """Writes a folder of other tuned weights."""

    def write(own: State) -> Path:
        folder = tmp_path / "retuned"
        folder.mkdir()
        torch.save(own, folder / "video_chatgpt-7B.bin")
        return folder

    return write
