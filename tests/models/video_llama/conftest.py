"""Writes a tiny folder of the published files: LLaMA's, LAVIS's two and the authors' own."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from ..assembled_files import (
    Llama,
    State,
    linear,
    random_tensors,
    write_vicuna,
)
from ..lavis_files import Eva, QFormer, counter, write_lavis

EVA = Eva()
FRAME = QFormer(reads=EVA.width)
VIDEO = QFormer(reads=FRAME.width, every=1, layers=2)
QUERIES, VIDEO_QUERIES, PLACES = 3, 5, 6

TEXTS = [
    "You are able to understand the visual content that the user provides. ### # ##",
    "Human: <Video></Video> The video contains 8 frames sampled at 0.0, 1.2 seconds. Assistant:",
    "What of a circle? Choose from A B C two circles. Yes No 0.25 a square jumps",
] * 4


def own_state(llama: Llama) -> State:
    """What the authors trained, and buffers that are saved with it."""
    shapes = {
        "video_query_tokens": (1, VIDEO_QUERIES, VIDEO.width),
        "video_frame_position_embedding.weight": (PLACES, FRAME.width),
        **VIDEO.shapes("video_Qformer"),
        **linear("llama_proj", llama.width, VIDEO.width),
    }
    state = random_tensors(shapes, 0.4, seed=6) | counter("Qformer") | counter("video_Qformer")
    turns = 1e4 ** -(torch.arange(0, 8, 2) / 8)
    for number in range(llama.layers):
        state[f"llama_model.model.layers.{number}.self_attn.rotary_emb.inv_freq"] = turns
    return state


CONFIG = {
    "vision_config": EVA.config(),
    "qformer_config": FRAME.config(),
    "video_qformer_config": VIDEO.config(),
    "num_query_tokens": QUERIES,
    "num_video_query_tokens": VIDEO_QUERIES,
    "max_frames": PLACES,
}
"""What is not as published, beside Vicuna's."""


@pytest.fixture(scope="session")
def written(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, State]:
    """The folder, and its weights by the names of the original's modules."""
    folder = tmp_path_factory.mktemp("checkpoints") / "video_llama"
    llama, language = write_vicuna(folder, TEXTS, CONFIG)
    state = write_lavis(folder, EVA, FRAME, QUERIES)
    own = own_state(llama)
    saved = {"model": own, "optimizer": {"state": {}}, "config": {"run": {}}, "epoch": 2}
    torch.save(saved, folder / "finetune-vicuna7b-v2.pth")
    return folder, state | own | {f"llama_model.{k}": v for k, v in language.items()}


@pytest.fixture(scope="session")
def video_llama(written: tuple[Path, State]) -> Path:
    """The folder."""
    return written[0]


@pytest.fixture(scope="session")
def state(written: tuple[Path, State]) -> State:
    """Its weights."""
    return written[1]
