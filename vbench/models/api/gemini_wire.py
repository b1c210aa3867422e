"""What goes over the wire to the Gemini API, and what comes back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from vbench.models.api.call_errors import CallError, http_error
from vbench.models.api.gemini_uploads import Uploaded, is_key_error
from vbench.models.api.journal import Said
from vbench.models.api.told import Told
from vbench.records import Clip, Reply

if TYPE_CHECKING:
    from google.genai import types

_HARMS = ("HARASSMENT", "HATE_SPEECH", "SEXUALLY_EXPLICIT", "DANGEROUS_CONTENT")
_ENDS = {"STOP": "stop", "MAX_TOKENS": "length"}


def safety(threshold: str) -> list[dict[str, str]]:
    """Returns one threshold for the four categories of harm."""
    return [{"category": f"HARM_CATEGORY_{harm}", "threshold": threshold} for harm in _HARMS]


def parts(told: Told, file: Uploaded | None, fps: float | None) -> list[types.Part]:
    """Returns a message's parts: text, the video or its frames, text.

    Args:
        told: What is asked.
        file: The uploaded video; None where frames are sent, or nothing.
        fps: Frames per second that Google is to sample; None: its own rule.
    """
    from google.genai import types

    shown: list[types.Part] = []
    if told.view is not None and file is not None:
        data = types.FileData(file_uri=file.uri, mime_type=file.mime)
        shown.append(types.Part(file_data=data, video_metadata=_span(told.view.clip, fps)))
    elif told.view is not None:
        mime = told.view.inputs["mime"]
        media = told.view.inputs["media"]
        shown += [types.Part.from_bytes(data=piece, mime_type=mime) for piece in media]
    before = [types.Part(text=told.before)] if told.before else []
    return [*before, *shown, *([types.Part(text=told.after)] if told.after else [])]


def earlier(told: Told) -> list[types.Content]:
    """Returns what was said before a message."""
    from google.genai import types

    roles = {"user": "user", "assistant": "model"}
    return [
        types.Content(role=roles[role], parts=[types.Part(text=text)]) for role, text in told.turns
    ]


def _span(clip: Clip, fps: float | None) -> types.VideoMetadata:
    from google.genai import types

    return types.VideoMetadata(
        fps=fps,
        start_offset=f"{clip.start_s:g}s" if clip.start_s else None,
        end_offset=f"{clip.end_s:g}s" if clip.end_s is not None else None,
    )


def read_response(told: Told, response: types.GenerateContentResponse) -> Said:
    """Reads a response; blocked and empty ones are refusals."""
    feedback, usage = response.prompt_feedback, response.usage_metadata
    candidate = next(iter(response.candidates or ()), None)
    pieces = (candidate.content.parts or ()) if candidate and candidate.content else ()
    text = "".join(piece.text or "" for piece in pieces if not piece.thought)
    end = _word(candidate.finish_reason) if candidate else ""
    reason = ""
    if feedback is not None and feedback.block_reason:
        why = feedback.block_reason_message or ""
        reason = f"prompt blocked: {_word(feedback.block_reason)} {why}".strip()
    elif candidate is None:
        reason = "no candidate"
    elif not text and end != "MAX_TOKENS":
        reason = f"empty: {end or 'no reason given'} {candidate.finish_message or ''}".strip()
    details = (usage.prompt_tokens_details or ()) if usage else ()
    visual = (d.token_count or 0 for d in details if _word(d.modality) in ("VIDEO", "IMAGE"))
    reply = Reply(
        status="refused" if reason else "ok",
        reason=" ".join(reason.split()),
        prompt=told.prompt,
        text=text,
        prompt_tokens=(usage.prompt_token_count or 0) if usage else 0,
        visual_tokens=sum(visual),
        frame_shape=told.shape,
        reply_tokens=_written(usage),
        finish_reason=_ENDS.get(end, end),
        model_version=response.model_version or "",
    )
    return Said(reply)


def _word(value: object) -> str:
    return str(getattr(value, "name", value) or "")


def _written(usage: Any) -> int:
    # Thoughts are paid as what is written is.
    written = (usage.candidates_token_count, usage.thoughts_token_count) if usage else ()
    return sum(count or 0 for count in written)


def call_error(error: Exception, key_names: str) -> CallError:
    """Says what an exception of google-genai, or of its transport, means.

    Args:
        error: Any.
        key_names: The variables that may hold the key.
    """
    from google.genai.errors import APIError

    if isinstance(error, CallError):
        return error
    if isinstance(error, APIError):
        headers = dict(getattr(error.response, "headers", None) or {})
        reason = f"{error.status}: {error.message}"
        status = 401 if is_key_error(error.details) else error.code
        found = http_error(status, reason, headers, key_names)
        return found if found.wait_s is not None else _with_delay(found, error.details)
    kinds = {kind.__name__ for kind in type(error).__mro__}
    reason = f"{type(error).__name__}: {error}"
    if kinds & {"ClientConnectorError", "ConnectError"}:  # aiohttp, httpx
        return CallError("unreachable", reason)
    module = type(error).__module__.partition(".")[0]
    if module in ("aiohttp", "httpx", "httpx2", "httpcore") or isinstance(error, ConnectionError):
        return CallError("again", reason)
    return CallError("request", reason)


def _with_delay(found: CallError, details: Any) -> CallError:
    """Adds the wait that Google names in the body, google.rpc.RetryInfo."""
    inner = details.get("error", details) if isinstance(details, dict) else {}
    for part in inner.get("details") or ():
        delay = str(part.get("retryDelay", "")).removesuffix("s")
        if found.concern == "again" and delay.replace(".", "", 1).isdigit():
            return CallError("again", found.reason, wait_s=float(delay))
    return found
