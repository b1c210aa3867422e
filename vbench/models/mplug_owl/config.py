"""The sizes of mPLUG-Owl, for videos and for images, as their config.json write them."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, ClassVar

from transformers import AutoConfig, PreTrainedConfig
from transformers.configuration_utils import SubConfigSpec

_MULTIPLE = 256
"""Widths of the abstractor's feed-forward layers are multiples of it."""


class MplugOwlVisionConfig(PreTrainedConfig):
    """A CLIP ViT-L/14 with an adapter for time in every layer."""

    model_type = "mplug_owl_vision_model"
    base_config_key = "vision_config"
    temporal = True

    hidden_size: int = 1024
    intermediate_size: int = 4096
    num_hidden_layers: int = 24
    num_attention_heads: int = 16
    image_size: int = 224
    patch_size: int = 14
    layer_norm_eps: float = 1e-6


class MplugOwlAbstractorConfig(PreTrainedConfig):
    """Learned queries that read all frames at once."""

    model_type = "mplug_owl_visual_abstract"
    base_config_key = "visual_abstractor_config"
    temporal = True

    hidden_size: int = 1024
    intermediate_size: int = 4096
    num_hidden_layers: int = 6
    num_attention_heads: int = 16
    encoder_hidden_size: int = 1024
    layer_norm_eps: float = 1e-6

    @property
    def gated_size(self) -> int:
        """The width between: two thirds of what is written, rounded up; 2816 stands for itself.

        >>> MplugOwlAbstractorConfig(intermediate_size=4096).gated_size
        2816
        """
        if self.intermediate_size == 11 * _MULTIPLE:
            return self.intermediate_size
        return -(-int(2 * self.intermediate_size / 3) // _MULTIPLE) * _MULTIPLE


class MplugOwlConfig(PreTrainedConfig):
    """X-PLUG/mPLUG-Owl, mplug_owl_video/configuration_mplug_owl.py."""

    model_type = "mplug-owl"
    sub_configs_defaults: ClassVar[dict[str, Any]] = {
        "vision_config": SubConfigSpec(config_class=MplugOwlVisionConfig),
        "visual_abstractor_config": SubConfigSpec(config_class=MplugOwlAbstractorConfig),
        "text_config": SubConfigSpec(config_class=AutoConfig, model_type="llama"),
    }

    vision_config: dict[str, Any] | PreTrainedConfig | None = None
    visual_abstractor_config: dict[str, Any] | PreTrainedConfig | None = None
    text_config: dict[str, Any] | PreTrainedConfig | None = None
    num_query_tokens: int = 64
    tie_word_embeddings: bool = False

    @property
    def video_token_id(self) -> int:
        """What stands for a visual feature: the first id after the words, which has no embedding.

        The original writes -2 there, which no tokenizer can.
        """
        return int(self.text_config.vocab_size)  # type: ignore[union-attr]


class MplugOwlImageVisionConfig(MplugOwlVisionConfig):
    """A CLIP ViT-L/14."""

    temporal = False


class MplugOwlImageAbstractorConfig(MplugOwlAbstractorConfig):
    """Learned queries that read one frame."""

    temporal = False

    @property
    def gated_size(self) -> int:
        """The width between: what is written.

        >>> MplugOwlImageAbstractorConfig(intermediate_size=4096).gated_size
        4096
        """
        return self.intermediate_size


class MplugOwlImageConfig(MplugOwlConfig):
    """X-PLUG/mPLUG-Owl, mplug_owl/configuration_mplug_owl.py: the same words, other layers."""

    model_type = "mplug-owl-image"
    sub_configs_defaults: ClassVar[dict[str, Any]] = {
        "vision_config": SubConfigSpec(config_class=MplugOwlImageVisionConfig),
        "visual_abstractor_config": SubConfigSpec(config_class=MplugOwlImageAbstractorConfig),
        "text_config": SubConfigSpec(config_class=AutoConfig, model_type="llama"),
    }


def is_for_images(weights: Collection[str]) -> bool:
    """Whether a checkpoint is the image model's: its config.json says what the video model's does.

    Args:
        weights: The names of its weights; none where they lie elsewhere.

    >>> is_for_images(["query_tokens"])
    True
    >>> is_for_images(["query_tokens", "temporal_query_tokens"])
    False
    """
    return bool(weights) and not any("temporal" in name for name in weights)
