"""Makes PLLaVA known to transformers, so that it loads like any model of theirs."""

from __future__ import annotations

from functools import cache

from transformers import AutoConfig, AutoModelForImageTextToText

from vbench.models.pllava.config import PllavaConfig
from vbench.models.pllava.model import PllavaForConditionalGeneration


@cache
def register() -> None:
    """Adds config and model to the auto classes, once in a process.

    Its checkpoints call themselves LLaVA: `vbench.models.vlm.assembled` tells them apart.
    """
    AutoConfig.register(PllavaConfig.model_type, PllavaConfig)
    AutoModelForImageTextToText.register(PllavaConfig, PllavaForConditionalGeneration)
