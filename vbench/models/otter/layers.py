"""LLaMA's layers, some of which look at a video before they read on.

Luodian/Otter, modeling_otter.py. Parameters have the names that the published checkpoint gives
them.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from vbench.models.otter.perceiver import Attention, feed_forward


class CrossAttention(Attention):
    """Words look at a video."""

    def __init__(self, config: Any) -> None:
        width = config.text_config.hidden_size
        super().__init__(config, width, config.vision_config.hidden_size)
        self.norm = nn.LayerNorm(width)

    def forward(self, words: Tensor, media: Tensor, sees: Tensor) -> Tensor:
        """Takes words (rows, tokens, width), videos (rows, latents, …) and who sees (rows, tokens).

        Returns:
            As the words; zero where nothing is seen.
        """
        found = self.look(self.norm(words), media)
        return self.to_out(found * sees[..., None])  # type: ignore[no-any-return]


class GatedCrossAttention(nn.Module):
    """A look and a thought, each as much as its gate lets through."""

    def __init__(self, config: Any) -> None:
        super().__init__()
        self.attn = CrossAttention(config)
        self.attn_gate = nn.Parameter(torch.zeros(1))
        self.feed_forward = feed_forward(config.text_config.hidden_size)
        self.ff_gate = nn.Parameter(torch.zeros(1))

    def forward(self, words: Tensor, media: Tensor | None, sees: Tensor) -> Tensor:
        """Takes and returns words; without a video only the thought is left."""
        if media is not None:
            words = words + self.attn(words, media.to(words.dtype), sees) * self.attn_gate.tanh()
        return words + self.feed_forward(words) * self.ff_gate.tanh()  # type: ignore[no-any-return]


class OtterLayer(nn.Module):
    """One of LLaMA's layers, with or without a look before it.

    Args:
        gated: What looks; None: nothing does.
        decoder: LLaMA's.
    """

    def __init__(self, gated: GatedCrossAttention | None, decoder: nn.Module) -> None:
        super().__init__()
        self.gated_cross_attn_layer = gated
        self.decoder_layer = decoder

    def forward(self, words: Tensor, *, media: Tensor | None, sees: Tensor, **rest: Any) -> Any:
        """Takes words (rows, tokens, width), and what LLaMA's layer takes."""
        if self.gated_cross_attn_layer is not None:
            words = self.gated_cross_attn_layer(words, media, sees)
        return self.decoder_layer(words, **rest)
