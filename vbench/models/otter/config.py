"""The sizes of Otter, as its config.json writes them."""

from __future__ import annotations

from typing import Any, ClassVar

from transformers import AutoConfig, CLIPVisionConfig, PreTrainedConfig
from transformers.configuration_utils import SubConfigSpec
from transformers.utils import cached_file

MARKS = ("<|endofchunk|>", "<image>", "<answer>", "<PAD>")
"""What the original adds to LLaMA's words, in this order, when it makes a model."""


class OtterConfig(PreTrainedConfig):
    """Luodian/Otter, src/otter_ai/models/otter/configuration_otter.py and modeling_otter.py."""

    model_type = "otter"
    sub_configs_defaults: ClassVar[dict[str, Any]] = {
        "vision_config": SubConfigSpec(config_class=CLIPVisionConfig),
        "text_config": SubConfigSpec(config_class=AutoConfig, model_type="llama"),
    }

    vision_config: dict[str, Any] | PreTrainedConfig | None = None
    text_config: dict[str, Any] | PreTrainedConfig | None = None
    cross_attn_every_n_layers: int = 4
    max_num_frames: int | None = None
    """How many places in time have an embedding; None: frames come without."""
    perceiver_layers: int = 6
    latents: int = 64
    """Features of a video; these three and `head_size` are fixed in the original's code."""
    visual_heads: int = 8
    head_size: int = 64
    reply_sees_video: bool = False
    """Whether what follows `<answer>` looks at the video. In training it does; when the original
    generates it does not, since its cache of keys and values knows of no earlier `<image>`."""
    base_words: int = 32_000
    """How many words LLaMA's tokenizer has: the original's own come after them, whatever rows the
    model has."""
    words: str | None = None
    """Where the tokenizer is, if the checkpoint has none: the LLaMA that it was made from."""
    tie_word_embeddings: bool = False

    @classmethod
    def get_config_dict(cls, source: Any, **options: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        """Reads config.json, and says where the tokenizer is."""
        said, rest = super().get_config_dict(source, **options)
        known = {
            name: options[name] for name in ("revision", "local_files_only") if name in options
        }
        own = (
            cached_file(source, name, _raise_exceptions_for_missing_entries=False, **known)
            for name in ("tokenizer.model", "tokenizer.json")
        )
        if not any(own):
            said["words"] = (said.get("text_config") or {}).get("_name_or_path")
        return said, rest

    @property
    def end_token_id(self) -> int:
        """What ends a reply."""
        return self.base_words

    @property
    def video_token_id(self) -> int:
        """What stands for a video: a word of its own, from which on the video is seen."""
        return self.base_words + 1

    @property
    def answer_token_id(self) -> int:
        """What a reply follows."""
        return self.base_words + 2
