"""Makes PandaGPT known to transformers, so that it loads like any model of theirs."""

from __future__ import annotations

from functools import cache

from transformers import AutoConfig, AutoModelForImageTextToText

from vbench.models.pandagpt.config import PandaGptConfig
from vbench.models.pandagpt.model import PandaGptForConditionalGeneration


@cache
def register() -> None:
    """Adds config and model to the auto classes, once in a process.

    Its checkpoints have LLaMA's config.json: `vbench.models.vlm.assembled` tells them apart.
    """
    AutoConfig.register(PandaGptConfig.model_type, PandaGptConfig)
    AutoModelForImageTextToText.register(PandaGptConfig, PandaGptForConditionalGeneration)
