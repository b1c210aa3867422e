"""Video-ChatGPT: CLIP's features averaged over space and over time, one linear layer, LLaMA.

mbzuai-oryx/Video-ChatGPT, video_chatgpt/inference.py and video_chatgpt/model/video_chatgpt.py.
"""

from __future__ import annotations

from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional
from transformers import LlamaForCausalLM

from vbench.errors import ModelError
from vbench.models.video_chatgpt.config import MOMENTS, VideoChatGptConfig
from vbench.models.vlm.clip_tower import ClipTower
from vbench.models.vlm.llava_files import LlavaFilesModel


class VideoChatGptForConditionalGeneration(LlavaFilesModel):
    """356 features for a video of up to 100 frames.

    Args:
        config: A `VideoChatGptConfig`.
    """

    config_class = VideoChatGptConfig
    _no_split_modules: ClassVar[list[str]] = ["CLIPEncoderLayer", "LlamaDecoderLayer"]

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        self.vision_tower = ClipTower(config.vision_config)
        self.mm_projector = nn.Linear(
            config.vision_config.hidden_size, config.text_config.hidden_size
        )
        self.language_model = LlamaForCausalLM(config.text_config)
        self.post_init()

    @classmethod
    def from_pretrained(cls, *given: Any, **options: Any) -> Any:
        """Loads LLaVA's files and what was tuned (see `LlavaFilesModel`).

        Raises:
            ModelError: They are LLaVA's alone.
        """
        config = options["config"]
        if config.written != config.model_type and options.get("state_dict") is None:
            raise ModelError(
                "these are LLaVA's own files, which know no video",
                where=f"checkpoint {config.files['source']}",
                why="Video-ChatGPT is these files and one of tuned weights",
                mend="model.adapter.tuned=MBZUAI/Video-ChatGPT-7B, or the folder of that file; for "
                "LLaVA itself name a checkpoint in the layout of transformers (ending in -hf)",
            )
        return super().from_pretrained(*given, **options)

    def get_video_features(self, pixel_values_videos: Tensor) -> Tensor:
        """Takes (videos, frames, 3, height, width), returns (videos, features, width).

        First the moments, then the places. Moments that a video lacks are zeros before the
        projector, and so its bias after it.

        Raises:
            ValueError: There are more frames than moments.
        """
        videos, frames = pixel_values_videos.shape[:2]
        if frames > MOMENTS:
            raise ValueError(f"{frames} frames for {MOMENTS} moments")
        patches = self.vision_tower(pixel_values_videos.flatten(0, 1))[:, 1:]
        patches = patches.view(videos, frames, *patches.shape[1:])
        moments = functional.pad(patches.mean(dim=2), (0, 0, 0, MOMENTS - frames))
        places = patches.mean(dim=1)
        return self.mm_projector(  # type: ignore[no-any-return]
            torch.cat([moments, places], dim=1)
        )
