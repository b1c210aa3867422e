"""Owl-Con: low-rank changes merged into the weights they change."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor

from vbench.models.vlm.lora import Adapter

from ..assembled_runs import load, noise

State = dict[str, Tensor]


@pytest.mark.parametrize(("alpha", "scale"), [(3, 1.0), (6, 2.0)])
def test_merged_weights_equal_two_paths(
    owl: Path, owl_con: Path, low_rank: State, alpha: int, scale: float
) -> None:
    merged = load(owl, checkpoint=str(owl_con), alpha=alpha)
    plain = load(owl)
    modules = dict(plain.named_modules())
    layers = {name.rpartition(".")[0] for name in low_rank}
    assert len(layers) == 2 * 7  # q, k, v, o, gate, up and down of both blocks
    ids = torch.tensor([[1, 300, *([plain.config.video_token_id] * 5), 310, 320]])
    pixels = noise(3, 16)
    with torch.no_grad():
        unchanged = plain(ids, pixel_values_videos=pixels).logits
        for layer in layers:
            down, up = low_rank[f"{layer}.lora_A"], low_rank[f"{layer}.lora_B"]
            modules[layer].register_forward_hook(
                lambda _, given, made, down=down, up=up: made + scale * (given[0] @ down.T) @ up.T
            )
        two_paths = plain(ids, pixel_values_videos=pixels).logits
        found = merged(ids, pixel_values_videos=pixels).logits
    size = two_paths.abs().max()
    assert (two_paths - unchanged).abs().max() > 0.1 * size
    torch.testing.assert_close(found / size, two_paths / size, rtol=0, atol=1e-5)


def test_merged_weights_come_in_the_precision_asked_for(owl: Path, owl_con: Path) -> None:
    model = load(owl, "bf16-true", checkpoint=str(owl_con), alpha=3)
    assert {weight.dtype for weight in model.parameters()} == {torch.bfloat16}
    assert not any(weight.requires_grad for weight in model.parameters())


def test_the_scale_is_part_of_the_identity(owl_con: Path) -> None:
    one, two = (Adapter.of({"checkpoint": str(owl_con), "alpha": alpha}) for alpha in (3, 6))
    assert one.identity() != two.identity()
    assert one.identity().startswith("sha256:")
