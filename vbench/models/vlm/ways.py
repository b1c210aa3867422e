"""The ways of scoring continuations after prompts about one video, by how much they share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from typing import Any

import torch
from torch import Tensor

from vbench.models.vlm.architecture import Strategy, remembered_vision
from vbench.models.vlm.forward import Forward, Prefix, Step, log_probs
from vbench.models.vlm.packing import PREFIX, Chunk, Tokens, pack

Asked = Mapping[Tokens, Sequence[Tokens]]
"""By prompt its continuations, none twice."""

Answers = dict[tuple[Tokens, Tokens], Tensor]
"""By prompt and continuation the log-probability: ()."""

Inputs = Mapping[str, Any]
"""The arguments of the forward pass that carry the video."""


def answer(
    strategy: Strategy, forward: Forward, asked: Asked, video: Inputs, budget: int
) -> Answers:
    """Scores every continuation after its prompt.

    Args:
        strategy: How work is shared.
        forward: The model.
        asked: Prompts that are all about the same video.
        video: That video's inputs.
        budget: Most tokens in a packed row.
    """
    shares_vision = bool(video) and strategy != "full"
    with remembered_vision(forward.model) if shares_vision else nullcontext():
        if strategy in ("features", "full"):
            return _separately(forward, asked, video)
        answers: Answers = {}
        for length, group in _groups(forward, asked, video):
            prompt = next(iter(group))
            prefix = forward.prefill(prompt[:length], video)
            if strategy == "packed":
                answers |= _packed(forward, prefix, group, budget)
            else:
                answers |= _one_by_one(forward, prefix, group)
        return answers


def beginnings(continuations: Iterable[Tokens]) -> dict[Tokens, list[Tokens]]:
    """Groups continuations by what the model must read to score them: all but the last token.

    >>> beginnings([(1,), (2,), (3, 4)])
    {(): [(1,), (2,)], (3,): [(3, 4)]}
    """
    groups: dict[Tokens, list[Tokens]] = {}
    for continuation in continuations:
        groups.setdefault(continuation[:-1], []).append(continuation)
    return groups


def shared_length(prompts: Sequence[Tokens]) -> int:
    """Counts the tokens with which all prompts begin.

    >>> shared_length([(1, 2, 3), (1, 2, 4, 5)])
    2
    """
    first, last = min(prompts), max(prompts)  # whatever both begin with, those between do, too
    pairs = enumerate(zip(first, last, strict=False))
    return next((at for at, (one, other) in pairs if one != other), len(first))


def _groups(forward: Forward, asked: Asked, video: Inputs) -> Iterator[tuple[int, Asked]]:
    """Yields prompts that share a prefix with the whole video in it, and the prefix's length."""
    prompts = list(asked)
    length = shared_length(prompts)
    types = forward.architecture.types
    seen = sum(token in types for token in prompts[0][:length])
    if length and (not video or seen == sum(token in types for token in prompts[0])):
        yield length, asked
        return
    for prompt, continuations in asked.items():
        yield len(prompt), {prompt: continuations}


def _separately(forward: Forward, asked: Asked, video: Inputs) -> Answers:
    answers: Answers = {}
    for prompt, continuations in asked.items():
        for read, group in beginnings(continuations).items():
            logits = forward.whole((*prompt, *read), video, len(read) + 1)
            answers |= _read_off(logits, prompt, group)
    return answers


def _read_off(logits: Tensor, prompt: Tokens, continuations: Sequence[Tokens]) -> Answers:
    """Scores continuations that differ in their last token: logits are (tokens, vocabulary)."""
    rows = list(range(len(continuations[0])))
    return {
        (prompt, continuation): log_probs(logits, rows, continuation).sum()
        for continuation in continuations
    }


def _one_by_one(forward: Forward, prefix: Prefix, asked: Asked) -> Answers:
    """A prompt's own words once, then each of its continuations, all after the same cache."""
    answers: Answers = {}
    for prompt, continuations in asked.items():
        groups = beginnings(continuations)
        own = prompt[prefix.length :]
        with forward.branch(prefix) as base:
            if len(groups) > 1 and own:
                base = _advanced(forward, base, own)
                own = ()
            for read, group in groups.items():
                with forward.branch(base) as end:
                    logits = _logits_after(forward, end, (*own, *read), len(read) + 1)
                answers |= _read_off(logits, prompt, group)
    return answers


def _advanced(forward: Forward, prefix: Prefix, tokens: Tokens) -> Prefix:
    logits = _logits_after(forward, prefix, tokens, 1)
    length, position = prefix.length + len(tokens), prefix.position + len(tokens)
    return Prefix(prefix.cache, length, position, logits)


def _logits_after(forward: Forward, prefix: Prefix, tokens: Tokens, wanted: int) -> Tensor:
    """Returns (wanted, vocabulary): logits at the last of the prefix's and these tokens."""
    if not tokens:
        return prefix.logits
    count = len(tokens)
    keep = range(max(0, count - wanted), count)
    logits = forward.after(prefix, Step(tokens, range(count), keep))
    return logits if wanted <= count else torch.cat([prefix.logits, logits])


def _packed(forward: Forward, prefix: Prefix, asked: Asked, budget: int) -> Answers:
    """Endings in rows of at most `budget` tokens, each blind to the others."""
    wanted: dict[Tokens, list[tuple[Tokens, Tokens]]] = {}
    for prompt, continuations in asked.items():
        own = prompt[prefix.length :]
        for continuation in continuations:
            path = (*own, *continuation[:-1])
            wanted.setdefault(path, []).append((prompt, continuation))
    answers = _scored({(): []}, [PREFIX], prefix.logits, wanted)
    for chunk in pack(list(wanted), budget):
        before = _predicting(chunk, wanted)
        keep = [node for node in before if node != PREFIX]
        with forward.branch(prefix) as base:
            step = Step(chunk.tokens, chunk.depths(), keep, chunk.visible())
            logits = forward.after(base, step)
        if keep != before:
            logits = torch.cat([prefix.logits, logits])
        answers |= _scored(chunk.paths, before, logits, wanted)
    return answers


def _predicting(chunk: Chunk, wanted: Mapping[Tokens, list[tuple[Tokens, Tokens]]]) -> list[int]:
    """Returns the nodes whose logits score something, increasing; `PREFIX` first."""
    nodes = {
        node
        for path, places in chunk.paths.items()
        for _, continuation in wanted[path]
        for node in [PREFIX, *places][-len(continuation) :]
    }
    return sorted(nodes)


def _scored(
    paths: Mapping[Tokens, list[int]],
    rows: Sequence[int],
    logits: Tensor,
    wanted: Mapping[Tokens, list[tuple[Tokens, Tokens]]],
) -> Answers:
    """Scores what ends each path: `rows` are the nodes that the rows of `logits` belong to."""
    row = {node: number for number, node in enumerate(rows)}
    keys, index, targets = [], [], []
    for path, places in paths.items():
        for key in wanted.get(path, ()):
            continuation = key[1]
            keys.append(key)
            targets.append(continuation)
            index.append([row[node] for node in [PREFIX, *places][-len(continuation) :]])
    if not keys:
        return {}
    flat = log_probs(logits, [r for rs in index for r in rs], [t for ts in targets for t in ts])
    parts = torch.split(flat, [len(ts) for ts in targets])
    return {key: part.sum() for key, part in zip(keys, parts, strict=True)}
