"""What is added to a checkpoint's weights: adapters as PEFT saves them, or as training left them.

A training run that saves the model which PEFT wrapped leaves one file of all weights, the adapter's
among them, without a word about their scale: VideoCon's Owl-Con is such a file. So are the files of
PLLaVA's checkpoints, of which only the language model was wrapped.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from vbench.checkpoints import Checkpoint, find_checkpoint
from vbench.errors import ConfigError, ModelError, did_you_mean
from vbench.models.loading import explained, quietly

_WRAPPED = re.compile(r"(^|\.)base_model\.model\.")
"""What PEFT puts before every name of what it wraps: the model, or a part of it."""
_BINS = "pytorch_model*.bin"
_PART = re.compile(r"(?P<layer>.+)\.lora_(?P<part>[AB])\.(?:\w+\.)?weight")


@dataclass(frozen=True)
class Adapter:
    """Low-rank changes of weights.

    `model.adapter` is a folder or hub id of a PEFT adapter; or `{checkpoint: …, alpha: …}`: all
    weights as PEFT wraps them, by folder or hub id, and the `lora_alpha` that goes with them; or
    `{alpha: …}`, where the model's own checkpoint is such weights; or `{tuned: …}`: a folder or hub
    id with those weights that training changed, which replace the checkpoint's.
    """

    checkpoint: Checkpoint
    alpha: float | None = None
    own: bool = False
    """Whether it lies in the model's own checkpoint."""
    tuned: bool = False
    """Whether it is some of the weights, which replace others."""

    @classmethod
    def of(cls, setting: str | Mapping[str, Any], own: Checkpoint | None = None) -> Adapter:
        """Reads `model.adapter`.

        Args:
            setting: What it says.
            own: The model's checkpoint.

        Raises:
            ConfigError: A key does not exist, or one is missing.
            ModelError: There is no such checkpoint.
        """
        if isinstance(setting, str):
            return cls(find_checkpoint(setting))
        if set(setting) == {"tuned"} and isinstance(setting["tuned"], str):
            return cls(find_checkpoint(setting["tuned"]), tuned=True)
        known = ("checkpoint", "alpha", "tuned")
        for name in setting:
            if name not in known:
                raise ConfigError(
                    f"there is no adapter setting '{name}'",
                    where=f"model.adapter.{name}",
                    mend=did_you_mean(name, known),
                )
        alpha = setting.get("alpha")
        if own is not None and set(setting) == {"alpha"} and isinstance(alpha, int | float):
            return cls(own, float(alpha), own=True)
        if not isinstance(setting.get("checkpoint"), str) or not isinstance(alpha, int | float):
            raise ConfigError(
                "an adapter among whole weights is named with its scale",
                where=f"model.adapter={dict(setting)}",
                why="the file does not say by what its low-rank part is multiplied",
                mend="give both: model.adapter.checkpoint=… model.adapter.alpha=32 (the lora_alpha "
                "of its training); a PEFT adapter's own folder is named alone: model.adapter=…",
            )
        return cls(find_checkpoint(setting["checkpoint"]), float(alpha))

    @property
    def name(self) -> str:
        """As the user wrote it."""
        return self.checkpoint.name

    @property
    def whole(self) -> bool:
        """Whether the model is loaded with weights that it brings, not with layers of PEFT's."""
        return self.alpha is not None or self.tuned

    def identity(self) -> str:
        """Returns its content, and its scale where the file does not say it."""
        if self.own:
            return f"alpha {self.alpha:g}"
        return self._content if self.alpha is None else f"{self._content} alpha {self.alpha:g}"

    @cached_property
    def _content(self) -> str:
        return self.checkpoint.identity()

    def add_to(self, model: Any) -> None:
        """Puts a PEFT adapter's layers in place.

        Raises:
            ModelError: It cannot be read, or peft is not installed.
        """
        try:
            import peft  # type: ignore[import-not-found,unused-ignore] # noqa: F401
        except ImportError as error:
            raise ModelError(
                "an adapter needs the package peft",
                where=f"model.adapter={self.name}",
                mend="pip install 'vbench-eval[vlm]', or merge the adapter into its checkpoint",
            ) from error
        with explained(self.name, "adapter"), quietly():
            model.load_adapter(self.checkpoint.source, **self.checkpoint.load_options())

    def merged(self, dtype: torch.dtype) -> dict[str, Tensor]:
        """Returns all weights, the low-rank part added, under the names of the plain model.

        Of tuned weights: those that there are, under the names of their file.

        Args:
            dtype: Of the weights that are changed: as they will be loaded.

        Raises:
            ModelError: The files cannot be read, or are not what PEFT saves of a wrapped model.
        """
        with explained(self.name, "weights"):
            state = read_shards(self.checkpoint, "*.bin" if self.tuned else _BINS)
        if self.tuned:
            return state
        return merge(self.name, state, self.alpha or 0.0, dtype)


