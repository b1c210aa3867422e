"""Calls of a causal model with one row of tokens: whole, or going on after a cached prefix."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from vbench.models.vlm.architecture import Architecture

_ROWS = 64
"""Positions whose logits are held in fp32 at a time."""


@dataclass
class Prefix:
    """What the model keeps of the tokens that come first."""

    cache: Any
    length: int
    position: int
    """The next token's, on each axis: with M-RoPE a video moves it by more or less than its tokens.
    """
    logits: Tensor
    """(1, vocabulary) what follows the prefix's last token."""


@dataclass(frozen=True)
class Step:
    """Tokens that come after a prefix, in one row."""

    tokens: Sequence[int]
    depths: Sequence[int]
    """Of each token, how many lie between it and the prefix."""
    keep: Sequence[int]
    """The indices whose logits are wanted, increasing."""
    visible: np.ndarray | None = None
    """(tokens, tokens), bool; None: each token sees all before it."""


class Forward:
    """A model's forward pass, called with the arguments that its class takes."""

    def __init__(self, model: nn.Module) -> None:
        self.model = model
        self.architecture = Architecture.of(model)
        takes = self.architecture.takes
        self._cache_name = "cache" if "cache" in takes else "past_key_values"

    def whole(self, tokens: Sequence[int], video: Mapping[str, Any], wanted: int) -> Tensor:
        """Returns (wanted, vocabulary) logits at the last tokens, sharing nothing."""
        inputs = {**self._inputs(tokens), **video, "use_cache": False}
        return self._call(inputs, range(len(tokens) - wanted, len(tokens)))[1][0]

    def prefill(self, tokens: Sequence[int], video: Mapping[str, Any]) -> Prefix:
        """Reads the prefix, the video with it."""
        inputs = {**self._inputs(tokens), **video, "use_cache": True}
        with _positions(self.model) as seen:
            output, logits = self._call(inputs, [len(tokens) - 1])
        position = _next_position(seen, len(tokens), tokens[-1] in self.architecture.types)
        return Prefix(output[self._cache_name], len(tokens), position, logits[0])

    def after(self, prefix: Prefix, step: Step) -> Tensor:
        """Returns (keep, vocabulary) logits, and leaves the tokens in the prefix's cache."""
        ids = torch.tensor([list(step.tokens)], device=self.device)
        inputs = {"input_ids": ids, self._cache_name: prefix.cache, "use_cache": True}
        if self.architecture.rotary:
            places = torch.tensor([list(step.depths)], device=self.device)
            places = places + prefix.position
            inputs["position_ids"] = places.expand(3, 1, -1) if self.architecture.mrope else places
        if step.visible is not None:
            inputs["attention_mask"] = self._mask(prefix.length, step.visible)
        return self._call(inputs, step.keep)[1][0]

    @contextmanager
    def branch(self, prefix: Prefix) -> Iterator[Prefix]:
        """Lends the prefix for going on after it; what is added is forgotten at the end."""
        if not _croppable(prefix.cache):
            yield replace(prefix, cache=copy.deepcopy(prefix.cache))
            return
        before = prefix.cache.get_seq_length()
        try:
            yield prefix
        finally:
            prefix.cache.crop(before - prefix.cache.get_seq_length())  # a count below zero

    @property
    def device(self) -> torch.device:
        """Where token ids belong."""
        device: torch.device = self.model.get_input_embeddings().weight.device  # type: ignore[operator]
        return device

    def _inputs(self, tokens: Sequence[int]) -> dict[str, Any]:
        inputs = {"input_ids": torch.tensor([list(tokens)], device=self.device)}
        if "mm_token_type_ids" in self.architecture.takes:
            types = self.architecture.token_types(list(tokens))
            inputs["mm_token_type_ids"] = torch.tensor([types], device=self.device)
        return inputs

    def _mask(self, length: int, visible: np.ndarray) -> Tensor:
        """Returns (1, 1, tokens, prefix + tokens): zero where seen, else the lowest number."""
        dtype = self.model.get_input_embeddings().weight.dtype  # type: ignore[operator]
        mask = torch.zeros(1, 1, len(visible), length + len(visible), dtype=dtype)
        mask[0, 0, :, length:].masked_fill_(~torch.from_numpy(visible), torch.finfo(dtype).min)
        return mask.to(self.device)

    def _call(self, inputs: dict[str, Any], keep: Sequence[int]) -> tuple[Any, Tensor]:
        """Runs the model; logits are made at the wanted positions only."""
        wanted = torch.tensor(list(keep), device=self.device)
        if "logits_to_keep" in self.architecture.takes:
            output = self.model(**inputs, logits_to_keep=wanted)
            return output, output.logits
        with _only(self.model, wanted):
            output = self.model(**inputs)
        return output, output.logits


@contextmanager
def _only(model: Any, wanted: Tensor) -> Iterator[None]:
    """Hands the output layer the wanted positions only (VideoLLaMA 3 has no `logits_to_keep`)."""

    def select(_: nn.Module, args: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return (args[0][:, wanted.to(args[0].device)], *args[1:])

    hook = model.get_output_embeddings().register_forward_pre_hook(select)
    try:
        yield
    finally:
        hook.remove()


@contextmanager
def _positions(model: Any) -> Iterator[list[Tensor]]:
    """Collects the positions that the model hands to its decoder, if it makes any.

    Not Qwen's `rope_deltas`: transformers 5.24 puts the text after a video of many frames at other
    positions than they say.
    """
    seen: list[Tensor] = []

    def look(_: nn.Module, __: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if kwargs.get("position_ids") is not None:
            seen.append(kwargs["position_ids"])

    hook = model.get_decoder().register_forward_pre_hook(look, with_kwargs=True)
    try:
        yield seen
    finally:
        hook.remove()


def _next_position(seen: Sequence[Tensor], length: int, visual: bool) -> int:
    """Returns the position of the token after a prefix, whose last token may be a visual one."""
    if not seen:
        return length
    last = seen[0] if visual else seen[0][..., -1]
    return int(last.max()) + 1


def _croppable(cache: Any) -> bool:
    """Whether the last tokens can be taken off: windows and recurrent states have forgotten."""
    from transformers.cache_utils import DynamicLayer

    return all(type(layer) is DynamicLayer for layer in cache.layers)


def log_probs(logits: Tensor, rows: Sequence[int], targets: Sequence[int]) -> Tensor:
    """Returns (targets,) fp32: the natural log-probability of each target at its row of logits.

    Args:
        logits: (rows, vocabulary), any float type.
        rows: Of each target its row.
        targets: Token ids.
    """
    parts = [torch.logsumexp(part.float(), dim=-1) for part in torch.split(logits, _ROWS)]
    index = torch.tensor(list(rows), device=logits.device)
    ids = torch.tensor(list(targets), device=logits.device)
    return logits[index, ids].float() - torch.cat(parts)[index]
