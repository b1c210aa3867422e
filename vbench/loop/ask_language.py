"""How a language model is asked: views with their requests in, one row per view and request out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import torch

from vbench.errors import RunError
from vbench.loop.ask import clip_row, together_or_alone
from vbench.loop.data import Prepared, PreparedClip, PreparedFile
from vbench.prompts import marked
from vbench.protocols import VideoLanguageModel, View
from vbench.records import VIDEO, Prediction, Reply, Request, Status


@dataclass(frozen=True)
class _Asked:
    """One request with what is shown beside it."""

    key: str
    request: Request
    clip: PreparedClip | None
    content: str


class AskLanguageModel:
    """Puts all requests of a step to the model, grouped by the view they share.

    Args:
        model: Local weights, or an API.
    """

    def __init__(self, model: VideoLanguageModel) -> None:
        self.model = model

    def __call__(
        self, batch: Sequence[Prepared], device: torch.device, dtype: torch.dtype
    ) -> list[Prediction]:
        """Returns one row per view and per request.

        Raises:
            RunError: The model gives up on the run: its budget is spent, its key is refused.
        """
        files = [work for work in batch if isinstance(work, PreparedFile)]
        rows = [
            clip_row(clip, clip.status, reason=clip.reason) for file in files for clip in file.clips
        ]
        asked = [one for file in files for one in _asked(file)]
        unasked = [one for one in asked if _status(one)[0] != "ok"]
        rows += [row for one in unasked for row in _failed(one, *_status(one))]
        lost = {one.key for one in unasked}
        shown = [one for one in asked if one.key not in lost]
        return rows + together_or_alone(self._answer, shown, _failed, never=RunError)

    def _answer(self, asked: Sequence[_Asked]) -> list[Prediction]:
        groups: dict[str, list[_Asked]] = {}
        for one in asked:
            groups.setdefault(one.clip.key if one.clip else "", []).append(one)
        told = [(_view(own[0]), [one.request for one in own]) for own in groups.values()]
        replies = self.model.answer(told)
        return [
            _row(one, reply)
            for own, given in zip(groups.values(), replies, strict=True)
            for one, reply in zip(own, given, strict=True)
        ]


def _asked(file: PreparedFile) -> Iterable[_Asked]:
    clips = {clip.key: clip for clip in file.clips}
    for key, clip_key, request in file.asks:
        yield _Asked(key, request, clips.get(clip_key), file.fingerprint)


def _view(asked: _Asked) -> View | None:
    clip = asked.clip
    if clip is None:
        return None
    times = clip.timing.timestamps_s if clip.timing else ()
    return View(clip.clip, asked.content, clip.frame_indices, times, clip.inputs or {})


def _status(asked: _Asked) -> tuple[Status, str]:
    """Says whether a request can be asked: its frames are there, and no text passes for them."""
    if asked.clip is not None and asked.clip.status != "ok":
        return asked.clip.status, asked.clip.reason
    text = marked(asked.request.message) if asked.request.message else None
    if text is not None:
        return "model_error", f"{VIDEO} would be taken for the video in {text[:80]!r}"
    return "ok", ""


def _row(asked: _Asked, reply: Reply) -> Prediction:
    clip = asked.clip
    return Prediction(
        asked.key,
        "reply",
        reply.status,
        reason=reply.reason,
        video_id=clip.clip.video_id if clip else "",
        path=clip.clip.path if clip else "",
        reply=reply,
    )


def _failed(asked: _Asked, status: Status, reason: str) -> list[Prediction]:
    return [_row(asked, Reply(status, reason))]
