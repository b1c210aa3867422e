"""Causal language models that are shown no video: what a test gives away by its words.

They say how likely a text is by itself, and answer the questions that video-language models are
asked, without a video.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import torch

from vbench.checkpoints import find_checkpoint
from vbench.errors import ConfigError, ModelError, VbenchError
from vbench.models.causal_weights import WordsOnly, check_causal, load_causal, start_token
from vbench.models.loading import load_config, load_words
from vbench.models.vlm.generation import Asked, Generation, end_tokens, write
from vbench.models.vlm.prefix import Scored, score
from vbench.models.vlm.rendering import Rendered, Renderer
from vbench.models.vlm.tokens import TokenReader, Tokens
from vbench.models.vlm.weights import Loading, Weights, exact_constants
from vbench.protocols import ClipPreprocess, Need, View
from vbench.records import VIDEO, Message, Reply, Request, Task


@dataclass(frozen=True)
class _Ready:
    """A request as token ids, with the part of its reply that is known before it is answered."""

    place: tuple[int, int]
    reply: Reply
    prompt: Tokens
    continuations: tuple[Tokens, ...]


class CausalLanguageModel:
    """Any decoder-only language model of transformers, shown no video.

    Under scorer=similarity a text's score is its log-likelihood after the token that texts start
    with: the tokenizer's BOS, or its EOS where it has none.

    Args:
        checkpoint: A folder, `pkg://package/folder`, or a hub id `owner/name`.
        revision: Branch, tag or commit of a hub id; None: its default branch, now.
        precision: What the weights are loaded in, in Lightning's words: `trainer.precision`.
        per_token: Whether a text's log-likelihood is divided by the number of its tokens; the sum
            favours short texts.
        generation: See `vbench.models.vlm.generation.Generation`.
        chat_template: A template or a file with one; None: the checkpoint's. Without either the
            model reads a message as it stands.
        system: A system prompt for messages without one; None: the template's own.
        tokens_per_chunk: Most tokens in a packed row; changes speed and memory only.
        batch_size: Prompts generated from at once; changes speed and memory only.
        context: The most tokens the model holds; None: what its config says. Longer texts are cut
            and flagged, longer prompts not asked.

    Raises:
        ConfigError: A setting does not exist.
        ModelError: The checkpoint cannot be found or loaded, or is no decoder-only language model.
    """

    needs: ClassVar[frozenset[Need]] = frozenset({"text"})
    preprocess: ClassVar[ClipPreprocess | None] = None

    def __init__(
        self,
        checkpoint: str,
        revision: str | None = None,
        precision: str = "32-true",
        per_token: bool = True,
        generation: dict[str, Any] | None = None,
        chat_template: str | None = None,
        system: str | None = None,
        tokens_per_chunk: int = 1024,
        batch_size: int = 8,
        context: int | None = None,
    ) -> None:
        self._checkpoint = find_checkpoint(checkpoint, revision)
        self._dtype = Loading(precision).dtype
        config = load_config(self._checkpoint)
        check_causal(checkpoint, config)
        self._tokenizer = load_words(self._checkpoint)
        self._start = start_token(checkpoint, self._tokenizer)
        self._per_token = per_token
        self._generation = Generation.of(generation or {})
        words = WordsOnly(self._tokenizer)
        thinking = self._generation.thinking
        self._renderer = Renderer(checkpoint, words, chat_template, system, thinking=thinking)
        self._reader = TokenReader(checkpoint, words, config)
        self._system = system
        self._tokens_per_chunk = tokens_per_chunk
        self._batch_size = batch_size
        self._context = context or self._reader.context
        if context is not None and context < 2:
            raise ConfigError("model.context counts from 2", where=f"model.context={context}")

    @property
    def tasks(self) -> frozenset[Task]:
        """It does everything that takes no video."""
        return frozenset({"match", "score", "generate"})

    @cached_property
    def module(self) -> torch.nn.Module:
        """The weights, on the CPU until Lightning moves them.

        Raises:
            ModelError: They cannot be read, or do not fill the architecture exactly.
        """
        return Weights(load_causal(self._checkpoint, self._dtype))

    @cached_property
    def _content(self) -> str:
        return self._checkpoint.identity()

    def identity(self) -> str:
        """Returns the checkpoint's content and every setting that can change an answer."""
        return self._told(generation=self._generation.settings())

    def scoring_identity(self) -> str:
        """Returns the same without what only decides how replies are generated."""
        return self._told()

    def _told(self, **more: object) -> str:
        settings = {
            "model": "causal_lm",
            "checkpoint": self._content,
            "start": self._start,
            "per_token": self._per_token,
            "chat_template": self._renderer.template,
            "system": self._system,
            "context": self._context,
            **more,
        }
        return json.dumps(settings, sort_keys=True)

    def score_texts(self, texts: Sequence[str]) -> tuple[list[float], list[bool]]:
        """Returns how likely each text is (natural log), and flags truncated texts.

        Raises:
            ModelError: A text has no tokens, or holds one that would control the model.
        """
        written = self._reader.control(texts)
        if written:
            raise ModelError(f"a text holds {written}, which would control the model")
        ids = [self._ids(text) for text in texts]
        if not all(ids):
            raise ModelError("a text has no tokens, and so no likelihood")
        longest = max(map(len, ids)) if self._context is None else self._context - 1
        kept = [own[:longest] for own in ids]
        with exact_constants():
            question = Scored((self._start,), tuple(kept))
            (found,) = score(self._model, [question], {}, tokens_per_chunk=self._tokens_per_chunk)
        scores = [one.log_prob / one.tokens if self._per_token else one.log_prob for one in found]
        return scores, [len(own) > longest for own in ids]

    def answer(self, asked: Sequence[tuple[View | None, Sequence[Request]]]) -> list[list[Reply]]:
        """Answers requests; a view that comes with them is not looked at."""
        replies: list[list[Reply]] = [[Reply()] * len(own) for _, own in asked]
        to_score: list[_Ready] = []
        to_write: list[_Ready] = []
        for group, (_, requests) in enumerate(asked):
            for row, request in enumerate(requests):
                found = self._prepared((group, row), request)
                if isinstance(found, Reply):
                    replies[group][row] = found
                else:
                    (to_score if found.continuations else to_write).append(found)
        with exact_constants():
            done = [*self._scored(to_score), *self._written(to_write)]
        for one, reply in zip([*to_score, *to_write], done, strict=True):
            replies[one.place[0]][one.place[1]] = reply
        return replies

    @property
    def _model(self) -> Any:
        return self.module.model

    def _ids(self, text: str) -> Tokens:
        return tuple(self._tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"])

    def _prepared(self, place: tuple[int, int], request: Request) -> _Ready | Reply:
        """Returns a request as token ids, or the reply to one that cannot be asked."""
        message = request.message
        if message is None:
            return Reply("model_error", "a text to match was asked as a message")
        told = [message.text.replace(VIDEO, "")] if message.quoted is None else message.quoted
        written = self._reader.control(told)
        if written:
            return Reply("model_error", f"a text holds {written}, which would control the model")
        try:
            rendered = self._rendered(message, scored=bool(request.continuations))
            continuations = tuple(map(self._reader.reply, request.continuations))
        except VbenchError as error:
            return Reply("model_error", error.what)
        prompt = self._reader.prompt(rendered, "") or (self._start,)
        longest = max(map(len, continuations), default=self._generation.max_new_tokens)
        reply = Reply(
            prompt=rendered.text,
            token_ids=continuations,
            prompt_tokens=len(prompt),
            dtype=self._computed_in(),
        )
        if self._context is not None and len(prompt) + longest > self._context:
            reason = (
                f"{len(prompt)} tokens of prompt and {longest} of reply are more than the "
                f"{self._context} that the model holds"
            )
            return replace(reply, status="overlong", reason=reason)
        return _Ready(place, reply, prompt, continuations)

    def _rendered(self, message: Message, *, scored: bool) -> Rendered:
        if message.render == "chat" and self._renderer.template is None:
            system = self._system if message.system is None else message.system
            said = [text for _, text in message.turns]
            text = "\n".join(filter(None, [system, *said, message.text]))
            message = replace(message, text=text, turns=(), render="raw")
        return self._renderer.render(message, shows_video=False, scored=scored)

    def _scored(self, ready: Sequence[_Ready]) -> list[Reply]:
        questions = [Scored(one.prompt, one.continuations) for one in ready]
        found = score(self._model, questions, {}, tokens_per_chunk=self._tokens_per_chunk)
        return [
            replace(
                one.reply,
                log_probs=tuple(part.log_prob for part in parts),
                reply_tokens=max(part.tokens for part in parts),
            )
            for one, parts in zip(ready, found, strict=True)
        ]

    def _written(self, ready: Sequence[_Ready]) -> list[Reply]:
        if not ready:
            return []
        asked = [Asked(one.prompt, {}) for one in ready]
        ends = end_tokens(self._model, self._tokenizer)
        found = write(self._model, asked, self._generation, ends, self._batch_size)
        return [
            replace(
                one.reply,
                text=ends.texts.read(written.tokens),
                reply_tokens=len(written.tokens),
                finish_reason="stop" if written.stopped else "length",
            )
            for one, written in zip(ready, found, strict=True)
        ]

    def _computed_in(self) -> str:
        weight = next(self.module.parameters())
        kind = weight.device.type
        cast = torch.is_autocast_enabled(kind)
        return str(torch.get_autocast_dtype(kind) if cast else weight.dtype).removeprefix("torch.")
