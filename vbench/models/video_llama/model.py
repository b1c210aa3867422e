"""Video-LLaMA: BLIP-2 on each frame, a second Q-Former over all of them, LLaMA.

DAMO-NLP-SG/Video-LLaMA, video_llama/models/video_llama.py. Its audio branch is not here.
"""

from __future__ import annotations

from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from transformers import Blip2QFormerModel, Blip2VisionModel, LlamaForCausalLM

from vbench.models.blip2.vision import NORM_EPS, ask
from vbench.models.video_llama.config import VideoLlamaConfig
from vbench.models.vlm.spliced import SplicedModel


class VideoLlamaForConditionalGeneration(SplicedModel):
    """As many features for a video of any length.

    Args:
        config: A `VideoLlamaConfig`.
    """

    config_class = VideoLlamaConfig
    _no_split_modules: ClassVar[list[str]] = [
        "Blip2EncoderLayer",
        "Blip2QFormerLayer",
        "LlamaDecoderLayer",
    ]

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        frame, video = config.qformer_config, config.video_qformer_config
        self.vision_model = Blip2VisionModel(config.vision_config)
        self.vision_model.post_layernorm.eps = NORM_EPS
        self.query_tokens = nn.Parameter(torch.zeros(1, config.num_query_tokens, frame.hidden_size))
        self.qformer = Blip2QFormerModel(frame)
        self.video_frame_position_embedding = nn.Embedding(config.max_frames, frame.hidden_size)
        shape = (1, config.num_video_query_tokens, video.hidden_size)
        self.video_query_tokens = nn.Parameter(torch.zeros(shape))
        self.video_qformer = Blip2QFormerModel(video)
        self.llama_proj = nn.Linear(video.hidden_size, config.text_config.hidden_size)
        self.language_model = LlamaForCausalLM(config.text_config)
        self.post_init()

    def get_video_features(self, pixel_values_videos: Tensor) -> Tensor:
        """Takes (videos, frames, 3, height, width), returns (videos, features, width).

        Raises:
            ValueError: There are more frames than places in time.
        """
        videos, count = pixel_values_videos.shape[:2]
        if count > self.config.max_frames:
            raise ValueError(f"{count} frames, of at most {self.config.max_frames}")
        seen = self.vision_model(pixel_values_videos.flatten(0, 1)).last_hidden_state
        frames = ask(self.qformer, self.query_tokens, seen)
        frames = frames.reshape(videos, count, *frames.shape[1:])
        frames = frames + self.video_frame_position_embedding.weight[:count, None]
        whole = ask(self.video_qformer, self.video_query_tokens, frames.flatten(1, 2))
        return self.llama_proj(whole)  # type: ignore[no-any-return]
