"""BLIP-2's parts as these models call them."""

from __future__ import annotations

from typing import Any

from torch import Tensor

NORM_EPS = 1e-5
"""Of the norm after the vision tower. LAVIS makes it by itself, with torch's default;
transformers counts it to the tower, whose own is 1e-6."""


def ask(qformer: Any, queries: Tensor, seen: Tensor) -> Tensor:
    """Lets learned queries read what was seen.

    Args:
        qformer: A `Blip2QFormerModel`.
        queries: (1, queries, width).
        seen: (rows, tokens, width of the tokens).

    Returns:
        (rows, queries, width).
    """
    asked = queries.expand(len(seen), -1, -1)
    found: Tensor = qformer(query_embeds=asked, encoder_hidden_states=seen).last_hidden_state
    return found
