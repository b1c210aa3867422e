"""Makes VideoChat known to transformers, so that it loads like any model of theirs."""

from __future__ import annotations

from functools import cache

from transformers import AutoConfig, AutoModelForImageTextToText

from vbench.models.video_chat.config import VideoChatConfig
from vbench.models.video_chat.model import VideoChatForConditionalGeneration


@cache
def register() -> None:
    """Adds config and model to the auto classes, once in a process.

    Its checkpoints have LLaMA's config.json: `vbench.models.vlm.assembled` tells them apart.
    """
    AutoConfig.register(VideoChatConfig.model_type, VideoChatConfig)
    AutoModelForImageTextToText.register(VideoChatConfig, VideoChatForConditionalGeneration)
