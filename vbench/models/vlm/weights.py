"""Loads a video-language model's weights in one dtype, and keeps its constants exact."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from vbench.checkpoints import Checkpoint
from vbench.errors import ModelError
from vbench.models.loading import check_keys, explained, freeze, quietly
from vbench.models.vlm.assembled import find_config, find_weights, read_config_dict, register
from vbench.models.vlm.lora import Adapter, merge
from vbench.models.vlm.processors import packages_named

_TRUE = {"32-true": torch.float32, "bf16-true": torch.bfloat16, "16-true": torch.float16}
"""Lightning's precisions without autocast; the mixed ones keep weights in fp32."""


@dataclass(frozen=True)
class Loading:
    """How weights are loaded."""

    precision: str = "32-true"
    device_map: Any = None
    quantization: Mapping[str, Any] | None = None
    adapter: Adapter | None = None
    remote_code: bool = False

    @property
    def dtype(self) -> torch.dtype:
        """What the weights are loaded in."""
        return _TRUE.get(self.precision, torch.float32)

    @property
    def placed(self) -> bool:
        """Whether the loading decides where weights lie and in which form."""
        return self.device_map is not None or self.quantization is not None


def find_class(checkpoint: Checkpoint, config: Any, *, remote_code: bool) -> None:
    """Refuses an architecture that transformers cannot build.

    Raises:
        ModelError: It is no video-language model that transformers knows.
    """
    from transformers import MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING

    if type(config) in MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING or remote_code:
        return
    raise ModelError(
        f"transformers has no video-language model for '{config.model_type}'",
        where=f"checkpoint {checkpoint.name}",
        why=f"{type(config).__name__} is not among the classes of AutoModelForImageTextToText",
        mend="name a checkpoint in the layout of transformers (often ending in -hf), or another "
        "model=; a checkpoint that brings its own code runs it with model.trust_remote_code=true",
    )


def read_config(checkpoint: Checkpoint, *, remote_code: bool) -> Any:
    """Loads the checkpoint's config.

    Raises:
        ModelError: It is missing or unreadable, or names an architecture that transformers lacks.
    """
    register()
    if not remote_code:
        _refuse_remote(checkpoint)
        config = find_config(checkpoint)
    else:
        from transformers import AutoConfig

        with explained(checkpoint.name, "config"), quietly():
            config = AutoConfig.from_pretrained(
                checkpoint.source, trust_remote_code=remote_code, **checkpoint.load_options()
            )
    find_class(checkpoint, config, remote_code=remote_code)
    return config


def _refuse_remote(checkpoint: Checkpoint) -> None:
    """Says what to do about an architecture that only the checkpoint's own code knows."""
    from transformers import CONFIG_MAPPING

    said = read_config_dict(checkpoint)
    kind = said.get("model_type")
    if kind in CONFIG_MAPPING or "auto_map" not in said:
        return
    raise ModelError(
        f"the architecture '{kind}' is known to the checkpoint's own code only",
        where=f"checkpoint {checkpoint.name}",
        why="transformers has no class for it, and code of a checkpoint is not run unasked",
        mend="look for the checkpoint in the layout of transformers (often ending in -hf); where "
        "you trust its code: model.trust_remote_code=true",
    )


def load_weights(checkpoint: Checkpoint, how: Loading) -> nn.Module:
    """Loads the weights, frozen and in evaluation mode.

    Raises:
        ModelError: The checkpoint cannot be read, does not fit its architecture, or needs a package
            that is not installed.
    """
    placed = {"device_map": how.device_map, "quantization_config": how.quantization}
    part = "way of loading the weights"
    whole = how.adapter if how.adapter and how.adapter.whole else None
    with packages_named(checkpoint.name, part), explained(checkpoint.name, "weights"), quietly():
        load, source = _source(checkpoint, how, whole)
        model, info = load(
            dtype=how.dtype,
            output_loading_info=True,
            ignore_mismatched_sizes=True,  # reported below, by name and shape
            **{name: value for name, value in placed.items() if value is not None},
            **source,
        )
    if whole is None:
        _refuse_wrapped(checkpoint, info["unexpected_keys"])
    check_keys(
        checkpoint.name if whole is None else whole.name,
        total=len(model.state_dict()),
        missing=info["missing_keys"],
        unexpected=info["unexpected_keys"],
        mismatched=[key for key, *_ in info["mismatched_keys"]],
    )
    if how.adapter is not None and whole is None:
        how.adapter.add_to(model)
    if not how.quantization:
        _cast(model, how.dtype)
    return freeze(model)


