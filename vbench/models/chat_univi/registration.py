"""Makes Chat-UniVi known to transformers, so that it loads like any model of theirs."""

from __future__ import annotations

from functools import cache

from transformers import AutoConfig, AutoModelForImageTextToText

from vbench.models.chat_univi.config import ChatUniviConfig
from vbench.models.chat_univi.model import ChatUniviForConditionalGeneration


@cache
def register() -> None:
    """Adds config and model to the auto classes, once in a process.

    Its config is more than config.json says: `vbench.models.vlm.assembled` reads it.
    """
    AutoConfig.register(ChatUniviConfig.model_type, ChatUniviConfig)
    AutoModelForImageTextToText.register(ChatUniviConfig, ChatUniviForConditionalGeneration)
