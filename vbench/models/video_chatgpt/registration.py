"""Makes Video-ChatGPT known to transformers, so that it loads like any model of theirs."""

from __future__ import annotations

from functools import cache

from transformers import AutoConfig, AutoModelForImageTextToText

from vbench.models.video_chatgpt.config import VideoChatGptConfig
from vbench.models.video_chatgpt.model import VideoChatGptForConditionalGeneration


@cache
def register() -> None:
    """Adds config and model to the auto classes, once in a process.

    The checkpoint it is built on calls itself LLaVA: `vbench.models.vlm.assembled` tells them
    apart.
    """
    AutoConfig.register(VideoChatGptConfig.model_type, VideoChatGptConfig)
    AutoModelForImageTextToText.register(VideoChatGptConfig, VideoChatGptForConditionalGeneration)
