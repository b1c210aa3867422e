"""GMHRA of UniFormerV2: a token that reads all frames, layer after layer of the vision tower.

OpenGVLab/Ask-Anything, video_chat/models/eva_vit.py, Global_MHRA.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from torch import Tensor, nn


class GlobalBlock(nn.Module):
    """Attention of one token to those of all frames, then two layers.

    Args:
        config: Of the vision tower.
    """

    def __init__(self, config: Any) -> None:
        super().__init__()
        width = config.hidden_size
        self.dpe = nn.Conv3d(width, width, kernel_size=3, padding=1, groups=width)
        self.attn = nn.MultiheadAttention(width, config.num_attention_heads, batch_first=True)
        self.ln_1, self.ln_2, self.ln_3 = (nn.LayerNorm(width) for _ in range(3))
        between = config.intermediate_size
        layers = {
            "c_fc": nn.Linear(width, between),
            "gelu": nn.GELU(),
            "c_proj": nn.Linear(between, width),
        }
        self.mlp = nn.Sequential(OrderedDict(layers))

    def forward(self, token: Tensor, states: Tensor) -> Tensor:
        """Takes (videos, 1, width) and (videos, frames, tokens, width), returns the token anew.

        The first token of a frame is its class; the others get the mean of their neighbours in
        space and time, by learned weights, added.
        """
        seen = self.ln_3(states)
        seen = self._placed(seen).flatten(1, 2)
        found, _ = self.attn(self.ln_1(token), seen, seen, need_weights=False)
        token = token + found
        return token + self.mlp(self.ln_2(token))  # type: ignore[no-any-return]

    def _placed(self, seen: Tensor) -> Tensor:
        videos, frames, tokens, width = seen.shape
        side = round((tokens - 1) ** 0.5)
        patches = seen[:, :, 1:].reshape(videos, frames, side, side, width)
        near = self.dpe(patches.permute(0, 4, 1, 2, 3)).permute(0, 2, 3, 4, 1)
        placed = seen.clone()
        placed[:, :, 1:] += near.reshape(videos, frames, tokens - 1, width)
        return placed
