"""Models behind OpenAI's chat completions, or behind any server that speaks like it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from typing import Any, Literal
from urllib.parse import urlsplit

from vbench.errors import ConfigError, ModelError
from vbench.models.api.call_errors import CallError
from vbench.models.api.calling import Call, Calling, Endpoint, api_key, guess_tokens
from vbench.models.api.frames_as_images import FramesAsImages
from vbench.models.api.frames_as_video import FramesAsVideo
from vbench.models.api.journal import Said
from vbench.models.api.openai_wire import call_error, log_probs_of, messages, read_completion
from vbench.models.api.prices import Expected
from vbench.models.api.settings import Blackened, read_blind, read_generation
from vbench.models.api.told import Told, digest_media, tell
from vbench.protocols import ClipPreprocess, Need, View
from vbench.records import Reply, Request, Task

_OPENAI = "api.openai.com"


class OpenAIModel:
    """A model that is asked over HTTP, frames as images or as one video (`VideoLanguageModel`).

    Args:
        name: The model's name at the server.
        base_url: Where the server listens, up to and with `/v1`.
        images: How frames become pictures.
        video: How frames become a video.
        calling: Concurrency, patience and budget.
        send: Pictures, which every server takes, or one video of our frames, which few take.
        generation: max_new_tokens (a model's thoughts included), temperature, top_p, seed; what is
            null is left to the server: some models refuse to be told.
        visual: `blind`: `none` sends no frames, `black` black ones.
        logprobs: Whether the server tells log-probabilities, so that scorers may ask for them.
        top_logprobs: How many of the likeliest first tokens it tells.
        extra_body: Further fields of each request.
        verify: Whether the first pictures are checked to have been counted by the server; a video
            always is. A server that drops what it is shown answers all the same.
        api_key_env: The variable that holds the key; None: the server wants none.

    Raises:
        ModelError: The package `openai` is missing.
        ConfigError: The address is none.
    """

    needs: frozenset[Need] = frozenset({"frames"})
    preprocess: ClipPreprocess | None
    module = None

    def __init__(
        self,
        name: str,
        base_url: str,
        images: FramesAsImages,
        video: FramesAsVideo,
        calling: Calling,
        generation: dict[str, Any],
        send: Literal["images", "video"] = "images",
        visual: dict[str, Any] | None = None,
        logprobs: bool = False,
        top_logprobs: int = 20,
        extra_body: dict[str, Any] | None = None,
        verify: bool = True,
        api_key_env: str | None = "OPENAI_API_KEY",
    ) -> None:
        if find_spec("openai") is None:
            raise ModelError(
                "the package openai is not installed",
                where="model=openai_api",
                mend='pip install "vbench-eval[api]"',
            )
        self.host = urlsplit(base_url).hostname or ""
        if not self.host or urlsplit(base_url).scheme not in ("http", "https"):
            raise ConfigError(
                "model.base_url is no address",
                where=f"model.base_url={base_url}",
                mend="give it whole: http://127.0.0.1:8000/v1",
            )
        self.name = name
        self.base_url = base_url
        self.send = send
        self.calling = calling
        self.logprobs = logprobs
        self.verify = verify or send == "video"
        self.api_key_env = api_key_env
        self._show(images if send == "images" else video, read_blind(visual))
        settings = read_generation(generation, ("max_new_tokens", "temperature", "top_p", "seed"))
        self.max_new_tokens: int = settings.pop("max_new_tokens")
        # OpenAI's own newer models know the new word only, most other servers the old one.
        limit = "max_completion_tokens" if self.host == _OPENAI else "max_tokens"
        self._settings = {**settings, limit: self.max_new_tokens}
        self._score = {"logprobs": True, "top_logprobs": top_logprobs, limit: 1}
        self._limit = limit
        self._extra = dict(extra_body or {})
        self._verified = False
        self._bare: dict[str, Said] = {}
        """Replies to messages without their media, by text."""

    def _show(self, frames: ClipPreprocess, blind: str | None) -> None:
        self.preprocess = Blackened(frames) if blind == "black" else frames
        if blind == "none":
            self.needs, self.preprocess = frozenset({"text"}), None

    @property
    def tasks(self) -> frozenset[Task]:
        """To generate; to score where the server tells log-probabilities."""
        return frozenset({"generate", "score"} if self.logprobs else {"generate"})

    def identity(self) -> str:
        """Returns model, host, and every setting that goes into a request; never the key."""
        port = urlsplit(self.base_url).port
        host = f"{self.host}:{port}" if port else self.host
        settings = {**self._settings, "extra_body": self._extra}
        if self.logprobs:
            settings["top_logprobs"] = self._score["top_logprobs"]
        told = " ".join(f"{key}={value}" for key, value in sorted(settings.items()))
        return f"openai_api {self.name} at {host} {told}"

    def answer(self, asked: Sequence[tuple[View | None, Sequence[Request]]]) -> list[list[Reply]]:
        """Answers requests; those whose reply was paid for before are not asked again.

        Raises:
            RunError: No key, a refused key, no server, no budget, a server that ignores what it is
                shown or tells no log-probabilities.
        """
        told = [list(self._tell(view, requests)) for view, requests in asked]
        calls = [self._call(one) for group in told for one in group]
        self._verify([one for group in told for one in group])
        said = self.calling.run(calls, self._endpoint)
        keys = iter(calls)
        return [
            [_reply(said[next(keys).key], request) for request in requests] for _, requests in asked
        ]

    def _tell(self, view: View | None, requests: Sequence[Request]) -> Iterator[Told]:
        shown = view if self.preprocess is not None else None
        media = digest_media(shown.inputs) if shown is not None else ""
        for request in requests:
            yield tell(request, shown, media, f"model=openai_api model.name={self.name}")

    def _call(self, told: Told) -> Call:
        most = 1 if told.task == "score" else self.max_new_tokens
        guess = guess_tokens(told.prompt, told.shape)
        shown = self.preprocess.digest() if told.view and self.preprocess else ""
        identity = f"{self.identity()} {shown}"
        return Call(told.key(identity), partial(self._ask, told=told), Expected(guess, most))

    async def _ask(self, client: Any, told: Told, **other: Any) -> Said:
        settings = self._settings | (self._score if told.task == "score" else {}) | other
        try:
            completion = await client.chat.completions.create(
                model=self.name, messages=messages(told), extra_body=self._extra, **settings
            )
        except Exception as error:
            found = call_error(error, told, self.api_key_env or "")
            if isinstance(found, Said):
                return found
            raise found from None
        said = read_completion(told, completion)
        usd = self.calling.budget.usd(said.reply.prompt_tokens, said.reply.reply_tokens)
        return replace(said, reply=replace(said.reply, usd=usd))

    def _verify(self, told: Sequence[Told]) -> None:
        """Lets the first message with media be answered alone, and once more without them."""
        if self._verified or not self.verify:
            return
        shown = {self._call(one).key: one for one in told if one.view is not None}
        known = self.calling.known(list(shown))
        for key, one in shown.items():
            if key not in known and not self._verified:
                call = replace(self._call(one), ask=partial(self._probe, told=one))
                self.calling.run([call], self._endpoint)

    async def _probe(self, client: Any, told: Told) -> Said:
        if told.prompt not in self._bare:
            bare = replace(told, view=None, task="generate")
            self._bare[told.prompt] = await self._ask(client, bare, **{self._limit: 1})
        without = self._bare[told.prompt].reply
        said = await self._ask(client, told)
        if said.reply.status != "ok":  # no token count to go by
            return said
        kind = self.send
        if said.reply.prompt_tokens <= without.prompt_tokens:
            raise CallError(
                "run",
                f"the server ignored the {kind}: it counted {said.reply.prompt_tokens} tokens with "
                f"and {without.prompt_tokens} without",
                mend="name a model that takes them"
                + (
                    ", or send frames as images"
                    if kind == "video"
                    else "; model.verify=false if the server counts text only"
                ),
            )
        self._verified = True
        cost = said.reply.usd + without.usd
        return replace(said, reply=replace(said.reply, usd=cost))

    def _endpoint(self) -> Endpoint:
        where = f"model.name={self.name} model.base_url={self.base_url}"
        names = [self.api_key_env] if self.api_key_env else []
        key = api_key(names, os.environ, where)
        return Endpoint(where, key, lambda: self._client(key))

    def _client(self, key: str) -> AbstractAsyncContextManager[Any]:
        import openai

        # Tries and time limits are ours; the package insists on some key.
        return openai.AsyncOpenAI(
            api_key=key or "none", base_url=self.base_url, max_retries=0, timeout=None
        )


def _reply(said: Said, request: Request) -> Reply:
    if request.task != "score" or said.reply.status != "ok":
        return said.reply
    return replace(said.reply, log_probs=log_probs_of(request.continuations, said.first))
