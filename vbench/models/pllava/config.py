"""The sizes of PLLaVA, as its config.json writes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from transformers import AutoConfig, CLIPVisionConfig, PreTrainedConfig
from transformers.configuration_utils import SubConfigSpec

POOLED = (16, 12, 12)
"""Moments, rows and columns that a video is pooled to. PLLaVA's code sets it when it loads,
whatever the file says (magic-research/PLLaVA, tasks/eval/model_utils.py)."""

FEATURES = POOLED[0] * POOLED[1] * POOLED[2]
"""How many tokens a video takes, whatever its number of frames."""


class PllavaConfig(PreTrainedConfig):
    """magic-research/PLLaVA, models/pllava/configuration_pllava.py."""

    model_type = "pllava"
    sub_configs_defaults: ClassVar[dict[str, Any]] = {
        "vision_config": SubConfigSpec(config_class=CLIPVisionConfig),
        "text_config": SubConfigSpec(config_class=AutoConfig, model_type="llama"),
    }

    vision_config: dict[str, Any] | PreTrainedConfig | None = None
    text_config: dict[str, Any] | PreTrainedConfig | None = None
    image_token_index: int = 32000
    projector_hidden_act: str = "gelu"
    tie_word_embeddings: bool = False

    @property
    def video_token_id(self) -> int:
        """What stands for a visual feature; the original has it once, for all of a video's."""
        return int(self.image_token_index)


def is_pllava(said: Mapping[str, Any]) -> bool:
    """Whether a config.json is PLLaVA's, which calls itself LLaVA.

    >>> is_pllava({"model_type": "llava", "pooling_shape": [16, 12, 12]})
    True
    >>> is_pllava({"model_type": "llava"})
    False
    """
    written = "PllavaForConditionalGeneration" in (said.get("architectures") or ())
    return said.get("model_type") == "llava" and (written or "pooling_shape" in said)
