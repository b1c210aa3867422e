"""What goes over the wire to an OpenAI-compatible server, and what comes back."""

from __future__ import annotations

import base64
import math
from collections.abc import Mapping, Sequence
from typing import Any

from vbench.models.api.call_errors import CallError, http_error
from vbench.models.api.journal import Said
from vbench.models.api.told import Told
from vbench.records import Continuation, Reply

NO_LOG_PROBS = "use scorer=letters or scorer=pair_choice: they read what the model writes"


def messages(told: Told) -> list[dict[str, Any]]:
    """Returns a chat of one question, its media as data URLs where the message marks the video."""
    chat: list[dict[str, Any]] = []
    if told.system:
        chat.append({"role": "system", "content": told.system})
    chat += [{"role": role, "content": text} for role, text in told.turns]
    if told.view is None:
        return [*chat, {"role": "user", "content": told.before + told.after}]
    mime = told.view.inputs["mime"]
    kind = "video_url" if mime.startswith("video/") else "image_url"
    parts: list[dict[str, Any]] = [{"type": "text", "text": told.before}] if told.before else []
    for piece in told.view.inputs["media"]:
        url = f"data:{mime};base64,{base64.b64encode(piece).decode()}"
        parts.append({"type": kind, kind: {"url": url}})
    if told.after:
        parts.append({"type": "text", "text": told.after})
    return [*chat, {"role": "user", "content": parts}]


def read_completion(told: Told, completion: Any) -> Said:
    """Reads a chat completion.

    Args:
        told: What was asked.
        completion: `openai.types.chat.ChatCompletion`, of a server that may leave anything out.

    Raises:
        CallError: It holds no reply, or not what was asked for.
    """
    choice = next(iter(completion.choices or ()), None)
    if choice is None or choice.message is None:
        raise CallError("request", f"the server's response holds no choice: {completion!r}"[:300])
    usage = completion.usage
    refusal = getattr(choice.message, "refusal", None)
    filtered = choice.finish_reason == "content_filter"
    reply = Reply(
        status="refused" if refusal or filtered else "ok",
        reason=" ".join(str(refusal or "content filter").split()) if refusal or filtered else "",
        prompt=told.prompt,
        text=choice.message.content or refusal or "",
        prompt_tokens=(usage.prompt_tokens or 0) if usage else 0,
        frame_shape=told.shape,
        reply_tokens=(usage.completion_tokens or 0) if usage else 0,
        finish_reason=choice.finish_reason or "",
        model_version=completion.model or "",
    )
    if told.task != "score" or reply.status == "refused":
        return Said(reply)
    return Said(reply, _first_tokens(choice))


def _first_tokens(choice: Any) -> dict[str, float]:
    content = choice.logprobs.content if choice.logprobs else None
    if not content:
        raise CallError("run", "the server gives no log-probabilities", mend=NO_LOG_PROBS)
    first = content[0]
    found = {one.token: float(one.logprob) for one in first.top_logprobs or ()}
    found.setdefault(first.token, float(first.logprob))
    return found


def log_probs_of(
    continuations: Sequence[Continuation], first: Mapping[str, float]
) -> tuple[float, ...]:
    """Looks continuations up among the likeliest first tokens of a reply.

    Nothing is stripped or summed: ` A` and `A` are different tokens, and a scorer that wants both
    asks for both. A continuation of several tokens is never found.

    Args:
        continuations: The candidates.
        first: Token → natural log-probability.

    Returns:
        NaN for a candidate that is not among them: how probable it is is not known.

    >>> A = Continuation("A", "bare"), Continuation("A", "space")
    >>> log_probs_of(A, {"A": -0.5, "B": -2.0})
    (-0.5, nan)
    """
    spelled = {token.replace("\u2581", " "): value for token, value in first.items()}
    wanted = (f" {one.text}" if one.form == "space" else one.text for one in continuations)
    return tuple(spelled.get(token, math.nan) for token in wanted)


def call_error(error: Exception, told: Told, key_name: str) -> CallError | Said:
    """Says what an exception of the openai package means.

    Args:
        error: Any.
        told: What was asked.
        key_name: The variable that holds the key.

    Returns:
        A reply where the exception is one: a refusal, an overlong prompt.
    """
    import openai

    if isinstance(error, openai.APITimeoutError):
        return CallError("again", "no answer in time (model.calling.timeout_s)")
    if isinstance(error, openai.APIConnectionError):
        cause = error.__cause__
        reason = f"{type(cause).__name__}: {cause}" if cause else str(error)
        # httpx and its fork have this name in common: no connection was made.
        never = type(cause).__name__ in ("ConnectError", "UnsupportedProtocol")
        return CallError("unreachable" if never else "again", reason)
    if not isinstance(error, openai.APIStatusError):
        return CallError("request", f"{type(error).__name__}: {error}")
    return _status_error(error, told, key_name)


def _status_error(error: Any, told: Told, key_name: str) -> CallError | Said:
    code = str(error.code or "")
    text = str(error.message).removeprefix(f"Error code: {error.status_code} - ")
    if code in ("content_filter", "content_policy_violation", "moderation_blocked"):
        return Said(Reply("refused", f"{code}: {text}", prompt=told.prompt))
    if code == "context_length_exceeded" or "maximum context length" in text:
        return Said(Reply("overlong", text, prompt=told.prompt, frame_shape=told.shape))
    if error.status_code in (400, 422) and told.task == "score" and "logprob" in text.lower():
        return CallError("run", f"the server gives no log-probabilities: {text}", mend=NO_LOG_PROBS)
    return http_error(
        error.status_code, f"{code}: {text}" if code else text, error.response.headers, key_name
    )
