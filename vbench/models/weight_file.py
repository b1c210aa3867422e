"""Weight files of research repositories: read without running anything, used to the last key.

Such a file is what `torch.save` wrote in training: a state dict, alone or beside an optimizer and
a config. What else belongs to a model (config, tokenizer) comes from the CLIP it was tuned from.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch

from vbench.checkpoints import missing_path
from vbench.errors import ModelError
from vbench.models.loading import check_keys, explained, freeze

State = dict[str, torch.Tensor]

_WRAPPERS = ("model", "state_dict")
"""Under which a training checkpoint holds its weights (ViFi-CLIP's utils/tools.py; open_clip)."""

_INERT: list[Callable[..., Any] | tuple[Callable[..., Any], str]] = [
    (OrderedDict, "yacs.config.CfgNode")
]
"""Classes that training checkpoints hold beside tensors, behind what is made instead: they are
never imported. torch refuses any other."""

_ARCHIVE = b"PK"
"""How a file begins that torch has written since 1.6."""


def find_weight_file(name: str) -> Path:
    """Returns the path of a weight file.

    Raises:
        ModelError: There is none.
    """
    path = Path(name).expanduser()
    if not path.is_file():
        error = missing_path(name, "file")
        raise ModelError(
            error.what,
            where=error.where,
            why=error.why,
            mend=f"{error.mend}; docs/models.md says where its authors publish it",
        )
    return path


def clip_image_size(config: Any, name: str) -> int:
    """Returns the pixels per side that a CLIP takes.

    Args:
        config: From `load_config`.
        name: The checkpoint, for the message.

    Raises:
        ModelError: It is the config of something else.
    """
    if config.model_type != "clip":
        raise ModelError(
            f"a model of type {config.model_type} cannot be the base",
            where=f"model.base={name}",
            why="the weights are those of a CLIP",
            mend="name the CLIP of OpenAI that they were tuned from, or leave model.base out",
        )
    side: int = config.vision_config.image_size
    return side


def read_state(path: Path, *, mapped: bool = False) -> State:
    """Reads the tensors of a `.safetensors` file or of what `torch.save` wrote, on the CPU.

    Args:
        path: The file.
        mapped: Whether tensors stay in the file until they are used, where its format allows.

    Raises:
        ModelError: The file is damaged, holds what could run code, or no state dict.
    """
    name = str(path)
    with explained(name, "weight file"):
        if path.suffix == ".safetensors":
            from safetensors.torch import load_file

            return load_file(path)
        with torch.serialization.safe_globals(_INERT):
            archive = mapped and _begins(path) == _ARCHIVE
            content = torch.load(path, map_location="cpu", weights_only=True, mmap=archive)
    state = _unwrapped(content)
    others = [key for key, value in state.items() if not torch.is_tensor(value)]
    if others or not state:
        raise ModelError(
            "the file holds no state dict",
            where=f"checkpoint {name}",
            why=f"its keys are {', '.join(map(str, list(state)[:4]))}" if state else "it is empty",
            mend="give the file as its authors published it, or its state dict alone",
        )
    # DistributedDataParallel puts this before every name.
    return {key.removeprefix("module."): tensor for key, tensor in state.items()}


def fill(module: torch.nn.Module, state: Mapping[str, torch.Tensor], name: str) -> torch.nn.Module:
    """Fills a module exactly and freezes it.

    Args:
        module: Of any weights, in float32.
        state: By the module's own names.
        name: The checkpoint, for messages.

    Raises:
        ModelError: A weight is missing, left over or of another shape.
    """
    own = module.state_dict()
    check_keys(
        name,
        total=len(own),
        missing=own.keys() - state.keys(),
        unexpected=state.keys() - own.keys(),
        mismatched=[key for key in own.keys() & state.keys() if own[key].shape != state[key].shape],
    )
    module.load_state_dict({key: state[key] for key in own})
    return freeze(module)


def _begins(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(len(_ARCHIVE))


def _unwrapped(content: object) -> Mapping[str, torch.Tensor]:
    if not isinstance(content, Mapping):
        return {}
    inner = [content[key] for key in _WRAPPERS if isinstance(content.get(key), Mapping)]
    return inner[0] if inner else content
