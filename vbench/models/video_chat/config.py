"""The sizes of VideoChat, which its authors' code and configs fix."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from transformers import AutoConfig, Blip2QFormerConfig, Blip2VisionConfig, PreTrainedConfig
from transformers.configuration_utils import SubConfigSpec

from vbench.models.blip2.files import with_language

_OWN = ("vision_config", "qformer_config", "num_query_tokens", "num_extra_tokens", "global_blocks")


class VideoChatConfig(PreTrainedConfig):
    """OpenGVLab/Ask-Anything, video_chat/configs/config_7b.json.

    There is no config.json but LLaMA's: sizes other than the published ones may stand in it.
    """

    model_type = "video_chat"
    sub_configs_defaults: ClassVar[dict[str, Any]] = {
        "vision_config": SubConfigSpec(config_class=Blip2VisionConfig),
        "qformer_config": SubConfigSpec(config_class=Blip2QFormerConfig),
        "text_config": SubConfigSpec(config_class=AutoConfig, model_type="llama"),
    }

    vision_config: dict[str, Any] | PreTrainedConfig | None = None
    qformer_config: dict[str, Any] | PreTrainedConfig | None = None
    text_config: dict[str, Any] | PreTrainedConfig | None = None
    num_query_tokens: int = 32
    num_extra_tokens: int = 64
    """Queries that were added to BLIP-2's for videos."""
    global_blocks: int = 8
    """Of the vision tower's last layers, each has a block that looks at all frames (GMHRA)."""
    tie_word_embeddings: bool = False

    @property
    def video_token_id(self) -> int:
        """What stands for a visual feature: the first id after the words."""
        return int(self.text_config.vocab_size)  # type: ignore[union-attr]

    @property
    def features(self) -> int:
        """How many tokens a video takes, whatever its number of frames."""
        return self.num_query_tokens + self.num_extra_tokens

    @classmethod
    def from_dict(cls, config_dict: Mapping[str, Any], **options: Any) -> Any:
        """Reads LLaMA's config.json, or its own."""
        if config_dict.get("model_type") != cls.model_type:
            config_dict = with_language(config_dict, _OWN)
        return super().from_dict(dict(config_dict), **options)
