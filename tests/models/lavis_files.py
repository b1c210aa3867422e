"""The two files of LAVIS that models before Vicuna were made of, by their names and shapes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from .assembled_files import Shapes, State, Transformer, linear, norm, random_tensors


@dataclass(frozen=True, kw_only=True)
class Eva(Transformer):
    """EVA-CLIP's vision tower, of whose layers the file holds one more."""

    side: int = 8
    patch: int = 4

    def shapes(self) -> Shapes:
        width = self.width
        shapes = {
            "cls_token": (1, 1, width),
            "pos_embed": (1, (self.side // self.patch) ** 2 + 1, width),
            "patch_embed.proj.weight": (width, 3, self.patch, self.patch),
            "patch_embed.proj.bias": (width,),
            **norm("norm", width),
            **linear("head", 4, width),
        }
        for block in (f"blocks.{number}" for number in range(self.layers + 1)):
            shapes |= norm(f"{block}.norm1", width) | norm(f"{block}.norm2", width)
            shapes[f"{block}.attn.q_bias"] = shapes[f"{block}.attn.v_bias"] = (width,)
            shapes[f"{block}.attn.qkv.weight"] = (3 * width, width)
            shapes |= linear(f"{block}.attn.proj", width, width)
            shapes |= self.mlp(f"{block}.mlp.fc1", f"{block}.mlp.fc2")
        return shapes

    def config(self) -> dict[str, Any]:
        return super().config() | {"image_size": self.side, "patch_size": self.patch}


@dataclass(frozen=True, kw_only=True)
class QFormer(Transformer):
    """A BERT whose queries read what was seen in every second layer, or in every one."""

    reads: int = 8
    """The width of what is seen."""
    every: int = 2
    width: int = 12
    between: int = 20
    layers: int = 3

    def shapes(self, root: str) -> Shapes:
        width = self.width
        shapes = norm(f"{root}.bert.embeddings.LayerNorm", width)
        for number in range(self.layers):
            layer = f"{root}.bert.encoder.layer.{number}"
            kinds = {"attention": width}
            if number % self.every == 0:
                kinds["crossattention"] = self.reads
            for kind, inside in kinds.items():
                shapes |= linear(f"{layer}.{kind}.self.query", width, width)
                shapes |= linear(f"{layer}.{kind}.self.key", width, inside)
                shapes |= linear(f"{layer}.{kind}.self.value", width, inside)
                shapes |= linear(f"{layer}.{kind}.output.dense", width, width)
                shapes |= norm(f"{layer}.{kind}.output.LayerNorm", width)
            shapes |= self.mlp(f"{layer}.intermediate_query.dense", f"{layer}.output_query.dense")
            shapes |= norm(f"{layer}.output_query.LayerNorm", width)
        return shapes

    def config(self) -> dict[str, Any]:
        own = {"encoder_hidden_size": self.reads, "cross_attention_frequency": self.every}
        return super().config() | own


def counter(root: str) -> State:
    """A buffer that BERT of 2023 saved."""
    return {f"{root}.bert.embeddings.position_ids": torch.arange(512)[None]}


def write_lavis(folder: Path, eva: Eva, qformer: QFormer, queries: int) -> State:
    """Writes both files, the tower in fp16, and returns all weights as the original has them."""
    tower = {
        name: value.half() for name, value in random_tensors(eva.shapes(), 0.4, seed=4).items()
    }
    torch.save(tower, folder / "eva_vit_g.pth")
    shapes = {
        "query_tokens": (1, queries, qformer.width),
        **norm("ln_vision", eva.width),
        **qformer.shapes("Qformer"),
        **linear("t5_proj", 10, qformer.width),
    }
    reader = random_tensors(shapes, 0.4, seed=5) | counter("Qformer")
    torch.save({"model": reader}, folder / "blip2_pretrained_flant5xxl.pth")
    return {f"visual_encoder.{name}": value.float() for name, value in tower.items()} | reader
