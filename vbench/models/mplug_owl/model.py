"""mPLUG-Owl: a vision tower, an abstractor and LLaMA, called as a model of transformers."""

from __future__ import annotations

from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from transformers import LlamaForCausalLM

from vbench.models.mplug_owl.abstractor import Abstractor
from vbench.models.mplug_owl.config import MplugOwlConfig, MplugOwlImageConfig
from vbench.models.mplug_owl.vision import VisionTower
from vbench.models.vlm.spliced import SplicedModel


class MplugOwlForConditionalGeneration(SplicedModel):
    """As many features for a video of any length.

    Args:
        config: A `MplugOwlConfig`.
    """

    config_class = MplugOwlConfig
    _no_split_modules: ClassVar[list[str]] = ["Layer", "LlamaDecoderLayer"]

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        abstractor = config.visual_abstractor_config
        shape = (1, config.num_query_tokens, abstractor.hidden_size)
        self.query_tokens = nn.Parameter(torch.zeros(shape))
        if abstractor.temporal:
            self.temporal_query_tokens = nn.Parameter(torch.zeros(shape))
        self.vision_model = VisionTower(config.vision_config)
        self.abstractor = Abstractor(abstractor, config.text_config.hidden_size)
        self.language_model = LlamaForCausalLM(config.text_config)
        self.post_init()

    def get_video_features(self, pixel_values_videos: Tensor) -> Tensor:
        """Takes (videos, frames, 3, height, width), returns (videos, features, width)."""
        frames = self.vision_model(pixel_values_videos)
        return self.abstractor(  # type: ignore[no-any-return]
            frames, self.query_tokens, self.temporal_query_tokens
        )


class MplugOwlImageForConditionalGeneration(MplugOwlForConditionalGeneration):
    """As many features for every frame, each a picture of its own.

    Args:
        config: A `MplugOwlImageConfig`.
    """

    config_class = MplugOwlImageConfig

    def get_video_features(self, pixel_values_videos: Tensor) -> Tensor:
        """Takes (videos, frames, 3, height, width), returns (videos, features, width)."""
        pictures = self.vision_model(pixel_values_videos.flatten(0, 1)[:, None])
        features: Tensor = self.abstractor(pictures, self.query_tokens, None)
        return features.reshape(len(pixel_values_videos), -1, features.shape[-1])
