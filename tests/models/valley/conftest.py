"""Writes tiny checkpoints of the published names and files, of each way to pool."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from ..assembled_files import Clip, Llama, Shapes, State, linear, norm, random_tensors, write_bins
from ..llava_files import write_clip, write_words

CLIP = Clip()
MARKS = ("<im_patch>", "<vi_frame>", "<im_start>", "<im_end>", "<vi_start>", "<vi_end>")
PIECES = 460
LLAMA = Llama(vocabulary=PIECES + len(MARKS), context=2048)

TEXTS = [
    "You are Valley, a large language and vision assistant trained by ByteDance. ### Human: Why?",
    "Follow the instructions carefully and explain your answers in detail. ### Assistant: two",
    "What of a circle? Yes No A B C two circles. Answer with the letter of the right option.",
] * 4


def encoder_layer(root: str) -> Shapes:
    return {
        f"{root}.self_attn.in_proj_weight": (48, 16),
        f"{root}.self_attn.in_proj_bias": (48,),
        **linear(f"{root}.self_attn.out_proj", 16, 16),
        **linear(f"{root}.linear1", 2048, 16),
        **linear(f"{root}.linear2", 16, 2048),
        **norm(f"{root}.norm1", 16),
        **norm(f"{root}.norm2", 16),
    }


OF_POOLING: dict[str, Shapes] = {
    "mean": {},
    "importance": linear("model.pooling_layer", 1, 16 * 16),
    "delta": encoder_layer("model.transforemr_adding_layer")
    | encoder_layer("model.transformer_delta_encoder.layers.0")
    | {"model.position_matrix": (2048, 16)},
}


def random_state(pooling: str) -> State:
    tower = CLIP.shapes("model.vision_tower.vision_model")
    shapes = LLAMA.shapes() | linear("model.mm_projector", 16, 8) | tower | OF_POOLING[pooling]
    state = random_tensors(shapes, 0.4)
    state["model.vision_tower.vision_model.embeddings.position_ids"] = torch.arange(17)[None]
    return state


@pytest.fixture(scope="session")
def tower(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as openai/clip-vit-large-patch14 is: its sizes count, its weights do not."""
    return write_clip(tmp_path_factory.mktemp("hub") / "clip", CLIP)


@pytest.fixture(scope="session")
def valley(tmp_path_factory: pytest.TempPathFactory, tower: Path) -> Callable[[str], Path]:
    """A folder as luoruipu1/Valley2-7b is, by its way to pool."""
    root = tmp_path_factory.mktemp("checkpoints")

    def write(pooling: str) -> Path:
        folder = root / pooling
        if folder.exists():
            return folder
        folder.mkdir()
        write_words(folder, TEXTS, PIECES, MARKS)
        said = {
            **LLAMA.config(),
            "architectures": ["ValleyLlamaForCausalLM"],
            "model_type": "valley",
            "mm_vision_tower": str(tower),
            "mm_hidden_size": CLIP.width,
            "mm_vision_select_layer": -2,
            "use_mm_proj": True,
            "use_patch_importance_pooling": pooling == "importance",
            "use_delta_transformer": pooling == "delta",
            "rms_norm_eps": 1e-5,
        }
        (folder / "config.json").write_text(json.dumps(said))
        write_bins(folder, random_state(pooling))
        return folder

    return write
