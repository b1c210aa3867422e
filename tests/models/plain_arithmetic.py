"""CLIP in fp64 with loops over patches and heads, read off the checkpoint's own tensors."""

from __future__ import annotations

import torch
from torch import Tensor

State = dict[str, Tensor]


def attend(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """Of one head: (tokens, channels)."""
    return (query @ key.T / query.shape[-1] ** 0.5).softmax(-1) @ value


def close(found: Tensor, right: Tensor, atol: float) -> None:
    """Of the largest."""
    scale = right.abs().max()
    assert scale > 1
    torch.testing.assert_close(found.double() / scale, right.double() / scale, rtol=0, atol=atol)


class Plain:
    """Layers by the names of their tensors."""

    def __init__(self, state: State) -> None:
        self.state = {name: value.double() for name, value in state.items()}

    def linear(self, name: str, x: Tensor) -> Tensor:
        return x @ self.state[f"{name}.weight"].flatten(1).T + self.state[f"{name}.bias"]

    def norm(self, name: str, x: Tensor, eps: float = 1e-5) -> Tensor:
        centred = x - x.mean(-1, keepdim=True)
        scaled = centred / (centred.square().mean(-1, keepdim=True) + eps).sqrt()
        return scaled * self.state[f"{name}.weight"] + self.state[f"{name}.bias"]


class PlainClip(Plain):
    """The vision side of a CLIP."""

    root: str
    heads = 2

    def clip(self, frame: Tensor, layers: int) -> Tensor:
        """Takes (3, side, side), returns what so many layers make of its tokens, class first."""
        kernel = self.state[f"{self.root}.embeddings.patch_embedding.weight"]
        step = kernel.shape[-1]
        cells = frame.unfold(1, step, step).unfold(2, step, step)  # (3, rows, columns, …)
        seen = torch.einsum("kcij,cyxij->yxk", kernel, cells).flatten(0, 1)
        x = torch.cat([self.state[f"{self.root}.embeddings.class_embedding"][None], seen])
        x = x + self.state[f"{self.root}.embeddings.position_embedding.weight"]
        x = self.norm(f"{self.root}.pre_layrnorm", x)
        for number in range(layers):
            x = self.block(f"{self.root}.encoder.layers.{number}", x)
        return x

    def block(self, name: str, x: Tensor) -> Tensor:
        inner = self.norm(f"{name}.layer_norm1", x)
        parts = [
            self.linear(f"{name}.self_attn.{part}_proj", inner).chunk(self.heads, dim=-1)
            for part in "qkv"
        ]
        heads = [attend(*head) for head in zip(*parts, strict=True)]
        x = x + self.linear(f"{name}.self_attn.out_proj", torch.cat(heads, dim=-1))
        inner = self.linear(f"{name}.mlp.fc1", self.norm(f"{name}.layer_norm2", x))
        return x + self.linear(f"{name}.mlp.fc2", inner * (1.702 * inner).sigmoid())