def _refuse_wrapped(checkpoint: Checkpoint, names: Iterable[str]) -> None:
    """Says how weights are loaded that training saved with their LoRA beside them."""
    found = next((name for name in names if "base_model.model." in name), None)
    if found is not None:
        raise ModelError(
            "the weights do not fit the model: a LoRA lies among them that is not merged",
            where=f"checkpoint {checkpoint.name}",
            why=f"names are as PEFT wraps them ({found}), and the file does not say by what the "
            "low-rank part is multiplied",
            mend="give it: model.adapter={alpha: …} (the lora_alpha; PLLaVA's is 4)",
        )


def _source(
    checkpoint: Checkpoint, how: Loading, whole: Adapter | None
) -> tuple[Callable[..., Any], dict[str, Any]]:
    """Returns which `from_pretrained` loads the weights, and from where."""
    from transformers import MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING, AutoModelForImageTextToText

    config = None if how.remote_code else find_config(checkpoint)
    state = None if how.remote_code else find_weights(checkpoint, config)
    if whole is not None and whole.own and state is not None:
        state = merge(whole.name, state, whole.alpha or 0.0, how.dtype)
    elif whole is not None:
        state = whole.merged(how.dtype)
    if state is None:
        options: dict[str, Any] = checkpoint.load_options()
        given = {"pretrained_model_name_or_path": checkpoint.source, **options}
        given["trust_remote_code"] = how.remote_code
        if config is not None:
            given["config"] = config
        return AutoModelForImageTextToText.from_pretrained, given
    config = config or find_config(checkpoint)
    kind: Any = MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING[type(config)]
    read = {"config": config, "state_dict": state}
    return kind.from_pretrained, {"pretrained_model_name_or_path": None, **read}


def _cast(model: nn.Module, dtype: torch.dtype) -> None:
    """Casts what came in another type: an adapter's layers, or some that insist on fp32."""
    for part in model.parameters():
        if part.is_floating_point() and part.dtype != dtype:
            part.data = part.data.to(dtype)


class Weights(nn.Module):
    """A model whose constants keep their dtype when its weights are cast.

    Lightning casts all of a module for `bf16-true`, rotary frequencies with it; transformers
    computes them in fp32 for good reason: in bfloat16 positions past a few hundred run together.
    """

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    @property
    def embedding(self) -> Tensor:
        """The weights that token ids are looked up in: inputs belong beside them."""
        model: Any = self.model
        weight: Tensor = model.get_input_embeddings().weight
        return weight

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Weights:
        before = [
            (owner, name, buffer)
            for owner in self.model.modules()
            for name, buffer in owner.named_buffers(recurse=False)
            if buffer.is_floating_point()
        ]
        super()._apply(fn, recurse)  # type: ignore[no-untyped-call]
        for owner, name, buffer in before:
            moved = getattr(owner, name)
            if moved.dtype != buffer.dtype:
                setattr(owner, name, buffer.to(moved.device))
        return self


@contextmanager
def exact_constants() -> Iterator[None]:
    """Makes new tensors fp32: under `bf16-true` Lightning makes bfloat16 the default.

    Models of transformers compute positions and grids in the default type.
    """
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float32)
    try:
        yield
    finally:
        torch.set_default_dtype(before)
