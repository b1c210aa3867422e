"""The files that such a model lies in, and the names of their weights.

The authors publish what they trained; the rest is LAVIS's and LLaMA's. Put together in one folder,
these files are a checkpoint: LLaMA in the layout of transformers, with its config and tokenizer;
`eva_vit_g.pth` and `blip2_pretrained_flant5xxl.pth` of LAVIS; the authors' own .pth file.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from vbench.checkpoints import Checkpoint
from vbench.errors import ModelError
from vbench.models.loading import explained
from vbench.models.vlm.lora import read_shards
from vbench.models.weight_file import State, read_state

VISION = "eva_vit_g.pth"
QFORMER = "blip2_pretrained_flant5xxl.pth"
_LAVIS = "https://storage.googleapis.com/sfr-vision-language-research/LAVIS/models/BLIP2"

MARKS: Mapping[str, str] = {"video_query_tokens": "video_llama", "extra_query_tokens": "video_chat"}
"""A weight that one of the models alone was trained with, and the model."""

_LAYER = r"^visual_encoder\.blocks\.(\d+)\."
_RENAMED = (
    (r"^llama_model\.", "language_model."),
    (r"^ln_vision\.", "vision_model.post_layernorm."),
    (r"^visual_encoder\.gmhra", "gmhra"),
    (r"^visual_encoder\.cls_token$", "vision_model.embeddings.class_embedding"),
    (r"^visual_encoder\.pos_embed$", "vision_model.embeddings.position_embedding"),
    (r"^visual_encoder\.patch_embed\.proj\.", "vision_model.embeddings.patch_embedding."),
    (rf"{_LAYER}attn\.proj\.", r"vision_model.encoder.layers.\1.self_attn.projection."),
    (rf"{_LAYER}attn\.", r"vision_model.encoder.layers.\1.self_attn."),
    (rf"{_LAYER}norm([12])\.", r"vision_model.encoder.layers.\1.layer_norm\2."),
    (_LAYER, r"vision_model.encoder.layers.\1."),
    (r"^(video_)?Qformer\.bert\.embeddings\.LayerNorm\.", r"\1qformer.layernorm."),
    (r"^(video_)?Qformer\.bert\.(.*attention)\.self\.", r"\1qformer.\2.attention."),
    (r"^(video_)?Qformer\.bert\.", r"\1qformer."),
)
"""From the names that LAVIS and the authors give to those of transformers."""

_UNUSED = re.compile(
    # Q-Former's words, which no model here reads, and a counter
    r"(video_)?Qformer\.(cls\.|bert\.embeddings\.(word|position)_)"
    r"|(video_)?Qformer\.bert\.encoder\.layer\.\d+\.(intermediate|output)\."
    # BLIP-2's way to T5; what EVA-CLIP has after its blocks
    r"|t5_proj\.|visual_encoder\.(norm|fc_norm|head)\."
    # hearing, in files of both branches
    r"|audio_"
)
"""What the files may hold beside, which the original leaves out as well."""


def own_file(checkpoint: Checkpoint) -> tuple[str, Path] | None:
    """Returns the model whose files a folder holds, and the authors' own file.

    Returns:
        None for a checkpoint without the files of LAVIS.

    Raises:
        ModelError: A file is missing or unreadable, or there are two that could be the authors'.
    """
    folder = Path(checkpoint.source)
    present = [name for name in (VISION, QFORMER) if (folder / name).is_file()]
    if checkpoint.revision is not None or not present:
        return None
    for name in (VISION, QFORMER):
        if name not in present:
            raise ModelError(
                f"{name} is missing",
                where=f"checkpoint {checkpoint.name}",
                why=f"{present[0]} lies there, and the model needs both",
                mend=f"put it there: {_LAVIS}/{name}",
            )
    found = []
    for path in sorted(folder.glob("*.pth")):
        if path.name not in (VISION, QFORMER):
            names = _names(path, path.stat().st_mtime_ns)
            found += [(MARKS[mark], path) for mark in MARKS if mark in names]
    if len(found) == 1:
        return found[0]
    raise ModelError(
        "the folder holds no file of a model" if not found else "two files could be the model's",
        where=f"checkpoint {checkpoint.name}",
        why=", ".join(path.name for _, path in found) or f"no .pth file holds {' or '.join(MARKS)}",
        mend="leave one there of what the authors publish (docs/papers_models.md)",
    )


@cache
def _names(path: Path, _: int) -> frozenset[str]:
    """Reads no tensor."""
    return frozenset(read_state(path, mapped=True))


def read_weights(checkpoint: Checkpoint, own: Path, depth: int) -> State:
    """Returns all weights under the names that the model gives them.

    Where files hold the same weight the last counts, as when the original loads them: LAVIS's, then
    the authors'.

    Args:
        checkpoint: The folder.
        own: The authors' file.
        depth: How many blocks of the vision tower are used: BLIP-2 leaves EVA-CLIP's last one out.

    Raises:
        ModelError: A file cannot be read.
    """
    folder = Path(checkpoint.source)
    state = {f"visual_encoder.{name}": value for name, value in read_state(folder / VISION).items()}
    state |= read_state(folder / QFORMER)
    state |= read_state(own)
    with explained(checkpoint.name, "weights"):
        language = read_shards(checkpoint)
    return {f"language_model.{name}": value for name, value in language.items()} | renamed(
        state, depth
    )


def renamed(state: Mapping[str, Tensor], depth: int) -> State:
    """Renames weights, joins the halves of a bias, and leaves out what is not used.

    >>> sorted(renamed({"ln_vision.bias": torch.ones(2), "t5_proj.bias": torch.ones(2)}, 39))
    ['vision_model.post_layernorm.bias']
    """
    made: State = {}
    for name, value in state.items():
        block = re.match(_LAYER, name)
        if _UNUSED.match(name) or (block and int(block[1]) >= depth):
            continue
        made[_new(name)] = value
    for name in [name for name in made if name.endswith(".q_bias")]:
        layer = name.removesuffix("q_bias")
        query, value = made.pop(name), made.pop(f"{layer}v_bias")
        # Keys have no bias.
        made[f"{layer}qkv.bias"] = torch.cat([query, torch.zeros_like(query), value])
    return made


def _new(name: str) -> str:
    for old, new in _RENAMED:
        found, count = re.subn(old, new, name)
        if count:
            return found
    return name


def with_language(said: Mapping[str, Any], own: tuple[str, ...]) -> dict[str, Any]:
    """Puts what LLaMA's config.json says where a config of several parts has it.

    Args:
        said: LLaMA's; sizes other than the published ones stand beside its own.
        own: The names of those.
    """
    text = {name: value for name, value in said.items() if name not in own}
    return {"text_config": text, **{name: said[name] for name in own if name in said}}
