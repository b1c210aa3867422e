"""Writes a tiny folder of the published files: LLaMA's, LAVIS's two and the authors' own."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from ..assembled_files import (
    Llama,
    Shapes,
    State,
    linear,
    norm,
    random_tensors,
    write_safetensors,
    write_vicuna,
)
from ..lavis_files import Eva, QFormer, write_lavis

EVA = Eva(layers=3)
FRAME = QFormer(reads=EVA.width)
QUERIES, EXTRA, BLOCKS = 3, 4, 2

TEXTS = [
    "Human: <Video></Video> The video contains 8 frames sampled at 0.0, 1.2 seconds. Assistant:",
    "What of a circle? Choose from A B C two circles. Yes No 0.25 a square jumps ### # ##",
] * 4


def block_shapes(name: str) -> Shapes:
    width = EVA.width
    return {
        f"{name}.dpe.weight": (width, 1, 3, 3, 3),
        f"{name}.dpe.bias": (width,),
        f"{name}.attn.in_proj_weight": (3 * width, width),
        f"{name}.attn.in_proj_bias": (3 * width,),
        **linear(f"{name}.attn.out_proj", width, width),
        **norm(f"{name}.ln_1", width),
        **norm(f"{name}.ln_2", width),
        **norm(f"{name}.ln_3", width),
        **linear(f"{name}.mlp.c_fc", EVA.between, width),
        **linear(f"{name}.mlp.c_proj", width, EVA.between),
    }


def own_state(llama: Llama) -> State:
    """What the authors trained: a norm of LAVIS's with it."""
    shapes = {
        "extra_query_tokens": (1, EXTRA, FRAME.width),
        "visual_encoder.gmhra_cls_token": (1, 1, EVA.width),
        **norm("ln_vision", EVA.width),
        **linear("llama_proj", llama.width, FRAME.width),
    }
    for number in range(BLOCKS):
        shapes |= block_shapes(f"visual_encoder.gmhra.{number}")
    return random_tensors(shapes, 0.4, seed=6)


CONFIG = {
    "vision_config": EVA.config(),
    "qformer_config": FRAME.config(),
    "num_query_tokens": QUERIES,
    "num_extra_tokens": EXTRA,
    "global_blocks": BLOCKS,
}
"""What is not as published, beside Vicuna's."""


@pytest.fixture(scope="session")
def written(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, State]:
    """The folder, and its weights by the names of the original's modules."""
    folder = tmp_path_factory.mktemp("checkpoints") / "video_chat"
    llama, language = write_vicuna(folder, TEXTS, CONFIG, write_safetensors)
    state = write_lavis(folder, EVA, FRAME, QUERIES)
    own = own_state(llama)
    torch.save({"model": own}, folder / "videochat_7b.pth")
    return folder, state | own | {f"llama_model.{k}": v for k, v in language.items()}


@pytest.fixture(scope="session")
def video_chat(written: tuple[Path, State]) -> Path:
    """The folder."""
    return written[0]


@pytest.fixture(scope="session")
def state(written: tuple[Path, State]) -> State:
    """Its weights."""
    return written[1]
