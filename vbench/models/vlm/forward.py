"""Calls of a causal model with one row of tokens: whole, or going on after a cached prefix."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from vbench.models.vlm.architecture import Architecture, rope_index

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
        self.rounding = torch.finfo(self._weight.dtype).eps
        """The coarsest rounding step seen: of the weights, or of what autocast made of them."""
        self._cache_name = "cache" if "cache" in takes else "past_key_values"

    def whole(self, tokens: Sequence[int], video: Mapping[str, Any], wanted: int) -> Tensor:
        """Returns (wanted, vocabulary) logits at the last tokens, sharing nothing."""
        inputs = {**self._inputs(tokens), **video, "use_cache": False}
        return self._call(inputs, range(len(tokens) - wanted, len(tokens)))[1][0]

    def rows(self, inputs: Mapping[str, Any], wanted: int) -> Tensor:
        """Returns (rows, wanted, vocabulary) logits at the end of rows that are padded left."""
        width = inputs["input_ids"].shape[1]
        return self._call({**inputs, "use_cache": False}, range(width - wanted, width))[1]

    def extend(self, inputs: Mapping[str, Any], cache: Any = None) -> tuple[Any, Tensor]:
        """Reads the next tokens of rows; returns the cache and (rows, vocabulary) last logits."""
        given = {**inputs, "use_cache": True}
        if cache is not None:
            given[self._cache_name] = cache
        output, logits = self._call(given, [inputs["input_ids"].shape[1] - 1])
        return output[self._cache_name], logits[:, 0]

    def prefill(self, tokens: Sequence[int], video: Mapping[str, Any]) -> Prefix:
        """Reads the prefix, the video with it."""
        inputs = {**self._inputs(tokens), **video, "use_cache": True}
        output, logits = self._call(inputs, [len(tokens) - 1])
        position = self.next_position(tokens, video)
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
        return self._weight.device

    @property
    def _weight(self) -> Tensor:
        """The token embeddings: of a float type even where the layers are quantised."""
        weight: Tensor = self.model.get_input_embeddings().weight  # type: ignore[operator]
        return weight

    def _inputs(self, tokens: Sequence[int]) -> dict[str, Any]:
        inputs = {"input_ids": torch.tensor([list(tokens)], device=self.device)}
        if "mm_token_type_ids" in self.architecture.takes:
            types = self.architecture.token_types(list(tokens))
            inputs["mm_token_type_ids"] = torch.tensor([types], device=self.device)
        return inputs

    def next_position(self, tokens: Sequence[int], video: Mapping[str, Any]) -> int:
        """Returns where the model puts a word after these tokens.

        The model itself is asked, not its `rope_deltas`: transformers 5.24 numbers the text after a
        video of many frames from less than the last frame's number, which they do not reflect.
        """
        index = rope_index(self.model)
        if not video or index is None:
            return len(tokens)
        word = next(token for token in range(len(tokens)) if token not in self.architecture.types)
        given = {**self._inputs((*tokens, word)), **video}
        takes = inspect.signature(index).parameters
        positions = index(**{name: value for name, value in given.items() if name in takes})[0]
        return int(positions[..., -1].max())

    def _mask(self, length: int, visible: np.ndarray) -> Tensor:
        """Returns (1, 1, tokens, prefix + tokens): zero where seen, else the lowest number."""
        dtype = self._weight.dtype
        mask = torch.zeros(1, 1, len(visible), length + len(visible), dtype=dtype)
        mask[0, 0, :, length:].masked_fill_(~torch.from_numpy(visible), torch.finfo(dtype).min)
        return mask.to(self.device)

    def _call(self, inputs: dict[str, Any], keep: Sequence[int]) -> tuple[Any, Tensor]:
        """Runs the model; logits are made at the wanted positions only."""
        wanted = torch.tensor(list(keep), device=self.device)
        if "logits_to_keep" in self.architecture.takes:
            output = self.model(**inputs, logits_to_keep=wanted)
        else:
            with _only(self.model, wanted):
                output = self.model(**inputs)
        self.rounding = max(self.rounding, torch.finfo(output.logits.dtype).eps)
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


def _croppable(cache: Any) -> bool:
    """Whether the last tokens can be taken off: windows and recurrent states have forgotten."""
    from transformers.cache_utils import DynamicLayer

    return all(type(layer) is DynamicLayer for layer in cache.layers)


def log_probs(logits: Tensor, rows: Sequence[int], targets: Sequence[int]) -> Tensor:
    """Returns (targets,): the natural log-probability of each target at its row of logits.

    They are computed in fp32 and returned as fp64 on the CPU, as sums over a caption's tokens are
    hundreds, of which fp32 keeps no more than four decimals.

    Args:
        logits: (rows, vocabulary), any float type.
        rows: Of each target its row.
        targets: Token ids.
    """
    parts = [torch.logsumexp(part.float(), dim=-1) for part in torch.split(logits, _ROWS)]
    index = torch.tensor(list(rows), device=logits.device)
    ids = torch.tensor(list(targets), device=logits.device)
    return (logits[index, ids].float() - torch.cat(parts)[index]).cpu().double()
