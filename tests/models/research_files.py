"""Weight files as research repositories publish them: true names and wrappers, tiny shapes."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

from .conftest import State, to_open_clip

MOMENTS, ADDED = 12, 3
"""Frames that CLIP-ViP learnt moments for, and the tokens it adds to CLIP's own."""


def tuned(folder: Path, *, seed: int = 5, tokens: bool = True) -> torch.nn.Module:
    """Loads a tiny CLIP in float32 and moves its weights; `tokens`: its token embedding, too."""
    from transformers import CLIPModel

    model = CLIPModel.from_pretrained(folder, dtype=torch.float32).eval()
    generator = torch.Generator().manual_seed(seed)
    for name, weight in model.named_parameters():
        if tokens or "token_embedding" not in name:
            weight.data += 0.2 * torch.randn(weight.shape, generator=generator)
    return model.requires_grad_(False)


def vifi_state(model: torch.nn.Module) -> State:
    """Names weights as a data-parallel ViFi-CLIP does: two towers, no token embedding, prompts."""
    known = to_open_clip(model.state_dict())
    tokens = known.pop("token_embedding.weight")
    state = {"module.logit_scale": known.pop("logit_scale")}
    for name, weight in known.items():
        where = "image_encoder" if name.startswith("visual.") else "text_encoder"
        state[f"module.{where}.{name.removeprefix('visual.')}"] = weight
    prompts = tokens[torch.tensor([[5, 6, 7, 0], [5, 9, 7, 0]])]
    return state | {"module.prompt_learner.complete_text_embeddings": prompts.half()}


@contextmanager
def training_config(**members: Any) -> Iterator[Any]:
    """Makes an object of yacs' class, which nobody who loads it later has."""

    class CfgNode(dict):  # type: ignore[type-arg]
        pass

    CfgNode.__module__, CfgNode.__qualname__ = "yacs.config", "CfgNode"
    modules = {"yacs": ModuleType("yacs"), "yacs.config": ModuleType("yacs.config")}
    modules["yacs.config"].CfgNode = CfgNode  # type: ignore[attr-defined]
    before = {name: sys.modules.get(name) for name in modules}
    sys.modules.update(modules)
    try:
        node = CfgNode(members, MODEL=CfgNode(ARCH="ViT-B/16"))
        node.__dict__["__immutable__"] = True
        yield node
    finally:
        for name, module in before.items():
            del sys.modules[name]
            if module is not None:
                sys.modules[name] = module


def write_vifi(path: Path, state: State, **config: Any) -> Path:
    """Writes a training checkpoint of ViFi-CLIP (utils/tools.py), its config pickled in it."""
    weight = torch.nn.Parameter(torch.ones(2))
    optimizer = torch.optim.AdamW([weight])
    weight.sum().backward()
    optimizer.step()
    with training_config(**config) as node:
        content = {
            "model": state,
            "optimizer": optimizer.state_dict(),
            "lr_scheduler": {"t_in_epochs": False, "base_values": [8e-6]},
            "max_accuracy": 51.3,
            "epoch": 9,
            "config": node,
        }
        torch.save(content, path)
    return path


def clip_vip_state(model: torch.nn.Module, *, seed: int = 6) -> State:
    """Names weights as CLIP-ViP does: transformers' names of its time, in a wrapper."""
    generator = torch.Generator().manual_seed(seed)
    width = model.config.vision_config.hidden_size
    state = {name: weight.clone() for name, weight in model.state_dict().items()}
    state["vision_model.embeddings.added_cls"] = torch.randn(ADDED, width, generator=generator)
    state["vision_model.embeddings.temporal_embedding"] = torch.randn(
        1, MOMENTS, width, generator=generator
    )
    state["text_model.embeddings.position_ids"] = torch.arange(77)[None]
    state["vision_model.embeddings.position_ids"] = torch.arange(5)[None]
    return {f"clipmodel.{name}": weight for name, weight in state.items()}
