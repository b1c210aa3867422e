"""Weights change their dtype; the constants beside them and positions do not."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

from vbench.models.vlm.weights import exact_constants


@pytest.fixture
def half_by_default() -> Iterator[None]:
    """As Lightning has it under bf16-true."""
    torch.set_default_dtype(torch.bfloat16)
    yield
    torch.set_default_dtype(torch.float32)


SIDE = 14
"""Patches per side. At some counts, this one among them, bfloat16 moves most patches."""


def patch_places() -> list[int]:
    """The position embeddings that SmolVLM's vision tower looks up, patch by patch."""
    from transformers.models.smolvlm.configuration_smolvlm import SmolVLMVisionConfig
    from transformers.models.smolvlm.modeling_smolvlm import SmolVLMVisionEmbeddings

    config = SmolVLMVisionConfig(
        hidden_size=1, image_size=2 * SIDE, patch_size=2, num_attention_heads=1
    )
    tower = SmolVLMVisionEmbeddings(config).float()
    tower.position_embedding.weight.data = torch.arange(SIDE**2)[:, None].float()
    tower.patch_embedding.weight.data.zero_()
    tower.patch_embedding.bias.data.zero_()
    pixels = torch.zeros(1, 3, 2 * SIDE, 2 * SIDE, dtype=torch.float32)
    places = tower(pixels, torch.ones(1, SIDE, SIDE, dtype=torch.bool))
    return [int(place) for place in places.flatten()]


def test_patches_stay_in_place_under_half_precision(half_by_default: None) -> None:
    with exact_constants():
        assert torch.tensor(0.1).dtype == torch.float32
        assert patch_places() == list(range(SIDE**2))
    assert torch.get_default_dtype() == torch.bfloat16
    assert patch_places() != list(range(SIDE**2))  # what it is there to prevent
