"""The sizes of Video-LLaMA, which its authors' code fixes."""

from __future__ import annotations

from typing import Any, ClassVar

from transformers import Blip2QFormerConfig, PreTrainedConfig
from transformers.configuration_utils import SubConfigSpec

from vbench.models.blip2.config import PARTS, Blip2PartsConfig

_OVER_TIME = {
    "num_hidden_layers": 2,
    "cross_attention_frequency": 1,
    "encoder_hidden_size": 768,
}


class VideoLlamaConfig(Blip2PartsConfig):
    """DAMO-NLP-SG/Video-LLaMA, video_llama/models/video_llama.py and eval_configs/."""

    model_type = "video_llama"
    sub_configs_defaults: ClassVar[dict[str, Any]] = {
        **PARTS,
        "video_qformer_config": SubConfigSpec(
            config_class=Blip2QFormerConfig, init_kwargs=_OVER_TIME
        ),
    }
    own: ClassVar[tuple[str, ...]] = (
        *Blip2PartsConfig.own,
        *("video_qformer_config", "num_video_query_tokens", "max_frames"),
    )

    video_qformer_config: dict[str, Any] | PreTrainedConfig | None = None
    num_video_query_tokens: int = 32
    max_frames: int = 32
    """How many places in time have an embedding."""

    @property
    def features(self) -> int:
        """How many tokens a video takes, whatever its number of frames."""
        return self.num_video_query_tokens
