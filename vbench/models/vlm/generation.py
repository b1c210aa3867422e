"""Lets a model write: greedy unless asked otherwise, left-padded batches, nothing hidden."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from typing import Any

import torch
from torch import Tensor

from vbench.errors import ConfigError, did_you_mean
from vbench.models.vlm.architecture import Architecture, stateless
from vbench.models.vlm.tokens import Tokens

Inputs = Mapping[str, Any]
"""The arguments of the forward pass that carry a video; empty for text only."""


@dataclass(frozen=True)
class Generation:
    """How text is generated (conf/generation)."""

    max_new_tokens: int = 128
    temperature: float = 0.0
    """0: the most probable token, always."""
    top_p: float = 1.0
    top_k: int = 0
    """0: all tokens."""
    repetition_penalty: float = 1.0
    num_beams: int = 1
    seed: int = 0
    """Of sampling; each request is drawn by itself, whatever it is batched with."""

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> Generation:
        """Reads `model.generation`.

        Raises:
            ConfigError: A setting does not exist or makes no sense.
        """
        names = [field.name for field in fields(cls)]
        for name in settings:
            if name not in names:
                raise ConfigError(
                    f"there is no generation setting '{name}'",
                    where=f"model.generation.{name}",
                    mend=did_you_mean(name, names),
                )
        made = cls(**settings)
        if made.max_new_tokens < 1 or made.num_beams < 1 or made.temperature < 0:
            raise ConfigError(
                "the generation settings make no sense",
                where="model.generation",
                why="max_new_tokens and num_beams count from 1, temperature from 0",
                mend="see conf/generation/",
            )
        return made

    def settings(self) -> dict[str, Any]:
        """Returns them as plain values: part of the model's identity."""
        return asdict(self)


@dataclass(frozen=True)
class Asked:
    """A prompt to go on from."""

    prompt: Tokens
    video: Inputs


@dataclass(frozen=True)
class Written:
    """What was generated: new tokens only, the end token not among them."""

    tokens: Tokens
    stopped: bool
    """It came to an end; else `max_new_tokens` were not enough."""


def write(
    model: Any, asked: Sequence[Asked], how: Generation, pad: int, batch_size: int
) -> list[Written]:
    """Generates from prompts, in batches of like videos, the long prompts together.

    Args:
        model: A causal language model of transformers, with or without a vision tower.
        asked: Prompts with their videos, in any order.
        how: Settings; the checkpoint's own are ignored but for its end tokens.
        pad: The id that fills up short prompts, on the left.
        batch_size: Most prompts at once.

    Returns:
        One per prompt, in the order given.
    """
    size = 1 if how.temperature > 0 else batch_size
    written: dict[int, Written] = {}
    for rows in _batches(asked, size):
        found = _generate(model, [asked[row] for row in rows], how, pad)
        written.update(zip(rows, found, strict=True))
    return [written[row] for row in range(len(asked))]


def _batches(asked: Sequence[Asked], size: int) -> Iterator[list[int]]:
    """Groups prompts whose videos can be put into one tensor."""
    kinds: dict[object, list[int]] = {}
    for row, one in enumerate(asked):
        shapes = tuple((name, *value.shape[1:]) for name, value in sorted(one.video.items()))
        kinds.setdefault(shapes, []).append(row)
    for rows in kinds.values():
        rows.sort(key=lambda row: len(asked[row].prompt))
        yield from (rows[i : i + size] for i in range(0, len(rows), size))


def padded(prompts: Sequence[Tokens], pad: int) -> tuple[Tensor, Tensor]:
    """Returns ids and mask, (prompts, tokens), filled up on the left.

    >>> padded([(5,), (6, 7)], 0)[0].tolist()
    [[0, 5], [6, 7]]
    """
    longest = max(map(len, prompts))
    ids = [[pad] * (longest - len(prompt)) + list(prompt) for prompt in prompts]
    mask = [[0] * (longest - len(prompt)) + [1] * len(prompt) for prompt in prompts]
    return torch.tensor(ids), torch.tensor(mask)


def _generate(model: Any, asked: Sequence[Asked], how: Generation, pad: int) -> list[Written]:
    device = model.get_input_embeddings().weight.device
    ids, mask = padded([one.prompt for one in asked], pad)
    inputs: dict[str, Any] = {"input_ids": ids.to(device), "attention_mask": mask.to(device)}
    architecture = Architecture.of(model)
    if "mm_token_type_ids" in architecture.takes:
        types = [architecture.token_types(row) for row in ids.tolist()]
        inputs["mm_token_type_ids"] = torch.tensor(types, device=device)
    for name in asked[0].video:
        inputs[name] = torch.cat([one.video[name] for one in asked]).to(device)
    ends = _ends(model)
    with torch.no_grad(), stateless(model), _drawing(how, device), _plainly(model, how, pad):
        made = model.generate(**inputs)
    return [_until_end(tuple(row), ends) for row in made[:, ids.shape[1] :].tolist()]


@contextmanager
def _drawing(how: Generation, device: torch.device) -> Iterator[None]:
    """Draws from a seed of its own, and leaves everybody else's draws as they were."""
    if how.temperature == 0:
        yield
        return
    with torch.random.fork_rng([device] if device.type == "cuda" else []):
        torch.manual_seed(how.seed)
        yield


@contextmanager
def _plainly(model: Any, how: Generation, pad: int) -> Iterator[None]:
    """Sets what is asked for, and nothing that a checkpoint's file may say beside it."""
    from transformers import GenerationConfig

    own = model.generation_config
    sampled = how.temperature > 0
    drawn = {"temperature": how.temperature, "top_p": how.top_p, "top_k": how.top_k}
    model.generation_config = GenerationConfig(
        max_new_tokens=how.max_new_tokens,
        num_beams=how.num_beams,
        repetition_penalty=how.repetition_penalty,
        do_sample=sampled,
        eos_token_id=list(_ends(model)) or None,
        pad_token_id=pad,
        **(drawn if sampled else {}),
    )
    try:
        yield
    finally:
        model.generation_config = own


def _ends(model: Any) -> tuple[int, ...]:
    """Returns the tokens that end a reply: the checkpoint's generation config lists them all."""
    for source in (model.generation_config, model.config.get_text_config(decoder=True)):
        ends = getattr(source, "eos_token_id", None)
        if ends is not None:
            return tuple(ends) if isinstance(ends, list | tuple) else (int(ends),)
    return ()


def _until_end(tokens: Tokens, ends: Sequence[int]) -> Written:
    for place, token in enumerate(tokens):
        if token in ends:
            return Written(tokens[:place], stopped=True)
    return Written(tokens, stopped=False)
