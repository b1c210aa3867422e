"""CLIP's vision side as the vision tower of a language model."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn
from transformers import CLIPVisionModel

LAYER = -2
"""The layer of CLIP whose states are read, as in LLaVA: the one before the last."""


class ClipTower(nn.Module):
    """CLIP under the name that files of transformers 4 give it.

    Args:
        config: A `CLIPVisionConfig`.
        layer: Whose states are read: 0 are the embeddings, -1 is the last one.
    """

    def __init__(self, config: Any, layer: int = LAYER) -> None:
        super().__init__()
        made = CLIPVisionModel(config)
        self.vision_model = getattr(made, "vision_model", made)  # one level less since 5.x
        self.layer = layer

    def forward(self, frames: Tensor) -> Tensor:
        """Takes (frames, 3, height, width), returns (frames, 1 + patches, width)."""
        states = self.vision_model(frames, output_hidden_states=True).hidden_states
        return states[self.layer]  # type: ignore[no-any-return]
