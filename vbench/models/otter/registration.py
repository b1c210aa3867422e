"""Makes Otter known to transformers, so that it loads like any model of theirs."""

from __future__ import annotations

from functools import cache

from transformers import AutoConfig, AutoModelForImageTextToText, AutoProcessor

from vbench.models.otter.config import OtterConfig
from vbench.models.otter.model import OtterForConditionalGeneration
from vbench.models.otter.processor import OtterProcessor


@cache
def register() -> None:
    """Adds config, model and processor to the auto classes, once in a process."""
    AutoConfig.register(OtterConfig.model_type, OtterConfig)
    AutoModelForImageTextToText.register(OtterConfig, OtterForConditionalGeneration)
    AutoProcessor.register(OtterConfig, OtterProcessor)
