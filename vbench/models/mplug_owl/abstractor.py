"""mPLUG-Owl's abstractor: a video of any length becomes as many features as one picture.

X-PLUG/mPLUG-Owl, mplug_owl_video/modeling_mplug_owl.py. Parameters have the names that the
published checkpoint gives them.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional


class CrossAttention(nn.Module):
    """Multi-head attention, its projections with biases."""

    def __init__(self, config: Any) -> None:
        super().__init__()
        width, seen = config.hidden_size, config.encoder_hidden_size
        self.heads = config.num_attention_heads
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(seen, width)
        self.value = nn.Linear(seen, width)

    def forward(self, queries: Tensor, seen: Tensor) -> Tensor:
        """Takes queries (videos, queries, width) and what they see; returns queries."""
        query, key, value = (
            made.unflatten(-1, (self.heads, -1)).transpose(1, 2)
            for made in (self.query(queries), self.key(seen), self.value(seen))
        )
        found = functional.scaled_dot_product_attention(query, key, value)
        return found.transpose(1, 2).flatten(2)


class GatedFeedForward(nn.Module):
    """SwiGLU with a norm in its middle."""

    def __init__(self, config: Any) -> None:
        super().__init__()
        width, between = config.hidden_size, config.gated_size
        self.w1 = nn.Linear(width, between)
        self.w2 = nn.Linear(between, width)
        self.w3 = nn.Linear(width, between)
        self.ffn_ln = nn.LayerNorm(between, eps=config.layer_norm_eps)

    def forward(self, states: Tensor) -> Tensor:
        """Takes and returns (…, width)."""
        gated = functional.silu(self.w1(states)) * self.w3(states)
        return self.w2(self.ffn_ln(gated))  # type: ignore[no-any-return]


class Output(nn.Module):
    """What follows attention."""

    def __init__(self, config: Any) -> None:
        super().__init__()
        self.out_proj = nn.Linear(config.hidden_size, config.hidden_size)
        self.norm2 = nn.LayerNorm(config.hidden_size)
        self.mlp = GatedFeedForward(config)

    def forward(self, found: Tensor, queries: Tensor) -> Tensor:
        """Takes and returns (videos, queries, width)."""
        queries = queries + self.out_proj(found)
        return queries + self.mlp(self.norm2(queries))  # type: ignore[no-any-return]


class Reading(nn.Module):
    """Queries read themselves and the frames."""

    def __init__(self, config: Any) -> None:
        super().__init__()
        self.attention = CrossAttention(config)
        self.output = Output(config)
        self.norm1 = nn.LayerNorm(config.hidden_size)
        self.normk = nn.LayerNorm(config.encoder_hidden_size)

    def forward(self, queries: Tensor, frames: Tensor) -> Tensor:
        """Takes queries (videos, queries, width) and frames (videos, tokens, width)."""
        queries = self.norm1(queries)  # what the residual adds to is normed, too
        seen = torch.cat([queries, self.normk(frames)], dim=1)
        return self.output(self.attention(queries, seen), queries)  # type: ignore[no-any-return]


class Layer(nn.Module):
    """One reading."""

    def __init__(self, config: Any) -> None:
        super().__init__()
        self.crossattention = Reading(config)

    def forward(self, queries: Tensor, frames: Tensor) -> Tensor:
        """Takes queries (videos, queries, width) and frames (videos, tokens, width)."""
        return self.crossattention(queries, frames)  # type: ignore[no-any-return]


class Encoder(nn.Module):
    """The layers in their order."""

    def __init__(self, config: Any) -> None:
        super().__init__()
        self.layers = nn.ModuleList(Layer(config) for _ in range(config.num_hidden_layers))


class Abstractor(nn.Module):
    """Turns the frames of a video into what the language model reads in place of words.

    Args:
        config: A `MplugOwlAbstractorConfig`.
        words: The width of the language model.
    """

    def __init__(self, config: Any, words: int) -> None:
        super().__init__()
        self.encoder = Encoder(config)
        self.visual_fc = nn.Linear(config.hidden_size, words)
        if config.temporal:
            self.temporal_visual_fc = nn.Linear(config.hidden_size, words)
        self.vit_eos = nn.Parameter(torch.zeros(1, 1, words))

    def forward(self, frames: Tensor, queries: Tensor, temporal: Tensor | None) -> Tensor:
        """Reads videos.

        Args:
            frames: (videos, frames, tokens, width).
            queries: (1, queries, width).
            temporal: (1, queries, width): of use where there is more than one frame; None: there
                never is.

        Returns:
            (videos, queries + 1, words): the last feature ends the video.
        """
        count, still = queries.shape[1], frames.shape[1] == 1
        asked = queries if temporal is None or still else torch.cat([queries, temporal], dim=1)
        states = asked.expand(len(frames), -1, -1)
        for layer in self.encoder.layers:
            states = layer(states, frames.flatten(1, 2))
        found = self.visual_fc(states[:, :count])
        if states.shape[1] > count:
            found = found + self.temporal_visual_fc(states[:, count:])
        return torch.cat([found, self.vit_eos.expand(len(found), -1, -1).to(found.dtype)], dim=1)
