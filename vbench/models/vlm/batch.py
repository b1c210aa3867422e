"""Different videos side by side: rows padded on the left, so that all end at the same place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import torch
from torch import Tensor, nn

from vbench.models.vlm.architecture import Architecture, Strategy, stateless
from vbench.models.vlm.forward import Forward, log_probs
from vbench.models.vlm.packing import Tokens
from vbench.models.vlm.prefix import ContinuationScore, Scored, refuse, score
from vbench.models.vlm.ways import beginnings

Inputs = Mapping[str, Any]


def score_batch(
    model: nn.Module,
    asked: Sequence[tuple[Scored, Inputs]],
    *,
    pad_id: int,
    tokens_per_chunk: int = 1024,
    strategy: Strategy | Literal["auto"] = "auto",
) -> list[list[ContinuationScore]]:
    """Scores questions about different videos, as many as possible in one pass.

    A question goes into the pass if one row of tokens answers it: options of one token each, or a
    single caption. The others are scored by `score`, one video after another. Answers are those of
    questions asked alone, up to rounding.

    Args:
        model: As for `score`.
        asked: Questions, each with the inputs that carry its video; empty for text only.
        pad_id: The token that fills rows; masked, so that any will do.
        tokens_per_chunk: As for `score`.
        strategy: As for `score`.

    Returns:
        (questions, continuations).

    Raises:
        ModelError: As for `score`.
    """
    refuse(model, [question for question, _ in asked])
    rows = [_row(question) for question, _ in asked]
    answers: dict[int, list[ContinuationScore]] = {}
    for number, (question, video) in enumerate(asked):
        if rows[number] is None:
            given: Any = {"tokens_per_chunk": tokens_per_chunk, "strategy": strategy}
            answers[number] = score(model, [question], video, **given)[0]
    left = [number for number in range(len(asked)) if number not in answers]
    for group in alike([asked[number][1] for number in left]):
        numbers = [left[place] for place in group]
        texts = [rows[number] or () for number in numbers]
        found = _together(model, [asked[n] for n in numbers], texts, pad_id)
        answers |= dict(zip(numbers, found, strict=True))
    return [answers[number] for number in range(len(asked))]


def alike(videos: Sequence[Inputs]) -> list[list[int]]:
    """Groups videos whose inputs can be put together: same names, types and sizes but the first."""
    groups: dict[tuple[object, ...], list[int]] = {}
    for number, video in enumerate(videos):
        shapes = tuple((name, _kind(video[name])) for name in sorted(video))
        groups.setdefault(shapes, []).append(number)
    return list(groups.values())


def left_padded(
    model: nn.Module, rows: Sequence[Tokens], videos: Sequence[Inputs], pad_id: int
) -> dict[str, Any]:
    """Makes the inputs of one pass, or of `generate`, from prompts about different videos.

    Args:
        model: The model they are for.
        rows: The token ids of each prompt.
        videos: The inputs that carry each one's video, `alike`.
        pad_id: The token that fills rows on the left.

    Returns:
        `input_ids` and `attention_mask` (rows, tokens), the videos' inputs, and token types if the
        model takes any.
    """
    architecture, device = Architecture.of(model), Forward(model).device
    width = max(len(row) for row in rows)
    ids = torch.full((len(rows), width), pad_id)
    mask = torch.zeros_like(ids)
    types = torch.zeros_like(ids)
    for number, row in enumerate(rows):
        ids[number, width - len(row) :] = torch.tensor(row)
        mask[number, width - len(row) :] = 1
        types[number, width - len(row) :] = torch.tensor(architecture.token_types(list(row)))
    inputs = {"input_ids": ids.to(device), "attention_mask": mask.to(device)}
    if "mm_token_type_ids" in architecture.takes:
        inputs["mm_token_type_ids"] = types.to(device)
    return inputs | {name: _joined([video[name] for video in videos]) for name in videos[0]}


def _row(question: Scored) -> Tokens | None:
    """Returns the tokens whose logits score every continuation; None if no one row does."""
    paths = sorted(beginnings(question.continuations), key=len)
    if not paths or any(paths[-1][: len(path)] != path for path in paths):
        return None
    return (*question.prompt_ids, *paths[-1])


def _together(
    model: nn.Module, asked: Sequence[tuple[Scored, Inputs]], rows: Sequence[Tokens], pad_id: int
) -> list[list[ContinuationScore]]:
    forward = Forward(model)
    inputs = left_padded(model, rows, [video for _, video in asked], pad_id)
    three_axes = forward.architecture.mrope
    if forward.architecture.rotary and not (three_axes and asked[0][1]):  # else the model's own
        places = (inputs["attention_mask"].cumsum(-1) - 1).clamp(min=0)
        inputs["position_ids"] = places.expand(3, -1, -1) if three_axes else places
    after = [
        len(row) - len(question.prompt_ids) for (question, _), row in zip(asked, rows, strict=True)
    ]
    wanted = max(after) + 1
    with torch.no_grad(), stateless(model):
        logits = forward.rows(inputs, wanted)
    return [
        _read(logits[number], wanted - 1 - after[number], question)
        for number, (question, _) in enumerate(asked)
    ]


def _read(logits: Tensor, start: int, question: Scored) -> list[ContinuationScore]:
    """Reads continuations off a row of logits whose prompt ends at `start`."""
    scores = []
    for continuation in question.continuations:
        rows = range(start, start + len(continuation))
        total = float(log_probs(logits, rows, continuation).sum())
        scores.append(ContinuationScore(total, len(continuation)))
    return scores


def _kind(value: Any) -> object:
    return (value.shape[1:], value.dtype) if isinstance(value, Tensor) else type(value)


def _joined(values: Sequence[Any]) -> Any:
    if isinstance(values[0], Tensor):
        return torch.cat(list(values))
    return [part for value in values for part in value]
