"""BLIP-2's parts in fp64 with loops over patches and heads, by LAVIS's names of tensors."""

from __future__ import annotations

import torch
from torch import Tensor

from .plain_arithmetic import Plain, attend


def gelu(x: Tensor) -> Tensor:
    return x * (1 + torch.erf(x / 2**0.5)) / 2


class PlainLavis(Plain):
    """Of the published sizes' rules: norms, where queries read, what has a bias."""

    heads = 2

    def tower(self, frame: Tensor, layers: int) -> list[Tensor]:
        """Takes (3, side, side), returns the tokens after each layer, the class first."""
        root = "visual_encoder"
        kernel = self.state[f"{root}.patch_embed.proj.weight"]
        step = kernel.shape[-1]
        cells = frame.double().unfold(1, step, step).unfold(2, step, step)
        seen = torch.einsum("kcij,cyxij->yxk", kernel, cells).flatten(0, 1)
        seen = seen + self.state[f"{root}.patch_embed.proj.bias"]
        x = (
            torch.cat([self.state[f"{root}.cls_token"][0], seen])
            + self.state[f"{root}.pos_embed"][0]
        )
        after = []
        for number in range(layers):
            x = self.block(f"{root}.blocks.{number}", x)
            after.append(x)
        return after

    def block(self, name: str, x: Tensor) -> Tensor:
        inner = self.norm(f"{name}.norm1", x, 1e-6)
        parts = list((inner @ self.state[f"{name}.attn.qkv.weight"].T).chunk(3, dim=-1))
        parts[0] = parts[0] + self.state[f"{name}.attn.q_bias"]
        parts[2] = parts[2] + self.state[f"{name}.attn.v_bias"]
        x = x + self.linear(f"{name}.attn.proj", self.attended(*parts))
        inner = self.linear(f"{name}.mlp.fc1", self.norm(f"{name}.norm2", x, 1e-6))
        return x + self.linear(f"{name}.mlp.fc2", gelu(inner))

    def attended(self, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        heads = zip(*(part.chunk(self.heads, dim=-1) for part in (query, key, value)), strict=True)
        return torch.cat([attend(*head) for head in heads], dim=-1)

    def qformer(self, root: str, queries: Tensor, seen: Tensor, every: int) -> Tensor:
        """Takes (queries, width) and (tokens, their width)."""
        x = self.norm(f"{root}.bert.embeddings.LayerNorm", queries, 1e-12)
        layers = sum(name.endswith("intermediate_query.dense.bias") and name.startswith(f"{root}.")
                     for name in self.state)  # fmt: skip
        for number in range(layers):
            layer = f"{root}.bert.encoder.layer.{number}"
            x = self.reads(f"{layer}.attention", x, x)
            if number % every == 0:
                x = self.reads(f"{layer}.crossattention", x, seen)
            inner = gelu(self.linear(f"{layer}.intermediate_query.dense", x))
            inner = self.linear(f"{layer}.output_query.dense", inner)
            x = self.norm(f"{layer}.output_query.LayerNorm", x + inner, 1e-12)
        return x

    def reads(self, name: str, x: Tensor, seen: Tensor) -> Tensor:
        parts = [self.linear(f"{name}.self.query", x)]
        parts += [self.linear(f"{name}.self.{part}", seen) for part in ("key", "value")]
        inner = self.linear(f"{name}.output.dense", self.attended(*parts))
        return self.norm(f"{name}.output.LayerNorm", x + inner, 1e-12)
