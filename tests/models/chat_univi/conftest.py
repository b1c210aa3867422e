"""Writes a tiny checkpoint of the published names and files, and its CLIP."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ..assembled_files import Clip, Llama, State, linear, random_tensors, write_bins
from ..llava_files import write_clip, write_words

CLIP = Clip()
LLAMA = Llama(vocabulary=460)
RATES = {"spatial_cluster_rate0": 6, "spatial_cluster_rate1": 4, "spatial_cluster_rate2": 2}

TEXTS = [
    "A chat between a curious user and an artificial intelligence assistant. The assistant gives",
    "helpful, detailed, and polite answers to the user's questions. USER: What jumps? ASSISTANT:",
    "What of a circle? Yes No A B C two circles. Answer with the letter of the right option.",
] * 4


def config(tower: Path) -> dict[str, object]:
    return {
        **LLAMA.config(),
        "architectures": ["ChatUniViLlamaForCausalLM"],
        "model_type": "ChatUniVi",
        "config": {"use_cluster": True, "freeze": False, "temporal_cluster_rate": 0.25, **RATES},
        "mm_vision_tower": str(tower),
        "mm_hidden_size": CLIP.width,
        "mm_vision_select_layer": -2,
        "mm_use_im_start_end": False,
        "mm_use_im_patch_token": False,
        "use_mm_proj": True,
        "rms_norm_eps": 1e-5,
        "transformers_version": "4.31.0",
    }


@pytest.fixture(scope="session")
def tower(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as openai/clip-vit-large-patch14 is."""
    return write_clip(tmp_path_factory.mktemp("hub") / "clip", CLIP)


@pytest.fixture(scope="session")
def own_state() -> State:
    """The language model's file, CLIP's weights that training left there among them."""
    state = random_tensors(LLAMA.shapes() | linear("model.mm_projector", 16, 8), 0.4)
    left = random_tensors(CLIP.shapes("model.vision_tower.vision_tower.vision_model"), 0.1)
    return state | left


@pytest.fixture(scope="session")
def univi(tmp_path_factory: pytest.TempPathFactory, tower: Path, own_state: State) -> Path:
    """A folder as Chat-UniVi/Chat-UniVi is."""
    folder = tmp_path_factory.mktemp("checkpoints") / "univi"
    folder.mkdir()
    write_words(folder, TEXTS, 460)
    (folder / "config.json").write_text(json.dumps(config(tower)))
    write_bins(folder, own_state)
    return folder


@pytest.fixture(scope="session")
def state(own_state: State, tower: Path) -> State:
    """All weights as they count, CLIP's as its own file names them."""
    from safetensors.torch import load_file

    return own_state | load_file(tower / "model.safetensors")
