"""Architectures that transformers has no class for: known here, and told from its own."""

from __future__ import annotations

from typing import Any

from vbench.checkpoints import Checkpoint
from vbench.models.loading import explained, load_config, quietly
from vbench.models.vlm.weight_names import weight_names


def register() -> None:
    """Makes them known to transformers, once in a process."""
    from vbench.models.chat_univi import registration as chat_univi
    from vbench.models.mplug_owl import registration as mplug_owl
    from vbench.models.otter import registration as otter
    from vbench.models.pandagpt import registration as pandagpt
    from vbench.models.pllava import registration as pllava
    from vbench.models.valley import registration as valley
    from vbench.models.video_chat import registration as video_chat
    from vbench.models.video_chatgpt import registration as video_chatgpt
    from vbench.models.video_llama import registration as video_llama

    chat_univi.register()
    mplug_owl.register()
    otter.register()
    pandagpt.register()
    pllava.register()
    valley.register()
    video_chat.register()
    video_chatgpt.register()
    video_llama.register()


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
    known = _behind(checkpoint)
    if known is None:
        return load_config(checkpoint)
    with explained(checkpoint.name, "config"), quietly():
        return known[0].from_pretrained(checkpoint.source, **checkpoint.load_options())


def find_processor(checkpoint: Checkpoint) -> Any:
    """Returns the class whose `from_pretrained` loads the processor."""
    from transformers import AutoProcessor

    known = _behind(checkpoint)
    return AutoProcessor if known is None else known[1]


def find_weights(checkpoint: Checkpoint, config: Any) -> dict[str, Any] | None:
    """Returns weights that lie in files of several kinds; None where transformers reads them.

    Raises:
        ModelError: A file is missing or unreadable.
    """
    from vbench.models.blip2.files import own_file, read_weights
    from vbench.models.pandagpt import files as pandagpt

    if pandagpt.is_pandagpt(checkpoint):
        return pandagpt.read_weights(checkpoint)
    own = own_file(checkpoint)
    if own is None:
        return None
    return read_weights(checkpoint, own[1], config.vision_config.num_hidden_layers)


def borrowed(config: Any, adapter: Any = None) -> dict[str, Any]:
    """Returns what is taken from beside the model's own checkpoint, each by its part.

    Args:
        config: The model's.
        adapter: What is added to its weights, if anything.
    """
    from vbench.models.otter.config import OtterConfig
    from vbench.models.otter.processor import find_words
    from vbench.models.vlm.llava_files import LlavaFilesConfig

    found = {"vision": config.tower} if isinstance(config, LlavaFilesConfig) else {}
    if isinstance(config, OtterConfig) and config.words is not None:
        found["tokenizer"] = find_words(config.words)
    return found | ({"adapter": adapter} if adapter else {})


def _behind(checkpoint: Checkpoint) -> tuple[Any, Any] | None:
    """Returns config and processor of a model whose config.json names another one's type."""
    from vbench.models.blip2.files import own_file
    from vbench.models.chat_univi.config import ChatUniviConfig
    from vbench.models.chat_univi.processor import ChatUniviProcessor
    from vbench.models.mplug_owl.config import MplugOwlConfig, MplugOwlImageConfig, is_for_images
    from vbench.models.mplug_owl.processor import MplugOwlImageProcessor
    from vbench.models.otter.config import OtterConfig
    from vbench.models.otter.processor import OtterProcessor
    from vbench.models.pandagpt.config import PandaGptConfig
    from vbench.models.pandagpt.files import is_pandagpt
    from vbench.models.pandagpt.processor import PandaGptProcessor
    from vbench.models.pllava.config import PllavaConfig, is_pllava
    from vbench.models.pllava.processor import PllavaProcessor
    from vbench.models.valley.config import ValleyConfig
    from vbench.models.valley.processor import ValleyProcessor
    from vbench.models.video_chat.config import VideoChatConfig
    from vbench.models.video_chat.processor import VideoChatProcessor
    from vbench.models.video_chatgpt.config import VideoChatGptConfig, is_video_chatgpt
    from vbench.models.video_chatgpt.processor import VideoChatGptProcessor
    from vbench.models.video_llama.config import VideoLlamaConfig
    from vbench.models.video_llama.processor import VideoLlamaProcessor

    if own := own_file(checkpoint):
        of_blip2: dict[str, tuple[Any, Any]] = {
            "video_llama": (VideoLlamaConfig, VideoLlamaProcessor),
            "video_chat": (VideoChatConfig, VideoChatProcessor),
        }
        return of_blip2[own[0]]
    if is_pandagpt(checkpoint):
        return PandaGptConfig, PandaGptProcessor
    said = read_config_dict(checkpoint)
    if is_pllava(said):
        return PllavaConfig, PllavaProcessor
    if is_video_chatgpt(said):
        return VideoChatGptConfig, VideoChatGptProcessor
    if said.get("model_type") == ChatUniviConfig.model_type:
        return ChatUniviConfig, ChatUniviProcessor
    if said.get("model_type") == ValleyConfig.model_type:
        return ValleyConfig, ValleyProcessor
    if said.get("model_type") == OtterConfig.model_type:
        return OtterConfig, OtterProcessor  # its tokenizer may lie elsewhere
    owl = said.get("model_type") == MplugOwlConfig.model_type
    if owl and is_for_images(weight_names(checkpoint)):
        return MplugOwlImageConfig, MplugOwlImageProcessor
    return None
