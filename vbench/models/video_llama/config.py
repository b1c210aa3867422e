"""The sizes of Video-LLaMA, which its authors' code fixes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from transformers import AutoConfig, Blip2QFormerConfig, Blip2VisionConfig, PreTrainedConfig
from transformers.configuration_utils import SubConfigSpec

from vbench.models.blip2.files import with_language

_OWN = (
    *("vision_config", "qformer_config", "video_qformer_config"),
    *("num_query_tokens", "num_video_query_tokens", "max_frames"),
)


class VideoLlamaConfig(PreTrainedConfig):
    """DAMO-NLP-SG/Video-LLaMA, video_llama/models/video_llama.py and eval_configs/.

    There is no config.json but LLaMA's: sizes other than the published ones may stand in it.
    """

    model_type = "video_llama"
    sub_configs_defaults: ClassVar[dict[str, Any]] = {
        "vision_config": SubConfigSpec(config_class=Blip2VisionConfig),
        "qformer_config": SubConfigSpec(config_class=Blip2QFormerConfig),
        "video_qformer_config": SubConfigSpec(
            config_class=Blip2QFormerConfig,
            init_kwargs={
                "num_hidden_layers": 2,
                "cross_attention_frequency": 1,
                "encoder_hidden_size": 768,
            },
        ),
        "text_config": SubConfigSpec(config_class=AutoConfig, model_type="llama"),
    }

    vision_config: dict[str, Any] | PreTrainedConfig | None = None
    qformer_config: dict[str, Any] | PreTrainedConfig | None = None
    video_qformer_config: dict[str, Any] | PreTrainedConfig | None = None
    text_config: dict[str, Any] | PreTrainedConfig | None = None
    num_query_tokens: int = 32
    num_video_query_tokens: int = 32
    max_frames: int = 32
    """How many places in time have an embedding."""
    tie_word_embeddings: bool = False

    @property
    def video_token_id(self) -> int:
        """What stands for a visual feature: the first id after the words."""
        return int(self.text_config.vocab_size)  # type: ignore[union-attr]

    @property
    def features(self) -> int:
        """How many tokens a video takes, whatever its number of frames."""
        return self.num_video_query_tokens

    @classmethod
    def from_dict(cls, config_dict: Mapping[str, Any], **options: Any) -> Any:
        """Reads LLaMA's config.json, or its own."""
        if config_dict.get("model_type") != cls.model_type:
            config_dict = with_language(config_dict, _OWN)
        return super().from_dict(dict(config_dict), **options)
