"""Writes a tiny folder of the published files: Vicuna's, ImageBind's and the authors' own."""

from __future__ import annotations

from collections import OrderedDict
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
    write_vicuna,
)

WIDTH, LAYERS, HEADS, OUT = 8, 2, 2, 6
SIDE, PATCH = 16, 8
TOKENS = (SIDE // PATCH) ** 2 + 1
RANK = 3

TEXTS = [
    "### Human: <Img></Img> What of a circle? ### Assistant: # ## Human Assistant",
    "Choose from A B C two circles. Yes No a square jumps. Does the video show it?",
] * 4


def imagebind_shapes() -> Shapes:
    """The trunk for pictures, and one of those that are not used."""
    before, trunk, head = (
        f"modality_{part}.vision" for part in ("preprocessors", "trunks", "heads")
    )
    shapes: Shapes = {
        f"{before}.cls_token": (1, 1, WIDTH),
        f"{before}.rgbt_stem.proj.1.weight": (WIDTH, 3, 2, PATCH, PATCH),
        f"{before}.pos_embedding_helper.pos_embed": (1, TOKENS, WIDTH),
        **norm(f"{trunk}.pre_transformer_layer.0", WIDTH),
        **norm(f"{head}.0", WIDTH),
        f"{head}.2.weight": (OUT, WIDTH),
        "modality_trunks.audio.blocks.0.attn.bias_k": (1, 1, 4),
        "modality_postprocessors.text.1.log_logit_scale": (),
    }
    for block in (f"{trunk}.blocks.{number}" for number in range(LAYERS)):
        shapes[f"{block}.attn.in_proj_weight"] = (3 * WIDTH, WIDTH)
        shapes[f"{block}.attn.in_proj_bias"] = (3 * WIDTH,)
        shapes |= linear(f"{block}.attn.out_proj", WIDTH, WIDTH)
        shapes |= norm(f"{block}.norm_1", WIDTH) | norm(f"{block}.norm_2", WIDTH)
        shapes |= linear(f"{block}.mlp.fc1", 4 * WIDTH, WIDTH)
        shapes |= linear(f"{block}.mlp.fc2", WIDTH, 4 * WIDTH)
    return shapes


def delta_shapes(llama: Llama) -> Shapes:
    """What was trained: a projection, and a LoRA of queries, keys, values and outputs."""
    shapes = linear("llama_proj", llama.width, OUT)
    for number in range(llama.layers):
        for name in "qkvo":
            layer = f"llama_model.base_model.model.model.layers.{number}.self_attn.{name}_proj"
            shapes[f"{layer}.lora_A.default.weight"] = (RANK, llama.width)
            shapes[f"{layer}.lora_B.default.weight"] = (llama.width, RANK)
    return shapes


CONFIG = {
    "vision_config": {
        "hidden_size": WIDTH,
        "num_hidden_layers": LAYERS,
        "num_attention_heads": HEADS,
        "image_size": SIDE,
        "patch_size": PATCH,
        "projection_dim": OUT,
    }
}
"""The sizes that are not as published, beside Vicuna's."""


@pytest.fixture(scope="session")
def written(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, State]:
    """The folder, and its weights by the names that their files give them."""
    folder = tmp_path_factory.mktemp("checkpoints") / "pandagpt"
    llama, language = write_vicuna(folder, TEXTS, CONFIG, pieces=420)
    vision = random_tensors(imagebind_shapes(), 0.5, seed=4)
    vision["modality_preprocessors.vision.rgbt_stem.proj.1.weight"] *= 0.05  # places count as well
    torch.save(vision, folder / "imagebind_huge.pth")
    delta = random_tensors(delta_shapes(llama), 0.4, seed=5)
    delta["llama_proj.weight"] *= 5
    parameters = OrderedDict((name, torch.nn.Parameter(value)) for name, value in delta.items())
    torch.save(parameters, folder / "pytorch_model.pt")  # as code/model/agent.py does
    return folder, vision | delta | language


@pytest.fixture(scope="session")
def pandagpt(written: tuple[Path, State]) -> Path:
    """The folder."""
    return written[0]


@pytest.fixture(scope="session")
def state(written: tuple[Path, State]) -> State:
    """Its weights."""
    return written[1]
