"""Valley's features, pooled in each way, against plain arithmetic on the tensors of its files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Tensor

from ..assembled_runs import load, noise, sharing_changes_no_score, two_questions
from ..plain_arithmetic import PlainClip, attend, close
from .conftest import OF_POOLING, random_state


def video(count: int) -> Tensor:
    return noise(count, 16)


class Plain(PlainClip):
    """The same with loops over places and frames, read off the published code."""

    root = "model.vision_tower.vision_model"

    def features(self, frames: Tensor, pooling: str) -> Tensor:
        """Takes (frames, 3, side, side), returns (features, words)."""
        seen = [self.clip(frame, layers=2) for frame in frames.double()]
        words = [self.linear("model.mm_projector", tokens) for tokens in seen]
        shares = torch.full((len(words),), 1 / len(words), dtype=torch.float64)
        if pooling == "importance":
            rows = torch.stack([tokens[1:].flatten() for tokens in words])
            shares = self.linear("model.pooling_layer", rows)[:, 0].softmax(0)
        made = [
            sum(share * tokens[place] for share, tokens in zip(shares, words, strict=True))
            for place in range(1, 17)
        ]
        if pooling == "delta":
            places = self.state["model.position_matrix"][: len(words)]
            for place in range(1, 17):
                moving = torch.stack([tokens[place] for tokens in words]) + places
                made[place - 1] = made[place - 1] + self.encoded(moving)[-1]
        return torch.stack([*made, *(tokens[0] for tokens in words)])

    def encoded(self, x: Tensor) -> Tensor:
        """A layer of torch's encoder, eight heads, norms after the sums."""
        root = "model.transformer_delta_encoder.layers.0"
        kernel = self.state[f"{root}.self_attn.in_proj_weight"]
        mixed = x @ kernel.T + self.state[f"{root}.self_attn.in_proj_bias"]
        parts = [part.chunk(8, dim=-1) for part in mixed.chunk(3, dim=-1)]
        heads = [attend(*head) for head in zip(*parts, strict=True)]
        found = self.linear(f"{root}.self_attn.out_proj", torch.cat(heads, dim=-1))
        x = self.norm(f"{root}.norm1", x + found)
        inner = self.linear(f"{root}.linear1", x).clamp(min=0)
        return self.norm(f"{root}.norm2", x + self.linear(f"{root}.linear2", inner))


@pytest.mark.parametrize("pooling", OF_POOLING)
@pytest.mark.parametrize("count", [1, 3])
def test_features_equal_plain_arithmetic(
    valley: Callable[[str], Path], pooling: str, count: int
) -> None:
    model, pixels = load(valley(pooling)), video(count)
    assert model.config.pooling == pooling
    with torch.no_grad():
        found = model.get_video_features(pixels)
    assert found.shape == (1, 16 + count, 16)
    close(found, Plain(random_state(pooling)).features(pixels[0], pooling)[None], 2e-6)


def test_sharing_a_prefix_changes_no_score(valley: Callable[[str], Path]) -> None:
    model = load(valley("mean"))
    visual = (model.config.video_token_id,)
    video_ids = (462, *visual * 16, 463, 464, *visual * 3, 465)
    sharing_changes_no_score(model, two_questions(*video_ids), video(3))
