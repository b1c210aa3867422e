"""A language model behind an OpenAI-compatible endpoint: a company's, or one's own vLLM."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from vbench.datasets.velociti.vidsitu.asking import NoAnswerError
from vbench.datasets.velociti.vidsitu.journal import Reply
from vbench.datasets.velociti.vidsitu.prompting import Messages
from vbench.errors import ConfigError, ModelError

if TYPE_CHECKING:
    from openai import OpenAI
    from tenacity import RetryCallState

KEY = "OPENAI_API_KEY"
LONGEST_WAIT_S = 60.0

_NEVER = {401: "it refuses the key", 403: "it refuses the key", 404: "it knows no such model"}
_LATER = frozenset({408, 409, 425, 429})


@dataclass(frozen=True)
class EndpointSettings:
    """How the endpoint is asked."""

    url: str | None = None
    """None: OPENAI_BASE_URL of the environment, else OpenAI itself."""
    top_k: int | None = 1
    """Sent beside temperature 0 and top_p 1; dropped where the endpoint does not know it."""
    max_tokens: int = 512
    timeout_s: float = 120.0
    attempts: int = 6
    """Of one question, while the endpoint is out of reach, busy or broken."""
    backoff_s: float = 1.0
    """The first wait; each next one is up to twice as long, at most a minute."""


class Endpoint:
    """Asks greedily: temperature 0, top_p 1, top_k 1 where that exists (`asking.LanguageModel`).

    Args:
        model: The model's name at the endpoint.
        settings: How it is asked. The key is read from the environment only.
    """

    def __init__(self, model: str, settings: EndpointSettings) -> None:
        self._model = model
        self._settings = settings
        self._top_k = settings.top_k
        self._opening = threading.Lock()

    @property
    def identity(self) -> Mapping[str, object]:
        """Model and settings, without the address: a model may move."""
        return {
            "model": self._model,
            "temperature": 0,
            "top_p": 1,
            "top_k": self._settings.top_k,
            "max_tokens": self._settings.max_tokens,
        }

    def answer(self, messages: Messages) -> Reply:
        """Answers, after as many attempts as it takes.

        Raises:
            NoAnswerError: Every attempt failed, or this question is refused.
            ModelError: The endpoint refuses the key or does not know the model.
        """
        import openai
        from tenacity import Retrying, retry_if_exception, stop_after_attempt

        with self._opening:
            _ = self._client  # read once, by one thread
        retrying = Retrying(
            stop=stop_after_attempt(self._settings.attempts),
            retry=retry_if_exception(_is_passing),
            wait=self._wait,
            reraise=True,
        )
        try:
            return retrying(self._ask, messages)
        except openai.APIStatusError as error:
            raise self._explained(error.status_code, _line(error)) from error
        except (openai.OpenAIError, ValueError) as error:  # ValueError: no JSON, no completion
            raise NoAnswerError(_line(error)) from error

    def close(self) -> None:
        """Closes the connections."""
        if "_client" in self.__dict__:
            self._client.close()

    def _ask(self, messages: Messages) -> Reply:
        import openai

        top_k = self._top_k
        try:
            return self._sent(messages, top_k)
        except (openai.BadRequestError, openai.UnprocessableEntityError):
            if top_k is None:
                raise
            # Endpoints that do not know top_k seldom say so; temperature 0 is greedy without it.
            reply = self._sent(messages, None)
            self._top_k = None
            return reply

    def _sent(self, messages: Messages, top_k: int | None) -> Reply:
        extra: dict[str, Any] = {} if top_k is None else {"extra_body": {"top_k": top_k}}
        completion = self._client.chat.completions.create(
            model=self._model,
            messages=[{"role": role, "content": text} for role, text in messages],  # type: ignore[misc]
            temperature=0,
            top_p=1,
            max_tokens=self._settings.max_tokens,
            **extra,
        )
        return _reply(completion)

    @cached_property
    def _client(self) -> OpenAI:
        from openai import OpenAI

        key = os.environ.get(KEY)
        local = self._settings.url is not None or "OPENAI_BASE_URL" in os.environ
        if not key and not local:
            raise ConfigError(
                "the language model needs a key",
                where=KEY,
                why="the environment has none, and keys are read from nowhere else",
                mend=f"export {KEY}=…, or name your own endpoint: dataset.llm_url=http://host:8000/v1",
            )
        return OpenAI(
            api_key=key or "none",
            base_url=self._settings.url,
            timeout=self._settings.timeout_s,
            max_retries=0,  # retries are counted in one place
        )

    def _wait(self, state: RetryCallState) -> float:
        """Waits as long as the endpoint asks, else longer and longer."""
        from tenacity import wait_random_exponential

        error = state.outcome.exception() if state.outcome else None
        headers = getattr(getattr(error, "response", None), "headers", {})
        try:
            return min(max(float(headers.get("retry-after", "")), 0.0), LONGEST_WAIT_S)
        except ValueError:
            wait = wait_random_exponential(self._settings.backoff_s, LONGEST_WAIT_S)
            return float(wait(state))

    def _explained(self, status: int, line: str) -> Exception:
        if status in _NEVER:
            return ModelError(
                f"the endpoint will not answer as '{self._model}': {_NEVER[status]}",
                where=f"dataset.llm_model={self._model}",
                why=line,
                mend=f"check dataset.llm_model, dataset.llm_url and {KEY}; what has been answered "
                "is kept",
            )
        if status in _LATER or status >= 500:
            return NoAnswerError(line)
        return NoAnswerError(f"the endpoint refuses the question: {line}", lasting=True)


def _is_passing(error: BaseException) -> bool:
    import openai

    if isinstance(error, openai.APIStatusError):
        return error.status_code in _LATER or error.status_code >= 500
    return isinstance(error, openai.OpenAIError | ValueError)


def _reply(completion: Any) -> Reply:
    """Reads a completion.

    Raises:
        ValueError: It is none: a proxy's error page, say.
    """
    choices = getattr(completion, "choices", None)
    if not choices:
        raise ValueError(f"no completion: {str(completion)[:100]}")
    choice = choices[0]
    message = getattr(choice, "message", None)
    refusal = getattr(message, "refusal", None)
    usage = getattr(completion, "usage", None)
    finish = "refusal" if refusal else str(getattr(choice, "finish_reason", None) or "none")
    return Reply(
        getattr(message, "content", None) or refusal or "",
        finish,
        getattr(usage, "prompt_tokens", 0) or 0,
        getattr(usage, "completion_tokens", 0) or 0,
    )


def _line(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:300]
