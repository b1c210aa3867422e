"""PandaGPT: a video is one vector of ImageBind's, which LLaMA reads in the place of a word."""

from __future__ import annotations

from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from transformers import LlamaForCausalLM

from vbench.models.pandagpt.config import PandaGptConfig
from vbench.models.pandagpt.imagebind import ImageBindVision, crops
from vbench.models.vlm.spliced import SplicedModel


class PandaGptForConditionalGeneration(SplicedModel):
    """One feature for a video of any length (yxuansu/PandaGPT, code/model/openllama.py).

    Args:
        config: A `PandaGptConfig`.
    """

    config_class = PandaGptConfig
    beside = ("clip_frames",)
    _no_split_modules: ClassVar[list[str]] = ["Block", "LlamaDecoderLayer"]

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        vision = config.vision_config
        self.visual_encoder = ImageBindVision(vision)
        self.llama_proj = nn.Linear(vision.projection_dim, config.text_config.hidden_size)
        self.language_model = LlamaForCausalLM(config.text_config)
        self.post_init()

    def get_video_features(self, pixel_values_videos: Tensor, clip_frames: Tensor) -> Tensor:  # type: ignore[override]
        """Reads videos: the mean over clips and crops of vectors of length one, itself shorter.

        Args:
            pixel_values_videos: (videos, frames, 3, height, width), the shorter edge as wide as the
                trunk's pictures.
            clip_frames: (videos, clips, 2), which two frames make a clip.

        Returns:
            (videos, 1, width).
        """
        side = self.config.vision_config.image_size
        means = []
        for frames, clips in zip(pixel_values_videos, clip_frames, strict=True):
            seen = crops(frames[clips].transpose(1, 2), side).flatten(0, 1)
            means.append(self.visual_encoder(seen).mean(dim=0))
        return self.llama_proj(torch.stack(means))[:, None]  # type: ignore[no-any-return]
