"""Valley: a feature for each place, pooled over frames, and one for each frame; LLaMA.

RupertLuo/Valley, valley/model/valley_model.py.
"""

from __future__ import annotations

from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from transformers import LlamaForCausalLM

from vbench.models.valley.config import ValleyConfig
from vbench.models.vlm.clip_tower import ClipTower
from vbench.models.vlm.llava_files import LlavaFilesModel

_MOST_FRAMES = 2048
"""How many moments have a place in `position_matrix`."""
_HEADS, _BETWEEN = 8, 2048


class ValleyForConditionalGeneration(LlavaFilesModel):
    """256 features of places, then one of each frame.

    Args:
        config: A `ValleyConfig`.
    """

    config_class = ValleyConfig
    own_tower: ClassVar[bool] = True
    parts: ClassVar[tuple[str, ...]] = (
        *("mm_projector.", "pooling_layer.", "transformer_delta_encoder.", "position_matrix"),
    )
    spare: ClassVar[tuple[str, ...]] = ("transforemr_adding_layer.",)
    """The layer that the encoder was made as a copy of."""
    _no_split_modules: ClassVar[list[str]] = ["CLIPEncoderLayer", "LlamaDecoderLayer"]

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        words = config.text_config.hidden_size
        self.vision_tower = ClipTower(config.vision_config, config.mm_vision_select_layer)
        self.mm_projector = nn.Linear(config.vision_config.hidden_size, words)
        if config.pooling == "importance":
            self.pooling_layer = nn.Linear(words * config.places, 1)
        if config.pooling == "delta":
            layer = nn.TransformerEncoderLayer(words, _HEADS, _BETWEEN, batch_first=True)
            self.transformer_delta_encoder = nn.TransformerEncoder(
                layer, num_layers=1, enable_nested_tensor=False
            )
            self.position_matrix = nn.Parameter(torch.zeros(_MOST_FRAMES, words))
        self.language_model = LlamaForCausalLM(config.text_config)
        self.post_init()

    def get_video_features(self, pixel_values_videos: Tensor) -> Tensor:
        """Takes (videos, frames, 3, height, width), returns (videos, features, width)."""
        videos, frames = pixel_values_videos.shape[:2]
        states = self.mm_projector(self.vision_tower(pixel_values_videos.flatten(0, 1)))
        states = states.view(videos, frames, *states.shape[1:])
        places = torch.stack([self._pooled(own) for own in states[:, :, 1:]])
        return torch.cat([places, states[:, :, 0]], dim=1)

    def _pooled(self, patches: Tensor) -> Tensor:
        """Takes (frames, places, width) of one video, returns (places, width)."""
        mean = patches.mean(dim=0)
        if self.config.pooling == "importance":
            weight = self.pooling_layer(patches.flatten(1)).softmax(dim=0)
            return (weight[:, :, None] * patches).sum(dim=0)  # type: ignore[no-any-return]
        if self.config.pooling == "delta":
            moving = patches.transpose(0, 1) + self.position_matrix[: len(patches)]
            return mean + self.transformer_delta_encoder(moving)[:, -1]  # type: ignore[no-any-return]
        return mean
