"""Architectures that transformers has no class for: known here, and told from its own."""

from __future__ import annotations

from typing import Any

from vbench.checkpoints import Checkpoint
from vbench.models.loading import explained, load_config, quietly


def register() -> None:
    """Makes them known to transformers, once in a process."""
    from vbench.models.mplug_owl import registration as mplug_owl
    from vbench.models.pllava import registration as pllava

    mplug_owl.register()
    pllava.register()


def read_config_dict(checkpoint: Checkpoint) -> dict[str, Any]:
    """Returns what config.json says.

    Raises:
        ModelError: It is missing or unreadable.
    """
    from transformers import PreTrainedConfig

    with explained(checkpoint.name, "config"), quietly():
        said: dict[str, Any]
        said, _ = PreTrainedConfig.get_config_dict(checkpoint.source, **checkpoint.load_options())
    return said


def find_config(checkpoint: Checkpoint) -> Any:
    """Loads the config by the model_type of config.json, or what is known to lie behind it.

    Raises:
        ModelError: It is missing, unreadable, or of an architecture that nobody here knows.
    """
    from vbench.models.pllava.config import PllavaConfig, is_pllava

    if not is_pllava(read_config_dict(checkpoint)):
        return load_config(checkpoint)
    with explained(checkpoint.name, "config"), quietly():
        return PllavaConfig.from_pretrained(checkpoint.source, **checkpoint.load_options())


def find_processor(checkpoint: Checkpoint) -> Any:
    """Returns the class whose `from_pretrained` loads the processor."""
    from transformers import AutoProcessor

    from vbench.models.pllava.config import is_pllava
    from vbench.models.pllava.processor import PllavaProcessor

    return PllavaProcessor if is_pllava(read_config_dict(checkpoint)) else AutoProcessor
