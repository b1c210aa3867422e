"""mPLUG-Owl-Video: a vision tower, an abstractor and LLaMA, called as a model of transformers."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from transformers import LlamaForCausalLM, PreTrainedModel
from transformers.utils import ModelOutput

from vbench.models.mplug_owl.abstractor import Abstractor
from vbench.models.mplug_owl.config import MplugOwlConfig
from vbench.models.mplug_owl.vision import VisionTower

_CACHE = next(
    name
    for name in ("cache", "past_key_values")
    if name in inspect.signature(LlamaForCausalLM.forward).parameters
)
"""What transformers calls a cache: renamed in 5.24."""


@dataclass
class MplugOwlOutput(ModelOutput):
    """What a pass returns."""

    logits: Tensor | None = None
    """(rows, kept, vocabulary)."""
    cache: Any = None


class MplugOwlForConditionalGeneration(PreTrainedModel):
    """Reads a video's features where a prompt holds `video_token_id`.

    Args:
        config: A `MplugOwlConfig`.
    """

    config_class = MplugOwlConfig
    main_input_name = "input_ids"
    input_modalities = ("video", "text")
    _supports_sdpa = True
    _no_split_modules: ClassVar[list[str]] = ["Layer", "LlamaDecoderLayer"]
    # A constant that LLaMA's files of 2023 hold.
    _keys_to_ignore_on_load_unexpected: ClassVar[list[str]] = [r"rotary_emb\.inv_freq$"]

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        abstractor = config.visual_abstractor_config
        shape = (1, config.num_query_tokens, abstractor.hidden_size)
        self.query_tokens = nn.Parameter(torch.zeros(shape))
        self.temporal_query_tokens = nn.Parameter(torch.zeros(shape))
        self.vision_model = VisionTower(config.vision_config)
        self.abstractor = Abstractor(abstractor, config.text_config.hidden_size)
        self.language_model = LlamaForCausalLM(config.text_config)
        self.post_init()

    def get_input_embeddings(self) -> nn.Module:
        """The layer that looks token ids up."""
        return self.language_model.get_input_embeddings()  # type: ignore[no-any-return]

    def get_output_embeddings(self) -> nn.Module:
        """The layer that makes logits."""
        return self.language_model.get_output_embeddings()  # type: ignore[no-any-return]

    def get_video_features(self, pixel_values_videos: Tensor) -> Tensor:
        """Takes (videos, frames, 3, height, width), returns (videos, features, width)."""
        frames = self.vision_model(pixel_values_videos)
        return self.abstractor(  # type: ignore[no-any-return]
            frames, self.query_tokens, self.temporal_query_tokens
        )

    def forward(
        self,
        input_ids: Tensor,
        pixel_values_videos: Tensor | None = None,
        position_ids: Tensor | None = None,
        cache: Any = None,
        logits_to_keep: int | Tensor = 0,
        **rest: Any,
    ) -> MplugOwlOutput:
        """Reads rows of tokens.

        Args:
            input_ids: (rows, tokens).
            pixel_values_videos: (videos, frames, 3, height, width), in the order of their places.
            position_ids: As LLaMA takes them.
            cache: What was read before.
            logits_to_keep: The positions whose logits are made; 0: all.
            rest: What else LLaMA takes: `attention_mask`, `use_cache`.

        Raises:
            ValueError: Videos and the places for them do not agree.
        """
        places = input_ids == self.config.video_token_id
        words = self.get_input_embeddings()(input_ids.masked_fill(places, 0))
        if pixel_values_videos is not None:
            features = self.get_video_features(pixel_values_videos).to(words.dtype)
            made, wanted = features.shape[:2].numel(), int(places.sum())
            if made != wanted:
                raise ValueError(f"{made} features of videos for {wanted} places")
            words = words.masked_scatter(places[..., None], features)
        found = self.language_model(
            inputs_embeds=words,
            position_ids=position_ids,
            logits_to_keep=logits_to_keep,
            **{_CACHE: cache},
            **rest,
        )
        return MplugOwlOutput(found.logits, found.get(_CACHE))
