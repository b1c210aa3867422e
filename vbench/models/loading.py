"""Loads a Hugging Face checkpoint's parts, and refuses one that does not fit its architecture.

Nothing here runs code from a checkpoint: `trust_remote_code` is never set and `.bin` files are read
with `weights_only`.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any

import torch

from vbench.checkpoints import Checkpoint
from vbench.errors import ModelError, VbenchError

_SHOWN = 4
"""How many parameter names an error lists."""
_LONGEST_CAUSE = 300
"""Characters of a library's own message that are passed on."""

_FILES = {
    "config": "it must hold a config.json that names a model_type of transformers",
    "weights": "it must hold a whole config.json and model.safetensors (or pytorch_model.bin)",
    "tokenizer": "it must hold tokenizer.json (or vocab.json with merges.txt, or spiece.model)",
    "processor": "it must hold processor_config.json (or preprocessor_config.json and "
    "video_preprocessor_config.json) beside its tokenizer",
    "image processor": "it must hold preprocessor_config.json (or processor_config.json)",
    "weight file": "give a state dict or a training checkpoint of open_clip (.pt, .pth, .bin, "
    ".safetensors), made for this arch; a TorchScript archive must be converted first",
}
"""What each part of a checkpoint needs, as a remedy."""


def load_config(checkpoint: Checkpoint) -> Any:
    """Loads the checkpoint's transformers config.

    Raises:
        ModelError: It is missing, unreadable, or of an architecture that transformers lacks.
    """
    from transformers import AutoConfig

    with explained(checkpoint.name, "config"), quietly():
        return AutoConfig.from_pretrained(checkpoint.source, **checkpoint.load_options())


def find_architecture(name: str, config: Any) -> Any:
    """Returns the class that a config describes, without making any weights.

    Args:
        name: The checkpoint, for the message.
        config: From `load_config`.

    Raises:
        ModelError: It is no image-text dual encoder.
    """
    from transformers import MODEL_MAPPING

    architecture = MODEL_MAPPING.get(type(config), None)
    if hasattr(architecture, "get_image_features") and hasattr(architecture, "get_text_features"):
        return architecture
    raise ModelError(
        f"{getattr(architecture, '__name__', type(config).__name__)} is not an image-text dual "
        "encoder",
        where=f"checkpoint {name}",
        why="it has no get_image_features and get_text_features",
        mend="name a checkpoint of the CLIP or SigLIP kind, or choose another model=",
    )


def load_dual_encoder(checkpoint: Checkpoint) -> torch.nn.Module:
    """Loads an image-text model (see `load_whole`)."""
    from transformers import AutoModel

    return load_whole(checkpoint, AutoModel)


def load_whole(checkpoint: Checkpoint, kind: Any, spare: tuple[str, ...] = ()) -> torch.nn.Module:
    """Loads a model in float32 on the CPU, frozen and in evaluation mode.

    Since transformers 5, `from_pretrained` keeps the file's own dtype unless told otherwise; the
    run's precision is decided elsewhere, so it is told.

    Args:
        checkpoint: Where its files are.
        kind: The class of transformers that loads it.
        spare: How names of weights begin that the file may hold beside.

    Raises:
        ModelError: The checkpoint cannot be read, or does not fit its architecture.
    """
    with explained(checkpoint.name, "weights"), quietly():
        module, info = kind.from_pretrained(
            checkpoint.source,
            dtype=torch.float32,
            output_loading_info=True,
            ignore_mismatched_sizes=True,  # reported below, by name and shape
            **checkpoint.load_options(),
        )
    check_keys(
        checkpoint.name,
        total=len(module.state_dict()),
        missing=info["missing_keys"],
        unexpected=[key for key in info["unexpected_keys"] if not key.startswith(spare)],
        mismatched=[key for key, *_ in info["mismatched_keys"]],
    )
    return freeze(module)


def freeze(module: torch.nn.Module) -> torch.nn.Module:
    """Switches a module to evaluation: no gradients, no dropout."""
    return module.requires_grad_(False).eval()


def load_tokenizer(checkpoint: Checkpoint) -> Any:
    """Loads the checkpoint's tokenizer, which pads on the right.

    Raises:
        ModelError: It is missing, unreadable or empty, or cannot pad.
    """
    tokenizer = load_words(checkpoint)
    if tokenizer.pad_token is None:
        raise ModelError(
            "the tokenizer has no padding token",
            where=f"checkpoint {checkpoint.name}",
            mend="set pad_token in its tokenizer_config.json",
        )
    # Position embeddings count from the left: padding there would shift every word.
    tokenizer.padding_side = "right"
    return tokenizer


