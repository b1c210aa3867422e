"""Gemini models, which are sent the video file itself, or frames of our choice."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

from vbench.errors import ConfigError, ModelError
from vbench.models.api.call_errors import CallError
from vbench.models.api.calling import Call, Calling, Endpoint, api_key, guess_tokens
from vbench.models.api.frames_as_images import FramesAsImages
from vbench.models.api.gemini_uploads import Uploads
from vbench.models.api.gemini_wire import call_error, earlier, parts, read_response, safety
from vbench.models.api.journal import Said
from vbench.models.api.prices import Expected
from vbench.models.api.settings import Blackened, read_blind, read_generation
from vbench.models.api.told import Told, digest_media, tell
from vbench.protocols import ClipPreprocess, Need, View
from vbench.records import Clip, Reply, Request, Task

_KEYS = ("GEMINI_API_KEY", "GOOGLE_API_KEY")
_TOKENS_PER_FRAME = 300
_TOKENS_PER_SECOND = 50
"""Guesses, rather too high: 258 a frame at medium resolution, 32 a second of sound."""
_UNKNOWN_S = 3600.0


class GeminiModel:
    """A model of the Gemini API (`VideoLanguageModel`).

    Args:
        name: The model's id; what answered is recorded as `model_version`, as ids are rerouted.
        images: How frames become pictures, for send=images.
        calling: Concurrency, patience and budget.
        generation: max_new_tokens (thoughts included), temperature, top_p, top_k, seed; what is
            null is left to the model.
        send: `file`: each video file is uploaded once and Google samples it. `images`: our frames.
        fps: Frames per second that Google samples of a file, over 0 to 24.
        media_resolution: `low`, `medium` or `high`: tokens per frame; None: the model's own.
        visual: `blind`: `none` sends no video, `black` black frames (with send=images).
        safety_threshold: For all categories of harm.
        extra_config: Further fields of GenerateContentConfig, such as thinking_config.
        base_url: Another endpoint than Google's.
        api_key_env: The variable that holds the key; None: GEMINI_API_KEY, then GOOGLE_API_KEY.

    Raises:
        ModelError: The package `google-genai` is missing.
        ConfigError: A setting is out of range.
    """

    # What it may need by its class; each instance says which.
    needs: frozenset[Need] = frozenset({"frames", "video"})
    tasks: frozenset[Task] = frozenset({"generate"})
    preprocess: ClipPreprocess | None
    module = None

    def __init__(
        self,
        name: str,
        images: FramesAsImages,
        calling: Calling,
        generation: dict[str, Any],
        send: Literal["file", "images"] = "file",
        fps: float | None = 1.0,
        media_resolution: Literal["low", "medium", "high"] | None = None,
        visual: dict[str, Any] | None = None,
        safety_threshold: str = "BLOCK_NONE",
        extra_config: dict[str, Any] | None = None,
        base_url: str | None = None,
        api_key_env: str | None = None,
    ) -> None:
        if not _is_installed():
            raise ModelError(
                "the package google-genai is not installed",
                where="model=gemini",
                mend='pip install "vbench-eval[api]"',
            )
        if fps is not None and not 0 < fps <= 24:
            raise ConfigError(
                "Gemini samples more than 0 and at most 24 frames per second",
                where=f"model.fps={fps}",
                mend="its own default is 1",
            )
        self.name = name
        self.calling = calling
        self.fps = fps
        self.base_url = base_url
        self.key_names = (api_key_env,) if api_key_env else _KEYS
        self.uploads = Uploads()
        self._show(images if send == "images" else None, read_blind(visual))
        settings = read_generation(
            generation, ("max_new_tokens", "temperature", "top_p", "top_k", "seed")
        )
        self.max_new_tokens: int = settings.pop("max_new_tokens")
        level = f"MEDIA_RESOLUTION_{media_resolution.upper()}" if media_resolution else None
        self._config: dict[str, Any] = {
            **settings,
            "max_output_tokens": self.max_new_tokens,
            "media_resolution": level,
            "safety_settings": safety(safety_threshold),
            **(extra_config or {}),
        }

    def _show(self, images: ClipPreprocess | None, blind: str | None) -> None:
        self.preprocess = images
        self.needs = frozenset({"frames"} if images is not None else {"video"})
        if blind == "none":
            self.needs, self.preprocess = frozenset({"text"}), None
        elif blind == "black" and images is None:
            raise ConfigError(
                "a file cannot be shown black",
                where="model.visual.blind=black",
                mend="add model.send=images, or use visual=none",
            )
        elif blind == "black" and images is not None:
            self.preprocess = Blackened(images)

    def identity(self) -> str:
        """Returns model, endpoint, and every setting that goes into a request; never the key."""
        settings = {key: value for key, value in self._config.items() if value is not None}
        if self.preprocess is None:
            settings["fps"] = self.fps
        told = json.dumps(settings, sort_keys=True, default=str)
        return f"gemini {self.name} at {self.base_url or 'Google'} {told}"

    def answer(self, asked: Sequence[tuple[View | None, Sequence[Request]]]) -> list[list[Reply]]:
        """Answers requests; those whose reply was paid for before are not asked again.

        Raises:
            RunError: No key, a refused key, no server, no budget.
        """
        keyed: list[list[str | Reply]] = []
        calls = []
        for view, requests in asked:
            view = view if self.needs & {"frames", "video"} else None
            lost = self._unreadable(view)
            own = [] if lost else [self._call(self._tell(view, one)) for one in requests]
            keyed.append([lost] * len(requests) if lost else [call.key for call in own])
            calls += own
        said = self.calling.run(calls, self._endpoint)
        return [
            [one if isinstance(one, Reply) else said[one].reply for one in group] for group in keyed
        ]

    def _unreadable(self, view: View | None) -> Reply | None:
        if view is None or self.preprocess is not None or Path(view.clip.path).is_file():
            return None
        folder = Path(view.clip.path).is_dir()
        why = "a folder of frames is no file: use model.send=images" if folder else "no such file"
        return Reply("decode_error", f"{why}: {view.clip.path}")

    def _tell(self, view: View | None, request: Request) -> Told:
        media = ""
        if view is not None and self.preprocess is not None:
            media = f"{self.preprocess.digest()} {digest_media(view.inputs)}"
        elif view is not None:
            media = f"{view.content} {view.clip.start_s} {view.clip.end_s}"
        return tell(request, view, media, f"model=gemini model.name={self.name}")

    def _call(self, told: Told) -> Call:
        guess = guess_tokens(told.prompt, told.shape)
        if told.view is not None and self.preprocess is None:
            per_second = _TOKENS_PER_SECOND + _TOKENS_PER_FRAME * (self.fps or 1.0)
            guess += per_second * _seconds(told.view.clip)
        expected = Expected(guess, self.max_new_tokens)
        return Call(told.key(self.identity()), partial(self._ask, told=told), expected)

    async def _ask(self, client: Any, told: Told) -> Said:
        from google.genai import types

        config = types.GenerateContentConfig(**self._config, system_instruction=told.system)
        content = told.view.content if told.view is not None else ""
        try:
            file = None
            if told.view is not None and self.preprocess is None:
                file = await self.uploads.get(client, content, told.view.clip.path)
            contents = [
                *earlier(told),
                types.Content(role="user", parts=parts(told, file, self.fps)),
            ]
            response = await client.models.generate_content(
                model=self.name, contents=contents, config=config
            )
        except Exception as error:
            raise self._failed(error, content) from None
        said = read_response(told, response)
        usd = self.calling.budget.usd(said.reply.prompt_tokens, said.reply.reply_tokens)
        return replace(said, reply=replace(said.reply, usd=usd))

    def _failed(self, error: Exception, content: str) -> CallError:
        found = call_error(error, " or ".join(self.key_names))
        gone = found.concern == "run" and "file" in found.reason.lower()
        if gone and getattr(error, "code", None) in (403, 404):
            self.uploads.forget(content)
            return CallError("again", f"the upload is gone: {found.reason}")
        return found

    def _endpoint(self) -> Endpoint:
        where = f"model.name={self.name} at {self.base_url or 'Google'}"
        key = api_key(self.key_names, os.environ, where)
        return Endpoint(where, key, lambda: self._client(key))

    @asynccontextmanager
    async def _client(self, key: str) -> AsyncIterator[Any]:
        from google import genai
        from google.genai import types

        # Tries and time limits are ours: one attempt switches the package's own off.
        retries = types.HttpRetryOptions(attempts=1)
        async with _transport() as transport:
            options = types.HttpOptions(
                base_url=self.base_url, retry_options=retries, httpx_async_client=transport
            )
            client = genai.Client(api_key=key, vertexai=False, http_options=options)
            try:
                yield client.aio
            finally:
                await client.aio.aclose()
                client.close()


def _transport() -> AbstractAsyncContextManager[Any]:
    # Of its own accord the package takes aiohttp where that is installed, and tries once more
    # whatever its options say; it comes with one of these two.
    library = "httpx2" if find_spec("httpx2") is not None else "httpx"
    client: AbstractAsyncContextManager[Any] = import_module(library).AsyncClient(timeout=None)
    return client


def _is_installed() -> bool:
    # find_spec of a part imports the whole, which may be missing itself.
    return find_spec("google") is not None and find_spec("google.genai") is not None


def _seconds(clip: Clip) -> float:
    """Returns how long a clip is, for a guess at its cost."""
    if clip.end_s is not None:
        return clip.end_s - clip.start_s
    import av

    try:
        with av.open(clip.path) as file:
            length = float(file.duration or 0) / av.time_base
    except (av.FFmpegError, OSError):
        length = 0.0
    return length - clip.start_s if length else _UNKNOWN_S
