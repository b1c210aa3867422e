"""Makes Valley known to transformers, so that it loads like any model of theirs."""

from __future__ import annotations

from functools import cache

from transformers import AutoConfig, AutoModelForImageTextToText

from vbench.models.valley.config import ValleyConfig
from vbench.models.valley.model import ValleyForConditionalGeneration


@cache
def register() -> None:
    """Adds config and model to the auto classes, once in a process.

    Its config is more than config.json says: `vbench.models.vlm.assembled` reads it.
    """
    AutoConfig.register(ValleyConfig.model_type, ValleyConfig)
    AutoModelForImageTextToText.register(ValleyConfig, ValleyForConditionalGeneration)
