"""Chat-UniVi: CLIP's features merged within frames and within events, one linear layer, LLaMA.

PKU-YuanGroup/Chat-UniVi, ChatUniVi/model/arch.py.
"""

from __future__ import annotations

from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from transformers import LlamaForCausalLM

from vbench.models.chat_univi.config import STILL, ChatUniviConfig, clusters
from vbench.models.chat_univi.merging import merge
from vbench.models.vlm.clip_tower import ClipTower
from vbench.models.vlm.llava_files import LlavaFilesModel

_NEIGHBOURS = (5, 3, 3)
"""Of each level."""
_EVENT_NEIGHBOURS = 5


class ChatUniviForConditionalGeneration(LlavaFilesModel):
    """112 features for each frame of up to two, or for each event of a video.

    Args:
        config: A `ChatUniviConfig`.
    """

    config_class = ChatUniviConfig
    _no_split_modules: ClassVar[list[str]] = ["CLIPEncoderLayer", "LlamaDecoderLayer"]

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        self.vision_tower = ClipTower(config.vision_config, config.mm_vision_select_layer)
        self.mm_projector = nn.Linear(
            config.vision_config.hidden_size, config.text_config.hidden_size
        )
        self.language_model = LlamaForCausalLM(config.text_config)
        self.post_init()

    def get_video_features(self, pixel_values_videos: Tensor) -> Tensor:
        """Takes (videos, frames, 3, height, width), returns (videos, features, width)."""
        made = [self._merged(self.vision_tower(frames)[:, 1:]) for frames in pixel_values_videos]
        return self.mm_projector(torch.stack(made))  # type: ignore[no-any-return]

    def _merged(self, patches: Tensor) -> Tensor:
        """Takes (frames, patches, width) of one video, returns (features, width)."""
        levels, merged = [], patches
        for rate, nearest in zip(self.config.levels, _NEIGHBOURS, strict=True):
            merged, _ = merge(merged, clusters(merged.shape[1], rate), nearest)
            levels.append(merged)
        if len(patches) <= STILL:
            return torch.cat(levels, dim=1).flatten(0, 1)
        made = []
        for event in self._events(patches):
            for level, rate, nearest in zip(levels, self.config.levels, _NEIGHBOURS, strict=True):
                tokens = level[event].flatten(0, 1)[None]
                made.append(merge(tokens, clusters(tokens.shape[1], rate), nearest)[0][0])
        return torch.cat(made)

    def _events(self, patches: Tensor) -> list[Tensor]:
        """Returns the places of each event's frames, events in the order of their first frames."""
        frames = patches.mean(dim=1)[None]
        count = clusters(len(patches), self.config.events)
        _, found = merge(frames, count, _EVENT_NEIGHBOURS)
        names = dict.fromkeys(found[0].tolist())
        return [(found[0] == name).nonzero()[:, 0] for name in names]
