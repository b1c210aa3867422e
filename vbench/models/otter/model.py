"""Otter: CLIP, a perceiver, and LLaMA that looks at the video in every fourth layer."""

from __future__ import annotations

from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from transformers import LlamaForCausalLM, PreTrainedModel

from vbench.models.otter.config import OtterConfig
from vbench.models.otter.layers import GatedCrossAttention, OtterLayer
from vbench.models.otter.perceiver import Perceiver
from vbench.models.otter.seeing import MediaCache, seeing
from vbench.models.vlm.clip_tower import ClipTower
from vbench.models.vlm.spliced import CACHE, SplicedOutput


class OtterForConditionalGeneration(PreTrainedModel):
    """A video is one word, and seen by the words after it.

    Args:
        config: An `OtterConfig`.
    """

    config_class = OtterConfig
    main_input_name = "input_ids"
    input_modalities = ("video", "text")
    _supports_sdpa = True
    _no_split_modules: ClassVar[list[str]] = ["CLIPEncoderLayer", "Block", "OtterLayer"]
    # A constant that LLaMA's files of 2023 hold.
    _keys_to_ignore_on_load_unexpected: ClassVar[list[str]] = [r"rotary_emb\.inv_freq$"]

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        self.vision_encoder = ClipTower(config.vision_config, layer=-1)
        self.perceiver = Perceiver(config)
        self.lang_encoder = LlamaForCausalLM(config.text_config)
        every = config.cross_attn_every_n_layers
        model = self.lang_encoder.model
        model.layers = nn.ModuleList(
            OtterLayer(None if (number + 1) % every else GatedCrossAttention(config), layer)
            for number, layer in enumerate(model.layers)
        )
        self.post_init()

    def get_input_embeddings(self) -> nn.Module:
        """The layer that looks token ids up."""
        return self.lang_encoder.get_input_embeddings()  # type: ignore[no-any-return]

    def get_output_embeddings(self) -> nn.Module:
        """The layer that makes logits."""
        return self.lang_encoder.get_output_embeddings()  # type: ignore[no-any-return]

    def get_video_features(self, pixel_values_videos: Tensor) -> Tensor:
        """Takes (videos, frames, 3, height, width), returns (videos, latents, width)."""
        patches = self.vision_encoder(pixel_values_videos.flatten(0, 1))[:, 1:]
        frames = patches.reshape(*pixel_values_videos.shape[:2], *patches.shape[1:])
        return self.perceiver(frames)  # type: ignore[no-any-return]

    def forward(
        self,
        input_ids: Tensor,
        pixel_values_videos: Tensor | None = None,
        attention_mask: Tensor | None = None,
        position_ids: Tensor | None = None,
        cache: Any = None,
        logits_to_keep: int | Tensor = 0,
        **rest: Any,
    ) -> SplicedOutput:
        """Reads rows of tokens.

        Args:
            input_ids: (rows, tokens).
            pixel_values_videos: (rows, frames, 3, height, width), a video for every row.
            attention_mask: As LLaMA takes it.
            position_ids: As LLaMA takes them.
            cache: What was read before, a `MediaCache`: the video with it.
            logits_to_keep: The positions whose logits are made; 0: all.
            rest: What else LLaMA takes: `use_cache`.

        Raises:
            ValueError: There are more or fewer videos than rows.
        """
        if cache is None and rest.get("use_cache"):
            cache = MediaCache(config=self.config.text_config)
        media = None if cache is None else cache.media
        if pixel_values_videos is not None:
            media = self.get_video_features(pixel_values_videos)
            if len(media) != len(input_ids):
                raise ValueError(f"{len(media)} videos for {len(input_ids)} rows")
        known = cache is not None and cache.ids is not None
        ids = torch.cat([cache.ids, input_ids], dim=1) if known else input_ids
        if cache is not None:
            cache.media, cache.ids = media, ids
        found = self.lang_encoder(
            input_ids=input_ids,
            attention_mask=attention_mask,
            position_ids=position_ids,
            logits_to_keep=logits_to_keep,
            media=media,
            sees=seeing(ids, input_ids.shape[1], attention_mask, self.config),
            **{CACHE: cache},
            **rest,
        )
        return SplicedOutput(found.logits, found.get(CACHE))
