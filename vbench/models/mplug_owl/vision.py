"""mPLUG-Owl's vision tower: CLIP's; for videos a small convolution over time in every layer.

X-PLUG/mPLUG-Owl, mplug_owl_video/modeling_mplug_owl.py. Parameters have the names that the
published checkpoint gives them.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional


def quick_gelu(x: Tensor) -> Tensor:
    """OpenAI's approximation of GELU, as in CLIP."""
    return x * torch.sigmoid(1.702 * x)


class TemporalAdapter(nn.Module):
    """Lets each patch see the same patch of the frames before and after."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.ln = nn.LayerNorm(width)
        self.down_proj = nn.Conv3d(width, width // 2, 1)
        self.conv = nn.Conv3d(
            width // 2, width // 2, (3, 1, 1), padding=(1, 0, 0), groups=width // 2
        )
        self.up_proj = nn.Conv3d(width // 2, width, 1)

    def forward(self, states: Tensor) -> Tensor:
        """Returns what is added to the states (videos, frames, tokens, width).

        The class token comes out as it went in, so that the sum doubles it: as the model was
        trained.
        """
        first, patches = states[:, :, :1], states[:, :, 1:]
        # No kernel reaches from patch to patch: rows and columns may lie on one axis.
        grid = self.ln(patches).permute(0, 3, 1, 2)[..., None]
        moved = self.up_proj(quick_gelu(self.conv(self.down_proj(grid))))
        return torch.cat([first, moved[..., 0].permute(0, 2, 3, 1)], dim=2)


class Attention(nn.Module):
    """Attention among the tokens of a frame."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query_key_value = nn.Linear(width, 3 * width)
        self.dense = nn.Linear(width, width)

    def forward(self, states: Tensor) -> Tensor:
        """Takes and returns (frames, tokens, width)."""
        # Query, key and value of one head lie side by side, then those of the next.
        mixed = self.query_key_value(states).unflatten(-1, (self.heads, 3, -1))
        query, key, value = mixed.permute(3, 0, 2, 1, 4)
        seen = functional.scaled_dot_product_attention(query, key, value)
        return self.dense(seen.transpose(1, 2).flatten(2))  # type: ignore[no-any-return]


class FeedForward(nn.Module):
    """Two linear layers around a QuickGELU."""

    def __init__(self, width: int, between: int) -> None:
        super().__init__()
        self.fc1 = nn.Linear(width, between)
        self.fc2 = nn.Linear(between, width)

    def forward(self, states: Tensor) -> Tensor:
        """Takes and returns (…, width)."""
        return self.fc2(quick_gelu(self.fc1(states)))  # type: ignore[no-any-return]


class Layer(nn.Module):
    """Time first, if there is any, then space."""

    def __init__(self, config: Any) -> None:
        super().__init__()
        width, eps = config.hidden_size, config.layer_norm_eps
        if config.temporal:
            self.temporal = TemporalAdapter(width)
        self.self_attn = Attention(width, config.num_attention_heads)
        self.input_layernorm = nn.LayerNorm(width, eps=eps)
        self.mlp = FeedForward(width, config.intermediate_size)
        self.post_attention_layernorm = nn.LayerNorm(width, eps=eps)

    def forward(self, states: Tensor) -> Tensor:
        """Takes and returns (videos, frames, tokens, width)."""
        if states.shape[1] > 1:
            states = states + self.temporal(states)
        frames = states.flatten(0, 1)
        frames = frames + self.self_attn(self.input_layernorm(frames))
        frames = frames + self.mlp(self.post_attention_layernorm(frames))
        return frames.view_as(states)  # type: ignore[no-any-return]


class Embeddings(nn.Module):
    """A class token and the patches of a frame, each with its place."""

    def __init__(self, config: Any) -> None:
        super().__init__()
        width, side = config.hidden_size, config.patch_size
        tokens = (config.image_size // side) ** 2 + 1
        self.cls_token = nn.Parameter(torch.zeros(1, 1, width))
        self.position_embedding = nn.Parameter(torch.zeros(1, tokens, width))
        self.patch_embed = nn.Conv2d(3, width, side, stride=side, bias=False)
        self.pre_layernorm = nn.LayerNorm(width, eps=config.layer_norm_eps)

    def forward(self, frames: Tensor) -> Tensor:
        """Takes (frames, 3, height, width), returns (frames, tokens, width)."""
        patches = self.patch_embed(frames).flatten(2).transpose(1, 2)
        first = self.cls_token.expand(len(frames), -1, -1).to(patches.dtype)
        return self.pre_layernorm(  # type: ignore[no-any-return]
            torch.cat([first, patches], dim=1) + self.position_embedding
        )


class Encoder(nn.Module):
    """The layers in their order."""

    def __init__(self, config: Any) -> None:
        super().__init__()
        self.layers = nn.ModuleList(Layer(config) for _ in range(config.num_hidden_layers))


class VisionTower(nn.Module):
    """Reads the frames of videos.

    Args:
        config: A `MplugOwlVisionConfig`.
    """

    def __init__(self, config: Any) -> None:
        super().__init__()
        self.embeddings = Embeddings(config)
        self.encoder = Encoder(config)
        self.post_layernorm = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)

    def forward(self, videos: Tensor) -> Tensor:
        """Takes (videos, frames, 3, height, width), returns (videos, frames, tokens, width)."""
        states = self.embeddings(videos.flatten(0, 1)).unflatten(0, videos.shape[:2])
        for layer in self.encoder.layers:
            states = layer(states)
        return self.post_layernorm(states)  # type: ignore[no-any-return]
