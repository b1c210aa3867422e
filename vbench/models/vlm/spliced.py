"""LLaMA that reads a video's features in the places of words, called as a model of transformers."""

from __future__ import annotations

import inspect
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

from torch import Tensor, nn
from transformers import LlamaForCausalLM, PreTrainedModel
from transformers.utils import ModelOutput

CACHE = next(
    name
    for name in ("cache", "past_key_values")
    if name in inspect.signature(LlamaForCausalLM.forward).parameters
)
"""What transformers calls a cache: renamed in 5.24."""


@dataclass
class SplicedOutput(ModelOutput):
    """What a pass returns."""

    logits: Tensor | None = None
    """(rows, kept, vocabulary)."""
    cache: Any = None


class SplicedModel(PreTrainedModel):
    """Reads a video's features where a prompt holds `config.video_token_id`.

    What derives from it brings the vision side, and `language_model`, a `LlamaForCausalLM`.
    """

    main_input_name = "input_ids"
    input_modalities = ("video", "text")
    language_model: Any
    beside: ClassVar[tuple[str, ...]] = ()
    """What else `get_video_features` takes, by name."""
    _supports_sdpa = True
    # A constant that LLaMA's files of 2023 hold.
    _keys_to_ignore_on_load_unexpected: ClassVar[list[str]] = [r"rotary_emb\.inv_freq$"]

    def get_input_embeddings(self) -> nn.Module:
        """The layer that looks token ids up."""
        return self.language_model.get_input_embeddings()  # type: ignore[no-any-return]

    def get_output_embeddings(self) -> nn.Module:
        """The layer that makes logits."""
        return self.language_model.get_output_embeddings()  # type: ignore[no-any-return]

    @abstractmethod
    def get_video_features(self, pixel_values_videos: Tensor) -> Tensor:
        """Takes (videos, frames, 3, height, width), returns (videos, features, width)."""

    def forward(
        self,
        input_ids: Tensor,
        pixel_values_videos: Tensor | None = None,
        position_ids: Tensor | None = None,
        cache: Any = None,
        logits_to_keep: int | Tensor = 0,
        **rest: Any,
    ) -> SplicedOutput:
        """Reads rows of tokens.

        Args:
            input_ids: (rows, tokens).
            pixel_values_videos: (videos, frames, 3, height, width), in the order of their places.
            position_ids: As LLaMA takes them.
            cache: What was read before.
            logits_to_keep: The positions whose logits are made; 0: all.
            rest: What is in `beside`, and what else LLaMA takes: `attention_mask`, `use_cache`.

        Raises:
            ValueError: Videos and the places for them do not agree.
        """
        beside = {name: rest.pop(name) for name in self.beside if name in rest}
        places = input_ids == self.config.video_token_id
        words = self.get_input_embeddings()(input_ids.masked_fill(places, 0))
        if pixel_values_videos is not None:
            features = self.get_video_features(pixel_values_videos, **beside).to(words.dtype)
            made, wanted = features.shape[:2].numel(), int(places.sum())
            if made != wanted:
                raise ValueError(f"{made} features of videos for {wanted} places")
            words = words.masked_scatter(places[..., None], features)
        found = self.language_model(
            inputs_embeds=words,
            position_ids=position_ids,
            logits_to_keep=logits_to_keep,
            **{CACHE: cache},
            **rest,
        )
        return SplicedOutput(found.logits, found.get(CACHE))
