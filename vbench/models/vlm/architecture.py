"""What a model's class and config say about how its forward pass can be shared and called."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import nn

Strategy = Literal["packed", "loop", "features", "full"]
"""How work is shared, the safest last. `packed`: a prefix once, then many endings in one row.
`loop`: a prefix once, then one ending at a time. `features`: the vision tower once. `full`:
nothing."""

SAFER: tuple[Strategy, ...] = ("packed", "loop", "features", "full")

_PLACEHOLDERS = {
    1: ("image_token_id", "image_token_index"),
    2: ("video_token_id", "video_token_index"),
}
"""Config keys of the tokens that stand for visual features, by the type that Qwen's
`mm_token_type_ids` give them (transformers `ProcessorMixin.create_mm_token_type_ids`)."""

_TEXT_CONDITIONED = frozenset({"qformer_input_ids"})
"""Inputs that let the vision side read the prompt, as InstructBLIP's Q-Former does: its features
belong to one prompt."""


@dataclass(frozen=True)
class Architecture:
    """What can be told of a causal model without running it."""

    takes: frozenset[str]
    """The keyword arguments of its forward pass."""
    types: Mapping[int, int]
    """The type of each placeholder token id: 1 image, 2 video."""
    mrope: bool
    """Positions have three axes, and the model keeps a `rope_deltas` from call to call."""
    rotary: bool
    """Positions can be handed over and matter by difference only."""
    packable: bool
    """Attention follows a mask that is handed over, the same in every layer."""

    @classmethod
    def of(cls, model: nn.Module) -> Architecture:
        """Reads a transformers model."""
        config: Any = model.config
        text = config.get_text_config(decoder=True)
        takes = frozenset(inspect.signature(model.forward).parameters)
        types = {}
        for kind, names in _PLACEHOLDERS.items():
            found = [getattr(config, name, None) for name in names]
            types.update({token: kind for token in found if isinstance(token, int)})
        rope = getattr(text, "rope_parameters", None) or getattr(text, "rope_theta", None)
        return cls(
            takes=takes,
            types=types,
            mrope=bool(_keepers(model)),
            rotary=rope is not None and "position_ids" in takes,
            packable=_masked(text) and _alike(text),
        )

    def strategies(self, video: Mapping[str, Any]) -> tuple[Strategy, ...]:
        """Returns what may be tried for inputs of these names, in order."""
        if _TEXT_CONDITIONED & (self.takes | set(video)) or (video and not self.types):
            return ("full",)
        shared: tuple[Strategy, ...] = ("packed", "loop") if self._packs else ("loop",)
        return (*shared, "features", "full") if video else (*shared, "full")

    @property
    def _packs(self) -> bool:
        return self.packable and self.rotary

    def token_types(self, tokens: list[int]) -> list[int]:
        """Returns 0 for text, 1 for an image's token, 2 for a video's."""
        return [self.types.get(token, 0) for token in tokens]


def _masked(text: Any) -> bool:
    """Flash and flex attention build their own mask; these take one of four dimensions."""
    return getattr(text, "_attn_implementation", None) in ("sdpa", "eager")


def _alike(text: Any) -> bool:
    """Whether every layer sees the whole past: no window, no chunk, no recurrence."""
    layers = getattr(text, "layer_types", None)
    if layers:
        return set(layers) == {"full_attention"}
    windows = [getattr(text, name, None) for name in ("sliding_window", "attention_chunk_size")]
    return not any(windows)


def _keepers(model: nn.Module) -> list[Any]:
    return [module for module in model.modules() if hasattr(module, "rope_deltas")]


def rope_index(model: nn.Module) -> Any:
    """Returns the method that numbers tokens on three axes, or None."""
    found = (getattr(keeper, "get_rope_index", None) for keeper in _keepers(model))
    return next((method for method in found if method is not None), None)


@contextmanager
def stateless(model: nn.Module) -> Iterator[None]:
    """Lets no `rope_deltas` in or out: those of an earlier call are set aside and put back.

    Qwen's models keep the last video's on the model object, and use them for a later call that
    has a cache or no token ids.
    """
    before = [(keeper, keeper.rope_deltas) for keeper in _keepers(model)]
    for keeper, _ in before:
        keeper.rope_deltas = None
    try:
        yield
    finally:
        for keeper, deltas in before:
            keeper.rope_deltas = deltas


@contextmanager
def remembered_vision(model: nn.Module) -> Iterator[None]:
    """Runs the vision tower once for each set of inputs, however often the model is called."""
    names = ("get_video_features", "get_image_features")
    wrapped = []
    for module in model.modules():
        for name in names:
            if hasattr(module, name) and name not in vars(module):
                setattr(module, name, _once(getattr(module, name)))
                wrapped.append((module, name))
    try:
        yield
    finally:
        for module, name in wrapped:
            delattr(module, name)


def _once(features: Any) -> Any:
    known: dict[tuple[object, ...], tuple[object, Any]] = {}

    def get(*args: Any, **kwargs: Any) -> Any:
        given = [*args, *kwargs.values()]
        # Tensors are told apart by identity: they stay alive in `known` as long as it does.
        key = tuple(
            id(value) if isinstance(value, torch.Tensor) else repr(value) for value in given
        )
        key = (*key, len(args), *kwargs)
        if key not in known:
            known[key] = (given, features(*args, **kwargs))
        return known[key][1]

    return get