def merge(
    name: str, state: dict[str, Tensor], alpha: float, dtype: torch.dtype = torch.float32
) -> dict[str, Tensor]:
    """Adds low-rank parts to the weights that they change: W + alpha / rank * B @ A, in fp32.

    Args:
        name: The checkpoint, for messages.
        state: As PEFT wraps it; emptied, so that no weight is held twice.
        alpha: The scale of training, to be divided by the rank.
        dtype: What a changed weight is rounded to.

    Raises:
        ModelError: It is not wrapped, or a part lacks its other half or its weight.
    """
    plain: dict[str, Tensor] = {}
    parts: dict[str, dict[str, Tensor]] = {}
    # Where a part alone was wrapped, the others have their own names.
    whole = not any(".base_model.model." in key for key in state)
    while state:
        key, value = state.popitem()
        inner = _WRAPPED.sub(r"\1", key, count=1)
        if inner == key and whole:
            raise _not_wrapped(name, f"{key} does not begin with base_model.model.")
        if found := _PART.fullmatch(inner):
            parts.setdefault(found["layer"], {})[found["part"]] = value
        else:
            plain[inner.replace(".base_layer.", ".")] = value
    if not parts:
        raise _not_wrapped(name, "no name holds lora_A or lora_B")
    for layer, part in parts.items():
        weight = plain.get(f"{layer}.weight")
        if weight is None or len(part) != 2:
            raise _not_wrapped(name, f"{layer} lacks its weight, lora_A or lora_B")
        down, up = part["A"], part["B"]
        if up.shape[1] != len(down) or (len(up), down.shape[1]) != weight.shape:
            shapes = [list(each.shape) for each in (up, down, weight)]
            raise _not_wrapped(name, f"shapes of {layer} do not fit: {shapes}")
        change = alpha / len(down) * (up.float() @ down.float())
        plain[f"{layer}.weight"] = (weight.float() + change).to(dtype)
    return plain


def _not_wrapped(name: str, why: str) -> ModelError:
    return ModelError(
        "these are no whole weights with a LoRA adapter among them",
        where=f"model.adapter.checkpoint={name}",
        why=why,
        mend="name the file's folder as training saved it; a PEFT adapter (adapter_config.json) is "
        "named alone, model.adapter=…, and merged weights are a checkpoint of their own",
    )


def read_shards(checkpoint: Checkpoint, bins: str = _BINS) -> dict[str, Tensor]:
    """Reads all weights of transformers' layout; `.bin` as tensors only, which runs nothing.

    Args:
        checkpoint: Where they are.
        bins: What files of pickled tensors are called.

    Raises:
        FileNotFoundError: There are none.
    """
    from safetensors.torch import load_file

    folder = Path(checkpoint.source)
    if checkpoint.revision is not None:
        folder = _downloaded(checkpoint, bins)
    files = sorted(folder.glob("model-*.safetensors"))  # shards come before a file beside them
    files = files or sorted(folder.glob("*.safetensors")) or sorted(folder.glob(bins))
    if not files:
        raise FileNotFoundError(f"no *.safetensors and no {bins} in {folder}")
    state: dict[str, Tensor] = {}
    for path in files:
        if path.suffix == ".safetensors":
            state |= load_file(path)
        else:
            state |= torch.load(path, map_location="cpu", weights_only=True)
    return state


def _downloaded(checkpoint: Checkpoint, bins: str) -> Path:
    from huggingface_hub import snapshot_download

    wanted = ["*.safetensors", bins]
    options: dict[str, Any] = checkpoint.load_options()
    return Path(snapshot_download(checkpoint.source, allow_patterns=wanted, **options))
