"""How probable continuations are after prompts that share a video, which is read once.

The longest token prefix of all prompts goes through the model once, the video with it. What follows
is packed into rows of a bounded size, in which a mask and explicit positions keep endings apart;
where a model does not allow that, endings are read one at a time after the same cache; where the
video comes after the first difference, its features are computed once. In fp32 each way equals
separate passes up to rounding; the first calls of a model are checked against them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import nn

from vbench.errors import ConfigError, ModelError, did_you_mean
from vbench.models.vlm.architecture import Strategy, stateless
from vbench.models.vlm.choice import choose
from vbench.models.vlm.forward import Forward
from vbench.models.vlm.packing import Tokens
from vbench.models.vlm.ways import answer


@dataclass(frozen=True, slots=True)
class Scored:
    """A question as token ids."""

    prompt_ids: Tokens
    """The rendered prompt, the video's placeholder multiplied to one token per visual feature."""
    continuations: tuple[Tokens, ...]
    """Each is scored after the prompt."""


@dataclass(frozen=True, slots=True)
class ContinuationScore:
    """How probable a continuation is."""

    log_prob: float
    """Natural log-probability: the sum over its tokens, each in fp32."""
    tokens: int


def score(
    model: nn.Module,
    questions: Sequence[Scored],
    video: Mapping[str, Any],
    *,
    tokens_per_chunk: int = 1024,
    strategy: Strategy | Literal["auto"] = "auto",
) -> list[list[ContinuationScore]]:
    """Scores continuations after prompts that are all about the same video.

    Args:
        model: A causal language model of transformers, with or without a vision tower.
        questions: Prompts with their continuations.
        video: The keyword arguments of the forward pass that carry the video (pixel values, grids);
            empty for text only. Token types and masks are made here.
        tokens_per_chunk: Most tokens in a packed row, which bounds memory as continuations grow.
        strategy: How work is shared; `auto` chooses by architecture and checks the choice.

    Returns:
        (questions, continuations).

    Raises:
        ModelError: A prompt or continuation has no tokens, or the model is not causal.
    """
    refuse(model, questions)
    asked: dict[Tokens, dict[Tokens, None]] = {}
    for question in questions:
        asked.setdefault(question.prompt_ids, {}).update(dict.fromkeys(question.continuations))
    unique = {prompt: list(known) for prompt, known in asked.items() if known}
    if not unique:
        return [[] for _ in questions]
    forward = Forward(model)
    with torch.no_grad(), stateless(model):
        if strategy == "auto":
            strategy = choose(forward, unique, video, tokens_per_chunk)
        answers = answer(strategy, forward, unique, video, tokens_per_chunk)
    numbers = dict(zip(answers, torch.stack(list(answers.values())).tolist(), strict=True))
    return [
        [
            ContinuationScore(numbers[question.prompt_ids, continuation], len(continuation))
            for continuation in question.continuations
        ]
        for question in questions
    ]


def refuse(model: nn.Module, questions: Sequence[Scored]) -> None:
    """Raises a ModelError for what `score` cannot score."""
    name = type(model).__name__
    config: Any = model.config
    if getattr(config, "is_encoder_decoder", False):
        raise ModelError(
            "continuations are scored by causal models only",
            where=f"model {name}",
            why="it has an encoder and a decoder",
            mend="choose a decoder-only checkpoint, or let it generate",
        )
    for question in questions:
        if not question.prompt_ids or not all(question.continuations):
            raise ModelError(
                "a prompt and each of its continuations need at least one token",
                where=f"model {name}",
                why=f"prompt of {len(question.prompt_ids)} tokens, continuations of "
                f"{[len(continuation) for continuation in question.continuations]}",
                mend="leave empty texts out",
            )


def read_prefix(settings: dict[str, Any]) -> dict[str, Any]:
    """Returns `model.prefix` as arguments of `score`.

    Raises:
        ConfigError: A setting does not exist.
    """
    known = ("strategy", "tokens_per_chunk")
    for name in settings:
        if name not in known:
            raise ConfigError(
                f"there is no prefix setting '{name}'",
                where=f"model.prefix.{name}",
                mend=did_you_mean(name, known),
            )
    return settings
