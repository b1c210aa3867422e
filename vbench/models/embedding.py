"""Arithmetic on embeddings that every image-text dual encoder shares."""

from __future__ import annotations

from typing import Any, Literal

import torch
from jaxtyping import Float
from torch import Tensor

Pooling = Literal["mean_then_normalise", "normalise_then_mean"]
"""`mean_then_normalise`: the mean of the raw frame embeddings (VELOCITI, ViFi-CLIP).
`normalise_then_mean`: the mean of unit frame embeddings, so that a frame with a long embedding
counts no more than others (CLIP4Clip's baseline)."""


def unit(vectors: Float[Tensor, "... d"]) -> Float[Tensor, "... d"]:
    """Scales vectors (…, d) to length 1, in float32.

    >>> unit(torch.tensor([[3.0, 4.0]])).tolist()
    [[0.6000000238418579, 0.800000011920929]]
    """
    return torch.nn.functional.normalize(vectors.float(), dim=-1)


def pool_frames(frames: Float[Tensor, "n d"], pooling: Pooling) -> Float[Tensor, " d"]:
    """Pools the frame embeddings (n, d) of one clip into a unit vector (d,), in float32.

    Source: katha-ai/VELOCITI `get_video_features` takes the mean of un-normalised image embeddings
    and normalises the result; both orders are offered because they rank clips differently.

    >>> frames = torch.tensor([[2.0, 0.0], [0.0, 1.0]])
    >>> [round(x, 4) for x in pool_frames(frames, "mean_then_normalise").tolist()]
    [0.8944, 0.4472]
    >>> [round(x, 4) for x in pool_frames(frames, "normalise_then_mean").tolist()]
    [0.7071, 0.7071]
    """
    frames = frames.float()
    return unit((unit(frames) if pooling == "normalise_then_mean" else frames).mean(dim=0))


def embedding_of(features: Any) -> Tensor:
    """Takes the embedding (n, d) out of what transformers returns: since 5.0 a named output."""
    embedding: Tensor = features if torch.is_tensor(features) else features.pooler_output
    return embedding
