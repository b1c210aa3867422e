"""VideoChat: BLIP-2 over all frames at once, with a token for what goes on between them, LLaMA.

OpenGVLab/Ask-Anything, video_chat/models/videochat.py and eva_vit.py. As its configs are: no
frames are joined at the entrance, and no local attention over time.
"""

from __future__ import annotations

from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from transformers import Blip2QFormerModel, Blip2VisionModel, LlamaForCausalLM

from vbench.models.blip2.vision import NORM_EPS, ask
from vbench.models.video_chat.config import VideoChatConfig
from vbench.models.video_chat.gmhra import GlobalBlock
from vbench.models.vlm.spliced import SplicedModel


class VideoChatForConditionalGeneration(SplicedModel):
    """As many features for a video of any length.

    Args:
        config: A `VideoChatConfig`.
    """

    config_class = VideoChatConfig
    _no_split_modules: ClassVar[list[str]] = [
        "Blip2EncoderLayer",
        "Blip2QFormerLayer",
        "GlobalBlock",
        "LlamaDecoderLayer",
    ]

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        vision, reader = config.vision_config, config.qformer_config
        self.vision_model = Blip2VisionModel(vision)
        self.vision_model.post_layernorm.eps = NORM_EPS
        self.gmhra_cls_token = nn.Parameter(torch.zeros(1, 1, vision.hidden_size))
        self.gmhra = nn.ModuleList(GlobalBlock(vision) for _ in range(config.global_blocks))
        width = reader.hidden_size
        self.query_tokens = nn.Parameter(torch.zeros(1, config.num_query_tokens, width))
        self.extra_query_tokens = nn.Parameter(torch.zeros(1, config.num_extra_tokens, width))
        self.qformer = Blip2QFormerModel(reader)
        self.llama_proj = nn.Linear(width, config.text_config.hidden_size)
        self.language_model = LlamaForCausalLM(config.text_config)
        self.post_init()

    def get_video_features(self, pixel_values_videos: Tensor) -> Tensor:
        """Takes (videos, frames, 3, height, width), returns (videos, features, width)."""
        shape = pixel_values_videos.shape[:2]
        found = self.vision_model(pixel_values_videos.flatten(0, 1), output_hidden_states=True)
        layers = [
            states.reshape(*shape, *states.shape[1:])
            for states in found.hidden_states[-len(self.gmhra) :]
        ]
        token = self.gmhra_cls_token.expand(shape[0], -1, -1)
        for block, states in zip(self.gmhra, layers, strict=True):
            token = block(token, states)
        seen = torch.cat([layers[-1].flatten(1, 2), token], dim=1)
        queries = torch.cat([self.query_tokens, self.extra_query_tokens], dim=1)
        read = ask(self.qformer, queries, self.vision_model.post_layernorm(seen))
        return self.llama_proj(read)  # type: ignore[no-any-return]
