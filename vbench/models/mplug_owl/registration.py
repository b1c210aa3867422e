"""Makes mPLUG-Owl known to transformers, so that it loads like any model of theirs."""

from __future__ import annotations

from functools import cache

from transformers import AutoConfig, AutoModelForImageTextToText, AutoProcessor

from vbench.models.mplug_owl.config import MplugOwlConfig, MplugOwlImageConfig
from vbench.models.mplug_owl.model import (
    MplugOwlForConditionalGeneration,
    MplugOwlImageForConditionalGeneration,
)
from vbench.models.mplug_owl.processor import MplugOwlProcessor


@cache
def register() -> None:
    """Adds config, model and processor to the auto classes, once in a process."""
    AutoConfig.register(MplugOwlConfig.model_type, MplugOwlConfig)
    AutoModelForImageTextToText.register(MplugOwlConfig, MplugOwlForConditionalGeneration)
    AutoProcessor.register(MplugOwlConfig, MplugOwlProcessor)
    # Its checkpoints call themselves what the video model's do: `vbench.models.vlm.assembled`.
    AutoConfig.register(MplugOwlImageConfig.model_type, MplugOwlImageConfig)
    AutoModelForImageTextToText.register(MplugOwlImageConfig, MplugOwlImageForConditionalGeneration)
