"""PLLaVA: LLaVA's parts, a video's features pooled over space and time.

magic-research/PLLaVA, models/pllava/modeling_pllava.py. Parameters have the names that the
published checkpoint gives them, once its LoRA is merged.
"""

from __future__ import annotations

from typing import Any, ClassVar

from torch import Tensor, nn
from torch.nn import functional
from transformers import LlamaForCausalLM
from transformers.activations import ACT2FN

from vbench.models.pllava.config import POOLED, PllavaConfig
from vbench.models.vlm.clip_tower import ClipTower
from vbench.models.vlm.spliced import SplicedModel


class Projector(nn.Module):
    """Two linear layers from CLIP's width to the language model's, then an average over cells."""

    def __init__(self, config: Any) -> None:
        super().__init__()
        width = config.text_config.hidden_size
        self.linear_1 = nn.Linear(config.vision_config.hidden_size, width)
        self.act = ACT2FN[config.projector_hidden_act]
        self.linear_2 = nn.Linear(width, width)

    def forward(self, patches: Tensor) -> Tensor:
        """Takes (videos, frames, patches, width), returns (videos, features, words).

        Features come by time, then row, then column. Fewer frames than moments are stretched.
        """
        words = self.linear_2(self.act(self.linear_1(patches)))
        side = round(words.shape[2] ** 0.5)
        grid = words.permute(0, 3, 1, 2).unflatten(-1, (side, side))
        return functional.adaptive_avg_pool3d(grid, POOLED).flatten(2).transpose(1, 2)


class PllavaForConditionalGeneration(SplicedModel):
    """2,304 features for a video of any length.

    Args:
        config: A `PllavaConfig`.
    """

    config_class = PllavaConfig
    _no_split_modules: ClassVar[list[str]] = ["CLIPEncoderLayer", "LlamaDecoderLayer"]

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        self.vision_tower = ClipTower(config.vision_config)
        self.multi_modal_projector = Projector(config)
        self.language_model = LlamaForCausalLM(config.text_config)
        self.post_init()

    def get_video_features(self, pixel_values_videos: Tensor) -> Tensor:
        """Takes (videos, frames, 3, height, width), returns (videos, features, width)."""
        patches = self.vision_tower(pixel_values_videos.flatten(0, 1))[:, 1:]
        shape = pixel_values_videos.shape[:2]
        return self.multi_modal_projector(patches.unflatten(0, shape))  # type: ignore[no-any-return]
