"""Makes Video-LLaMA known to transformers, so that it loads like any model of theirs."""

from __future__ import annotations

from functools import cache

from transformers import AutoConfig, AutoModelForImageTextToText

from vbench.models.video_llama.config import VideoLlamaConfig
from vbench.models.video_llama.model import VideoLlamaForConditionalGeneration


@cache
def register() -> None:
    """Adds config and model to the auto classes, once in a process.

    Its checkpoints have LLaMA's config.json: `vbench.models.vlm.assembled` tells them apart.
    """
    AutoConfig.register(VideoLlamaConfig.model_type, VideoLlamaConfig)
    AutoModelForImageTextToText.register(VideoLlamaConfig, VideoLlamaForConditionalGeneration)
