"""Lets a model write: greedy unless asked otherwise, in padded batches, a shared video read once.

A greedy reply is, token by token, the most probable one of a whole pass over prompt and reply so
far. Tokens are placed as in such a pass: `generate` of transformers 5.24 counts on from
`rope_deltas`, which for Qwen's models and long videos is another place.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

import torch
from torch import Tensor, nn

from vbench.errors import ConfigError, did_you_mean
from vbench.models.vlm.architecture import stateless
from vbench.models.vlm.batch import alike, left_padded
from vbench.models.vlm.choice import choose
from vbench.models.vlm.forward import Forward
from vbench.models.vlm.packing import Tokens
from vbench.models.vlm.stops import Stops
from vbench.models.vlm.ways import shared_length

Inputs = Mapping[str, Any]
"""The arguments of the forward pass that carry a video; empty for text only."""

_SHARES = ("packed", "loop")
"""Strategies that read a prefix once."""


@dataclass(frozen=True)
class Generation:
    """How text is generated (conf/generation)."""

    max_new_tokens: int = 128
    temperature: float = 0.0
    """0: the most probable token, always."""
    top_p: float = 1.0
    """Least probability of the tokens that are drawn from, the most probable first."""
    top_k: int = 0
    """Most tokens that are drawn from; 0: all."""
    seed: int = 0
    """Of sampling; each reply is drawn by itself, whatever it is batched with."""
    thinking: bool = False
    """Whether the chat template lets a reply begin with a thought; a scored one never does."""

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
        if made.max_new_tokens < 1 or made.temperature < 0 or not 0 < made.top_p <= 1:
            raise ConfigError(
                "the generation settings make no sense",
                where="model.generation",
                why="max_new_tokens counts from 1, temperature from 0; top_p is above 0, at most 1",
                mend="see conf/generation/",
            )
        return made

    def settings(self, processor: Any = None) -> dict[str, Any]:
        """Returns them as plain values: part of the model's identity.

        Args:
            processor: The checkpoint's, whose `stop_texts` end a reply.
        """
        texts = list(getattr(processor, "stop_texts", ()))
        return asdict(self) | ({"stop_texts": texts} if texts else {})


@dataclass(frozen=True)
class Asked:
    """A prompt to go on from."""

    prompt: Tokens
    video: Inputs
    """One object for all prompts about the same video."""


@dataclass(frozen=True)
class Written:
    """What was generated: new tokens only, the end token not among them."""

    tokens: Tokens
    stopped: bool
    """It came to an end; else `max_new_tokens` were not enough."""


@dataclass(frozen=True)
class Ends:
    """The tokens at the edges of texts."""

    stop: frozenset[int]
    """Any of them ends a reply."""
    pad: int
    """Fills short rows; masked, so that any will do."""
    texts: Stops
    """Texts that end a reply too, and the words of one."""


@dataclass(frozen=True)
class _Rows:
    """Prompts that were read, side by side."""

    cache: Any
    mask: Tensor
    """(rows, tokens): 0 where a row is filled up."""
    places: Tensor
    """(rows,) where the next token stands."""
    logits: Tensor
    """(rows, vocabulary) what comes next."""


def end_tokens(model: Any, tokenizer: Any, processor: Any = None) -> Ends:
    """Reads which tokens end a reply: the checkpoint's generation config lists all of them.

    Args:
        model: The model.
        tokenizer: Its tokenizer.
        processor: Its processor, whose `stop_texts` end a reply too.
    """
    text = model.config.get_text_config(decoder=True)
    stop: set[int] = set()
    for owner in (getattr(model, "generation_config", None), text, tokenizer):
        found = getattr(owner, "eos_token_id", None)
        stop |= set(found if isinstance(found, list | tuple) else [found]) - {None}
    pad = tokenizer.pad_token_id
    pad = min(stop, default=0) if pad is None else pad
    texts = Stops(tokenizer, getattr(processor, "stop_texts", ()))
    return Ends(frozenset(stop), pad, texts)


def write(
    model: nn.Module, asked: Sequence[Asked], how: Generation, ends: Ends, batch_size: int
) -> list[Written]:
    """Generates from prompts.

    Args:
        model: A causal language model of transformers, with or without a vision tower.
        asked: Prompts with their videos, in any order.
        how: Settings; those in the checkpoint's own file have no say.
        ends: Tokens at the edges.
        batch_size: Most prompts at once.

    Returns:
        One per prompt, in the order given.
    """
    forward, written = Forward(model), dict[int, Written]()
    with torch.no_grad(), stateless(model):
        for rows in _batches(forward, asked, batch_size):
            own = [asked[row] for row in rows]
            started = _started(forward, own, ends.pad)
            written.update(zip(rows, _continued(forward, started, how, ends), strict=True))
    return [written[row] for row in range(len(asked))]


def _batches(forward: Forward, asked: Sequence[Asked], size: int) -> Iterator[list[int]]:
    """Yields prompts about one video together, then those about videos of like shape."""
    if not forward.architecture.rotary:  # places follow from counts, padding included
        yield from ([row] for row in range(len(asked)))
        return
    videos: dict[int, list[int]] = {}
    for row, one in enumerate(asked):
        videos.setdefault(id(one.video), []).append(row)
    single: list[int] = []
    for rows in videos.values():
        if len(rows) > 1 and _shares(forward, [asked[row] for row in rows]):
            yield from (rows[i : i + size] for i in range(0, len(rows), size))
        else:
            single += rows
    for group in alike([asked[row].video for row in single]):
        rows = sorted((single[place] for place in group), key=lambda row: len(asked[row].prompt))
        yield from (rows[i : i + size] for i in range(0, len(rows), size))


def _shares(forward: Forward, asked: Sequence[Asked]) -> bool:
    """Whether prompts about one video may share their beginning, with the whole video in it."""
    if not _shared(forward, asked):
        return False
    questions = {one.prompt: [(one.prompt[-1],)] for one in asked}  # any reply will do as a check
    return len(questions) > 1 and choose(forward, questions, asked[0].video, 1024) in _SHARES


def _shared(forward: Forward, asked: Sequence[Asked]) -> int:
    """Counts the tokens that prompts share and that can be read once; 0: none."""
    shortest = min(len(one.prompt) for one in asked)
    length = min(shared_length([one.prompt for one in asked]), shortest - 1)
    types = forward.architecture.types
    rest = [token for one in asked for token in one.prompt[length:]]
    return 0 if any(token in types for token in rest) else length


def _started(forward: Forward, asked: Sequence[Asked], pad: int) -> _Rows:
    """Reads prompts; their common beginning once if they are about one video."""
    one_video = len({id(one.video) for one in asked}) == 1
    length = _shared(forward, asked) if one_video and len(asked) > 1 else 0
    places = [forward.next_position(one.prompt, one.video) for one in asked]
    if not length or not forward.architecture.rotary:
        videos = [one.video for one in asked]
        inputs = left_padded(forward.model, [one.prompt for one in asked], videos, pad)
        three_axes = forward.architecture.mrope
        if forward.architecture.rotary and not (three_axes and asked[0].video):
            where = (inputs["attention_mask"].cumsum(-1) - 1).clamp(min=0)
            inputs["position_ids"] = where.expand(3, -1, -1) if three_axes else where
        cache, logits = forward.extend(inputs)
        next_places = torch.tensor(places, device=forward.device)
        return _Rows(cache, inputs["attention_mask"], next_places, logits)
    prefix = forward.prefill(asked[0].prompt[:length], asked[0].video)
    cache = copy.deepcopy(prefix.cache)
    cache.batch_repeat_interleave(len(asked))
    owns = [one.prompt[length:] for one in asked]
    inputs = left_padded(forward.model, owns, [{} for _ in owns], pad)
    before = torch.ones(len(asked), length, dtype=torch.long, device=forward.device)
    first = torch.full((len(asked),), prefix.position, device=forward.device)
    rows = _Rows(cache, before, first, prefix.logits)
    return _read(forward, rows, inputs["input_ids"], inputs["attention_mask"])


def _read(forward: Forward, rows: _Rows, ids: Tensor, mask: Tensor) -> _Rows:
    """Reads the next tokens, (rows, tokens), of every row."""
    whole = torch.cat([rows.mask, mask], dim=-1)
    inputs = {"input_ids": ids, "attention_mask": whole}
    if forward.architecture.rotary:
        places = (rows.places[:, None] + mask.cumsum(-1) - 1).clamp(min=0)
        three_axes = forward.architecture.mrope
        inputs["position_ids"] = places.expand(3, -1, -1) if three_axes else places
    cache, logits = forward.extend(inputs, rows.cache)
    return _Rows(cache, whole, rows.places + mask.sum(-1), logits)


def _continued(forward: Forward, rows: _Rows, how: Generation, ends: Ends) -> list[Written]:
    """Chooses token after token until every row has come to an end."""
    count = len(rows.logits)
    written: list[list[int]] = [[] for _ in range(count)]
    stopped = [False] * count
    draws = [torch.Generator().manual_seed(how.seed) for _ in range(count)]
    for step in range(how.max_new_tokens):
        chosen = [ends.pad] * count
        for row, token in enumerate(_chosen(rows.logits, how, draws)):
            if stopped[row]:
                continue
            stopped[row] = token in ends.stop
            if not stopped[row]:
                written[row].append(token)
                chosen[row] = token
                stopped[row] = ends.texts.reached(written[row])
        if all(stopped) or step == how.max_new_tokens - 1:
            break
        ids = torch.tensor(chosen, device=forward.device)[:, None]
        rows = _read(forward, rows, ids, torch.ones_like(ids))
    return [Written(tuple(own), end) for own, end in zip(written, stopped, strict=True)]


def _chosen(logits: Tensor, how: Generation, draws: Sequence[torch.Generator]) -> list[int]:
    """Returns the next token of each row: the most probable, or one drawn."""
    if how.temperature == 0:
        best: list[int] = logits.argmax(-1).tolist()
        return best
    return [_drawn(row.float().cpu(), how, draw) for row, draw in zip(logits, draws, strict=True)]


def _drawn(logits: Tensor, how: Generation, draw: torch.Generator) -> int:
    """Draws from (vocabulary,) logits, fp32."""
    ordered, tokens = (logits / how.temperature).sort(descending=True)
    chances = ordered.softmax(-1)
    keep = chances.cumsum(-1) - chances < how.top_p  # the first one always
    if how.top_k:
        keep[how.top_k :] = False
    place = torch.multinomial(chances * keep, 1, generator=draw)
    return int(tokens[place])