def load_words(checkpoint: Checkpoint) -> Any:
    """Loads the checkpoint's tokenizer as it is.

    Raises:
        ModelError: It is missing, unreadable or empty.
    """
    from transformers import AutoTokenizer

    with explained(checkpoint.name, "tokenizer"), quietly():
        tokenizer = AutoTokenizer.from_pretrained(checkpoint.source, **checkpoint.load_options())
    # Without any tokenizer file transformers 5 makes one that knows its special tokens only.
    if not set(tokenizer.get_vocab()) - set(tokenizer.all_special_tokens):
        raise ModelError(
            "the tokenizer cannot be loaded",
            where=f"checkpoint {checkpoint.name}",
            why="it knows no words",
            mend=_FILES["tokenizer"],
        )
    return tokenizer


def load_image_processor_config(checkpoint: Checkpoint) -> dict[str, Any]:
    """Returns the checkpoint's image-processor settings, gaps filled with its class's defaults.

    Reads `preprocessor_config.json` and the nested `processor_config.json` of newer checkpoints.

    Raises:
        ModelError: There are none, or they are unreadable.
    """
    from transformers import AutoImageProcessor

    with explained(checkpoint.name, "image processor"), quietly():
        processor = AutoImageProcessor.from_pretrained(
            checkpoint.source, **checkpoint.load_options()
        )
    settings: dict[str, Any] = processor.to_dict()
    return settings


def check_keys(
    name: str,
    *,
    total: int,
    missing: Collection[str],
    unexpected: Collection[str],
    mismatched: Collection[str] = (),
) -> None:
    """Refuses weights that do not fill a model exactly.

    A missing or mis-shaped parameter would stay random, and an unexpected one (an adapter, a
    renamed layer) would be left out: either way the scores would not be this checkpoint's.

    Args:
        name: The checkpoint, for the message.
        total: How many parameters and buffers the model has.
        missing: Those the file lacks.
        unexpected: Names in the file that the model lacks.
        mismatched: Those whose shapes differ.

    Raises:
        ModelError: Any of them is not empty.
    """
    # Position ids are a constant counter that older checkpoints store.
    unexpected = [key for key in unexpected if not key.endswith("position_ids")]
    faults = {"missing": missing, "not known to the model": unexpected, "mis-shaped": mismatched}
    found = [f"{len(keys)} {word} ({_some(keys)})" for word, keys in faults.items() if keys]
    if not found:
        return
    loaded = total - len(missing) - len(mismatched)
    raise ModelError(
        f"the weights do not fit the model: {loaded} of {total} parameters would be loaded",
        where=f"checkpoint {name}",
        why="; ".join(found),
        mend="check that config or arch belongs to these weights, that no shard is lacking, and "
        "that wrappers, adapters and training heads are merged or removed before saving",
    )


def _some(keys: Collection[str]) -> str:
    shown = sorted(keys)[:_SHOWN]
    return ", ".join(shown) + (", …" if len(keys) > _SHOWN else "")


@contextmanager
def explained(name: str, part: str) -> Iterator[None]:
    """Turns whatever a library raises while reading a checkpoint into a ModelError.

    The libraries raise OSError, ValueError, RuntimeError, UnpicklingError, SafetensorError and
    more for files that are absent, cut off or of another kind; to the user they are one thing.
    """
    try:
        yield
    except (VbenchError, MemoryError):
        raise
    except Exception as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        # torch leads with advice to load the file all the same; which class it met comes later
        lines = [line for line in lines if line.startswith("WeightsUnpickler error")] or lines
        raise ModelError(
            f"the {part} cannot be loaded",
            where=f"checkpoint {name}",
            why=f"{type(error).__name__}: {' '.join(lines[:3])[:_LONGEST_CAUSE]}",
            mend=_remedy(error, part),
        ) from error


def _remedy(error: Exception, part: str) -> str:
    kind = type(error).__name__
    if isinstance(error, ImportError):
        return "install the package it names; all of them come with vbench's own dependencies"
    if kind == "UnpicklingError":
        return (
            "the file is damaged, or holds Python objects that could run code and is refused; "
            "save its tensors as .safetensors where you trust it"
        )
    if kind == "SafetensorError":
        return "the file is damaged or not fully downloaded: fetch it again"
    return _FILES.get(part, f"check the {part}")


@contextmanager
def quietly() -> Iterator[None]:
    """Silences the progress bars, load reports and root-logger lines of model libraries.

    What they would report is checked here and raised as an error.
    """
    from transformers.utils import logging as hf_logging

    verbosity, bars = hf_logging.get_verbosity(), hf_logging.is_progress_bar_enabled()
    disabled, root, silent = (
        logging.root.manager.disable,
        logging.getLogger(),
        logging.NullHandler(),
    )
    hf_logging.set_verbosity_error()
    hf_logging.disable_progress_bar()
    # open_clip logs on the root logger, which would otherwise install a console handler for good.
    root.addHandler(silent)
    logging.disable(logging.WARNING)
    try:
        yield
    finally:
        logging.disable(disabled)
        root.removeHandler(silent)
        hf_logging.set_verbosity(verbosity)
        if bars:
            hf_logging.enable_progress_bar()
