"""Any video-language model of transformers that AutoModelForImageTextToText can build."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, cast, get_args

import torch

from vbench.checkpoints import find_checkpoint
from vbench.errors import ConfigError, VbenchError
from vbench.models.vlm.assembled import borrowed
from vbench.models.vlm.batch import score_batch
from vbench.models.vlm.clip_inputs import Blind, ClipInputs
from vbench.models.vlm.generation import Asked, Generation, end_tokens, write
from vbench.models.vlm.lora import Adapter
from vbench.models.vlm.prefix import ContinuationScore, Scored, read_prefix, score
from vbench.models.vlm.rendering import Renderer
from vbench.models.vlm.tokens import TokenReader, Tokens
from vbench.models.vlm.weights import Loading, Weights, exact_constants, load_weights, read_config
from vbench.protocols import ClipPreprocess, Need, View
from vbench.records import VIDEO, Reply, Request, Task


@dataclass(frozen=True)
class _Ready:
    """A request as token ids, with the part of its reply that is known before it is answered."""

    place: tuple[int, int]
    reply: Reply
    prompt: Tokens
    continuations: tuple[Tokens, ...]
    view: View | None


class HfVideoLanguageModel:
    """Scores and generates with a checkpoint's own processor, chat template and weights.

    Made from the checkpoint's configs and processor; its weights are loaded on first use.

    Args:
        checkpoint: A folder, `pkg://package/folder`, or a hub id `owner/name`.
        revision: Branch, tag or commit of a hub id; None: its default branch, now.
        precision: What the weights are loaded in, in Lightning's words: `trainer.precision`.
        visual: `blind` (none: no video at all; black: black frames) and settings of the
            checkpoint's video processor (size, …) that replace its own.
        generation: See `Generation`.
        chat_template: A template or a file with one; None: the checkpoint's.
        system: A system prompt for messages without one; None: the template's own.
        device_map: Passed to from_pretrained; the weights then stay where it puts them.
        quantization: Passed to from_pretrained as quantization_config.
        adapter: See `vbench.models.vlm.lora.Adapter`.
        trust_remote_code: Whether code in the checkpoint may run on this machine.
        prefix: `strategy` and `tokens_per_chunk` of `vbench.models.vlm.prefix.score`.
        batch_size: Prompts answered side by side; changes speed and memory only.
        context: The most tokens the model holds; None: what its config says.

    Raises:
        ConfigError: A setting does not exist.
        ModelError: The checkpoint cannot be found or loaded, or takes no video.
    """

    needs: frozenset[Need] = frozenset({"frames", "text"})

    def __init__(
        self,
        checkpoint: str,
        revision: str | None = None,
        precision: str = "32-true",
        visual: dict[str, Any] | None = None,
        generation: dict[str, Any] | None = None,
        chat_template: str | None = None,
        system: str | None = None,
        device_map: str | dict[str, Any] | None = None,
        quantization: dict[str, Any] | None = None,
        adapter: str | dict[str, Any] | None = None,
        trust_remote_code: bool = False,
        prefix: dict[str, Any] | None = None,
        batch_size: int = 8,
        context: int | None = None,
    ) -> None:
        self._checkpoint = find_checkpoint(checkpoint, revision)
        added = Adapter.of(adapter, self._checkpoint) if adapter else None
        self._loading = Loading(precision, device_map, quantization, added, trust_remote_code)
        config = read_config(self._checkpoint, remote_code=trust_remote_code)
        self._parts: dict[str, Any] = {"checkpoint": self._checkpoint} | borrowed(config, added)
        budget = dict(visual or {})
        self._blind = _blind(budget.pop("blind", None))
        if self._blind == "none":
            self.needs = frozenset({"text"})
        self._clips = ClipInputs(
            self._checkpoint, budget, self._blind, remote_code=trust_remote_code
        )
        processor = self._clips.processor
        self._generation = Generation.of(generation or {})
        thinking = self._generation.thinking
        self._renderer = Renderer(checkpoint, processor, chat_template, system, thinking=thinking)
        self._tokens = TokenReader(checkpoint, processor, config)
        self._context = context or self._tokens.context
        self._tokenizer = processor.tokenizer
        self._prefix = read_prefix(prefix or {})
        self._batch_size = batch_size
        self._system = system

    @property
    def tasks(self) -> frozenset[Task]:
        """It scores and generates."""
        return frozenset({"score", "generate"})

    @property
    def preprocess(self) -> ClipPreprocess | None:
        """The checkpoint's own processor; None for a model that is shown no video."""
        return None if self._blind == "none" else self._clips

    @property
    def module(self) -> torch.nn.Module | None:
        """The weights for Lightning to move; None where loading them has placed them."""
        return None if self._loading.placed else self._weights

    @cached_property
    def _weights(self) -> Weights:
        return Weights(load_weights(self._checkpoint, self._loading))

    @property
    def _model(self) -> torch.nn.Module:
        return self._weights.model

    @cached_property
    def _content(self) -> dict[str, str]:
        return {name: part.identity() for name, part in self._parts.items()}

    def identity(self) -> str:
        """Returns the checkpoint's content and every setting that can change an answer."""
        return self._told(generation=self._generation.settings(self._clips.processor))

    def scoring_identity(self) -> str:
        """Returns the same without what only decides how replies are generated."""
        return self._told()

    def _told(self, **more: object) -> str:
        settings = {
            "model": "transformers",
            **self._content,
            "blind": self._blind,
            "chat_template": self._renderer.template,
            "system": self._system,
            "quantization": self._loading.quantization,
            "context": self._context,
            **more,
        }
        return json.dumps(settings, sort_keys=True)

    def check(self, requests: Sequence[Request]) -> None:
        """Refuses what none of the requests can be answered without, before weights are loaded.

        Raises:
            ModelError: Messages are to be chats, and the checkpoint has no chat template.
        """
        if any(request.message and request.message.render == "chat" for request in requests):
            self._renderer.check()

    def answer(self, asked: Sequence[tuple[View | None, Sequence[Request]]]) -> list[list[Reply]]:
        """Answers requests, grouped by the view they share."""
        replies: dict[tuple[int, int], Reply] = {}
        ready: list[_Ready] = []
        with exact_constants():
            dtype = self._dtype()
            for group, (view, requests) in enumerate(asked):
                for row, request in enumerate(requests):
                    found = self._prepared((group, row), view, request, dtype)
                    if isinstance(found, Reply):
                        replies[group, row] = found
                    else:
                        ready.append(found)
            replies |= self._score([one for one in ready if one.continuations])
            replies |= self._write([one for one in ready if not one.continuations])
        return [[replies[i, row] for row in range(len(own))] for i, (_, own) in enumerate(asked)]

    def _prepared(
        self, place: tuple[int, int], view: View | None, request: Request, dtype: str
    ) -> _Ready | Reply:
        """Returns a request as token ids, or the reply to one that cannot be asked."""
        message = request.message
        if message is None:
            return Reply("model_error", "a language model is told a message")
        written = self._tokens.control(
            [message.text.replace(VIDEO, "")] if message.quoted is None else message.quoted
        )
        if written:
            return Reply("model_error", f"a text holds {written}, which would control the model")
        try:
            rendered = self._renderer.render(
                message, shows_video=view is not None, scored=bool(request.continuations)
            )
            continuations = tuple(map(self._tokens.reply, request.continuations))
        except VbenchError as error:
            return Reply("model_error", error.what)
        prompt = self._tokens.prompt(rendered, view.inputs["expansion"] if view else "")
        longest = max(map(len, continuations), default=self._generation.max_new_tokens)
        reply = Reply(
            prompt=rendered.text,
            token_ids=continuations,
            prompt_tokens=len(prompt),
            visual_tokens=self._tokens.visual_count(prompt),
            frame_shape=tuple(view.inputs["frame_shape"]) if view else (),
            dtype=dtype,
        )
        if self._context is not None and len(prompt) + longest > self._context:
            return replace(reply, status="overlong", reason=self._too_long(reply, longest))
        return _Ready(place, reply, prompt, continuations, view)

    def _too_long(self, reply: Reply, longest: int) -> str:
        text = reply.prompt_tokens - reply.visual_tokens + longest
        fewer = "choose fewer frames (sampler.num_frames) or fewer pixels (model.visual)"
        return (
            f"{reply.prompt_tokens} tokens of prompt ({reply.visual_tokens} of them visual) and "
            f"{longest} of reply are more than the {self._context} that the model holds; "
            + ("the text alone is too long" if text > (self._context or 0) else fewer)
        )

    def _score(self, ready: Sequence[_Ready]) -> dict[tuple[int, int], Reply]:
        """Scores questions about one video together, and single ones about several side by side."""
        views: dict[int, list[_Ready]] = {}
        for one in ready:
            views.setdefault(one.place[0], []).append(one)
        single = [own[0] for own in views.values() if len(own) == 1]
        replies: dict[tuple[int, int], Reply] = {}
        for own in views.values():
            if len(own) > 1:
                questions = [Scored(one.prompt, one.continuations) for one in own]
                inputs = self._inputs(own[0].view)
                replies |= _scored(own, score(self._model, questions, inputs, **self._prefix))
        for start in range(0, len(single), self._batch_size):
            rows = single[start : start + self._batch_size]
            asked = [
                (Scored(one.prompt, one.continuations), self._inputs(one.view)) for one in rows
            ]
            pad = end_tokens(self._model, self._tokenizer).pad
            replies |= _scored(rows, score_batch(self._model, asked, pad_id=pad, **self._prefix))
        return replies

    def _write(self, ready: Sequence[_Ready]) -> dict[tuple[int, int], Reply]:
        inputs = {id(one.view): self._inputs(one.view) for one in ready}
        asked = [Asked(one.prompt, inputs[id(one.view)]) for one in ready]
        ends = end_tokens(self._model, self._tokenizer, self._clips.processor)
        written = write(self._model, asked, self._generation, ends, self._batch_size)
        return {
            one.place: replace(
                one.reply,
                text=ends.texts.read(found.tokens),
                reply_tokens=len(found.tokens),
                finish_reason="stop" if found.stopped else "length",
            )
            for one, found in zip(ready, written, strict=True)
        }

    def _inputs(self, view: View | None) -> dict[str, Any]:
        """Returns a view's tensors where the weights are, pixels in their dtype."""
        if view is None:
            return {}
        weight = self._weights.embedding
        return {
            name: value.to(weight.device, weight.dtype)
            if name.startswith("pixel_values")
            else value.to(weight.device)
            for name, value in view.inputs["tensors"].items()
        }

    def _dtype(self) -> str:
        weight = self._weights.embedding
        kind = weight.device.type
        cast = torch.is_autocast_enabled(kind)
        return str(torch.get_autocast_dtype(kind) if cast else weight.dtype).removeprefix("torch.")


def _scored(
    ready: Sequence[_Ready], found: Sequence[Sequence[ContinuationScore]]
) -> dict[tuple[int, int], Reply]:
    return {
        one.place: replace(
            one.reply,
            log_probs=tuple(part.log_prob for part in parts),
            reply_tokens=max(part.tokens for part in parts),
        )
        for one, parts in zip(ready, found, strict=True)
    }


def _blind(word: object) -> Blind | None:
    for known in (None, *get_args(Blind)):
        if word == known:
            return cast(Blind | None, known)
    raise ConfigError(
        f"blind={word!r} does not exist",
        where="model.visual.blind",
        mend="use none (no video at all) or black (black frames); null shows the video",
    )
