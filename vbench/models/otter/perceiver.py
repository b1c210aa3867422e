"""Otter's perceiver: the patches of all frames become a few features.

Luodian/Otter, modeling_otter.py. Parameters have the names that the published checkpoint gives
them.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional


def feed_forward(width: int) -> nn.Sequential:
    """A norm and two linear layers around a GELU, four times as wide between, without biases."""
    inside, out = (
        nn.Linear(*sizes, bias=False) for sizes in ((width, 4 * width), (4 * width, width))
    )
    return nn.Sequential(nn.LayerNorm(width), inside, nn.GELU(), out)


class Attention(nn.Module):
    """What both ways of looking share: projections without biases, heads of a size of their own."""

    def __init__(self, config: Any, width: int, seen: int) -> None:
        super().__init__()
        inner = config.visual_heads * config.head_size
        self.heads = config.visual_heads
        self.to_q = nn.Linear(width, inner, bias=False)
        self.to_kv = nn.Linear(seen, 2 * inner, bias=False)
        self.to_out = nn.Linear(inner, width, bias=False)

    def look(self, states: Tensor, seen: Tensor) -> Tensor:
        """Takes (rows, tokens, width) and (rows, features, seen), returns (rows, tokens, inner)."""
        query, key, value = (
            made.unflatten(-1, (self.heads, -1)).transpose(1, 2)
            for made in (self.to_q(states), *self.to_kv(seen).chunk(2, dim=-1))
        )
        found = functional.scaled_dot_product_attention(query, key, value)
        return found.transpose(1, 2).flatten(2)


class Block(Attention):
    """Latents read the patches and themselves."""

    def __init__(self, config: Any, width: int) -> None:
        super().__init__(config, width, width)
        self.norm_media = nn.LayerNorm(width)
        self.norm_latents = nn.LayerNorm(width)
        self.feed_forward = feed_forward(width)

    def forward(self, patches: Tensor, latents: Tensor) -> Tensor:
        """Takes (videos, patches, width) and (videos, latents, width), returns latents."""
        normed = self.norm_latents(latents)
        seen = torch.cat([self.norm_media(patches), normed], dim=1)
        latents = latents + self.to_out(self.look(normed, seen))
        return latents + self.feed_forward(latents)  # type: ignore[no-any-return]


class Perceiver(nn.Module):
    """Reads the frames of a video.

    Args:
        config: An `OtterConfig`.
    """

    def __init__(self, config: Any) -> None:
        super().__init__()
        width = config.vision_config.hidden_size
        self.latents = nn.Parameter(torch.zeros(config.latents, width))
        if config.max_num_frames is not None:
            self.frame_embs = nn.Parameter(torch.zeros(config.max_num_frames, width))
        blocks = (Block(config, width) for _ in range(config.perceiver_layers))
        self.layers = nn.ModuleList(blocks)
        self.norm = nn.LayerNorm(width)
        self.places = config.max_num_frames

    def forward(self, frames: Tensor) -> Tensor:
        """Takes (videos, frames, patches, width), returns (videos, latents, width).

        Raises:
            ValueError: There are more frames than places in time.
        """
        count = frames.shape[1]
        if self.places is not None:
            if count > self.places:
                raise ValueError(f"{count} frames, of at most {self.places}")
            frames = frames + self.frame_embs[:count, None]
        latents = self.latents.expand(len(frames), -1, -1)
        for block in self.layers:
            latents = block(frames.flatten(1, 2), latents)
        return self.norm(latents)  # type: ignore[no-any-return]
