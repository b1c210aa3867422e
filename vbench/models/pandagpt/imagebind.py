"""ImageBind's trunk for pictures and videos: two frames at a time become one vector.

Girdhar et al., 2023 (facebookresearch/ImageBind). Parameters have the names that the published file
gives them.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

_EPS = 1e-6


class Stem(nn.Module):
    """Cuts a pair of frames into patches that reach over both."""

    def __init__(self, config: Any) -> None:
        super().__init__()
        side = config.patch_size
        step = (config.frames_per_patch, side, side)
        cut = nn.Conv3d(3, config.hidden_size, step, stride=step, bias=False)
        # What comes first there repeats a single picture, and has no weights.
        self.proj = nn.Sequential(nn.Identity(), cut)

    def forward(self, pairs: Tensor) -> Tensor:
        """Takes (pairs, 3, 2, height, width), returns (pairs, patches, width)."""
        cut: Tensor = self.proj(pairs)
        return cut.flatten(2).transpose(1, 2)


class Places(nn.Module):
    """Where each token stands."""

    def __init__(self, config: Any) -> None:
        super().__init__()
        tokens = (config.image_size // config.patch_size) ** 2 + 1
        self.pos_embed = nn.Parameter(torch.zeros(1, tokens, config.hidden_size))


class Preprocessor(nn.Module):
    """A class token and the patches of a pair, each with its place."""

    def __init__(self, config: Any) -> None:
        super().__init__()
        self.cls_token = nn.Parameter(torch.zeros(1, 1, config.hidden_size))
        self.rgbt_stem = Stem(config)
        self.pos_embedding_helper = Places(config)

    def forward(self, pairs: Tensor) -> Tensor:
        """Takes (pairs, 3, 2, height, width), returns (pairs, tokens, width)."""
        patches = self.rgbt_stem(pairs)
        tokens = torch.cat([self.cls_token.expand(len(patches), -1, -1), patches], dim=1)
        return tokens + self.pos_embedding_helper.pos_embed


class FeedForward(nn.Module):
    """Two linear layers around a GELU, four times as wide between."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.fc1 = nn.Linear(width, 4 * width)
        self.fc2 = nn.Linear(4 * width, width)

    def forward(self, states: Tensor) -> Tensor:
        """Takes and returns (…, width)."""
        return self.fc2(functional.gelu(self.fc1(states)))  # type: ignore[no-any-return]


class Block(nn.Module):
    """Attention, then the feed-forward layers, each after a norm."""

    def __init__(self, config: Any) -> None:
        super().__init__()
        width = config.hidden_size
        self.attn = nn.MultiheadAttention(width, config.num_attention_heads, batch_first=True)
        self.norm_1 = nn.LayerNorm(width, eps=_EPS)
        self.mlp = FeedForward(width)
        self.norm_2 = nn.LayerNorm(width, eps=_EPS)

    def forward(self, states: Tensor) -> Tensor:
        """Takes and returns (pairs, tokens, width)."""
        normed = self.norm_1(states)
        states = states + self.attn(normed, normed, normed, need_weights=False)[0]
        return states + self.mlp(self.norm_2(states))  # type: ignore[no-any-return]


class Trunk(nn.Module):
    """A norm and the blocks in their order."""

    def __init__(self, config: Any) -> None:
        super().__init__()
        self.pre_transformer_layer = nn.Sequential(nn.LayerNorm(config.hidden_size, eps=_EPS))
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.num_hidden_layers))

    def forward(self, states: Tensor) -> Tensor:
        """Takes and returns (pairs, tokens, width)."""
        states = self.pre_transformer_layer(states)
        for block in self.blocks:
            states = block(states)
        return states


class ImageBindVision(nn.Module):
    """Reads pairs of frames.

    Args:
        config: An `ImageBindVisionConfig`.
    """

    def __init__(self, config: Any) -> None:
        super().__init__()
        width = config.hidden_size
        self.modality_preprocessors = nn.ModuleDict({"vision": Preprocessor(config)})
        self.modality_trunks = nn.ModuleDict({"vision": Trunk(config)})
        head = nn.Linear(width, config.projection_dim, bias=False)
        # Between the two the original selects the class token.
        parts = (nn.LayerNorm(width, eps=_EPS), nn.Identity(), head)
        self.modality_heads = nn.ModuleDict({"vision": nn.Sequential(*parts)})

    def forward(self, pairs: Tensor) -> Tensor:
        """Takes (pairs, 3, 2, side, side), returns (pairs, projection_dim) of length one."""
        states = self.modality_trunks["vision"](self.modality_preprocessors["vision"](pairs))
        found = self.modality_heads["vision"](states[:, 0])
        return functional.normalize(found, dim=-1)


def crops(frames: Tensor, side: int) -> Tensor:
    """Cuts squares from both ends and the middle of the longer edge.

    Args:
        frames: (…, height, width), the shorter edge of `side` pixels.
        side: Of the squares.

    Returns:
        (3, …, side, side): left, middle, right; or top, middle, bottom.
    """
    height, width = frames.shape[-2:]
    spare = max(height, width) - side
    axis = -2 if height > width else -1
    return torch.stack([frames.narrow(axis, at, side) for at in (0, -(-spare // 2), spare)])
