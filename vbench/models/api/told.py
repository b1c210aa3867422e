"""A request as an API is told it: text before the video, text after it, media by their hash."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from vbench.errors import RunError
from vbench.protocols import View
from vbench.records import VIDEO, Request, Task


@dataclass(frozen=True)
class Told:
    """What is sent of one request, whatever the API's own shape for it."""

    before: str
    """Text before the video."""
    after: str
    """Text after it."""
    system: str | None
    task: Task
    view: View | None
    """None: no video."""
    media_digest: str = ""
    turns: tuple[tuple[str, str], ...] = ()
    """Role and text of what was said between system prompt and question."""

    @property
    def prompt(self) -> str:
        """The whole text as it is recorded."""
        mark = VIDEO if self.view is not None else ""
        said = (text for _, text in self.turns)
        parts = [self.system, *said, self.before + mark + self.after]
        return "\n".join(part for part in parts if part)

    @property
    def shape(self) -> tuple[int, ...]:
        """(n, h, w) of the frames that are sent; empty where the file itself is, or nothing."""
        return tuple(self.view.inputs.get("shape", ())) if self.view is not None else ()

    def key(self, identity: str) -> str:
        """Returns a hash of everything that is sent.

        Args:
            identity: The model's.
        """
        parts = [identity, self.before, self.after, self.system, self.task, self.media_digest]
        text = json.dumps([*parts, *self.turns], ensure_ascii=True)
        return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def tell(request: Request, view: View | None, media_digest: str, where: str) -> Told:
    """Splits a request's message at the video.

    Args:
        request: With a message.
        view: What is shown beside it.
        media_digest: Of what is shown.
        where: The model, for messages.

    Raises:
        RunError: An API cannot be told such a thing.
    """
    message = request.message
    if message is None or message.render == "raw":
        raise RunError(
            "an API renders prompts itself",
            where=where,
            why="the scorer's prompt is to be all that the model reads (render=raw)",
            mend="choose a prompt with render=chat, or a local model",
        )
    before, mark, after = message.text.partition(VIDEO)
    if not mark or view is None:  # where nothing marks the place, the video comes first
        before, after = "", before + after
    return Told(before, after, message.system, request.task, view, media_digest, message.turns)


def digest_media(inputs: Mapping[str, Any]) -> str:
    """Returns a hash of a view's encoded frames."""
    found = hashlib.sha256()
    media: Sequence[bytes] = inputs.get("media", ())
    for piece in media:
        found.update(len(piece).to_bytes(8, "big") + piece)
    return found.hexdigest()
