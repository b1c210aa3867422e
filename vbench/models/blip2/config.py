"""What the configs of these models share: BLIP-2's parts, and LLaMA's config.json around them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from transformers import AutoConfig, Blip2QFormerConfig, Blip2VisionConfig, PreTrainedConfig
from transformers.configuration_utils import SubConfigSpec

from vbench.models.blip2.files import with_language

PARTS: Mapping[str, SubConfigSpec] = {
    "vision_config": SubConfigSpec(config_class=Blip2VisionConfig),
    "qformer_config": SubConfigSpec(config_class=Blip2QFormerConfig),
    "text_config": SubConfigSpec(config_class=AutoConfig, model_type="llama"),
}


class Blip2PartsConfig(PreTrainedConfig):
    """The sizes of a model made of BLIP-2's parts and LLaMA.

    There is no config.json but LLaMA's: sizes other than the published ones may stand in it.
    """

    sub_configs_defaults: ClassVar[dict[str, Any]] = dict(PARTS)
    own: ClassVar[tuple[str, ...]] = ("vision_config", "qformer_config", "num_query_tokens")
    """What in LLaMA's config.json is not LLaMA's."""

    vision_config: dict[str, Any] | PreTrainedConfig | None = None
    qformer_config: dict[str, Any] | PreTrainedConfig | None = None
    text_config: dict[str, Any] | PreTrainedConfig | None = None
    num_query_tokens: int = 32
    tie_word_embeddings: bool = False

    @property
    def video_token_id(self) -> int:
        """What stands for a visual feature: the first id after the words."""
        return int(self.text_config.vocab_size)  # type: ignore[union-attr]

    @classmethod
    def from_dict(cls, config_dict: Mapping[str, Any], **options: Any) -> Any:
        """Reads LLaMA's config.json, or its own."""
        if config_dict.get("model_type") != cls.model_type:
            config_dict = with_language(config_dict, cls.own)
        return super().from_dict(dict(config_dict), **options)
