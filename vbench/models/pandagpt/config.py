"""The sizes of PandaGPT, which its authors' code fixes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from transformers import AutoConfig, PreTrainedConfig
from transformers.configuration_utils import SubConfigSpec


class ImageBindVisionConfig(PreTrainedConfig):
    """ImageBind-Huge's trunk for pictures and videos (imagebind_model.py, imagebind_huge)."""

    model_type = "imagebind_vision_model"
    base_config_key = "vision_config"

    hidden_size: int = 1280
    num_hidden_layers: int = 32
    num_attention_heads: int = 16
    image_size: int = 224
    patch_size: int = 14
    frames_per_patch: int = 2
    projection_dim: int = 1024


class PandaGptConfig(PreTrainedConfig):
    """yxuansu/PandaGPT, code/model/openllama.py.

    There is no config.json but Vicuna's: a `vision_config` of other sizes may stand in it.
    """

    model_type = "pandagpt"
    sub_configs_defaults: ClassVar[dict[str, Any]] = {
        "vision_config": SubConfigSpec(config_class=ImageBindVisionConfig),
        "text_config": SubConfigSpec(config_class=AutoConfig, model_type="llama"),
    }

    vision_config: dict[str, Any] | PreTrainedConfig | None = None
    text_config: dict[str, Any] | PreTrainedConfig | None = None
    tie_word_embeddings: bool = False

    @property
    def video_token_id(self) -> int:
        """What stands for the visual feature: the first id after the words."""
        return int(self.text_config.vocab_size)  # type: ignore[union-attr]

    @classmethod
    def from_dict(cls, config_dict: Mapping[str, Any], **options: Any) -> Any:
        """Reads Vicuna's config.json, or its own."""
        said = dict(config_dict)
        if said.get("model_type") != cls.model_type:
            vision = said.pop("vision_config", None)
            said = {"text_config": said, "vision_config": vision}
        return super().from_dict(said, **options)
