"""Video files at Google: each is uploaded once, by the hash of its bytes."""

from __future__ import annotations

import asyncio
import mimetypes
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from vbench.models.api.call_errors import CallError

_POLL_S = 2.0
_ABSENT = (403, 404)
"""Google answers 403 for the name of a file that does not exist."""


@dataclass(frozen=True)
class Uploaded:
    """A file that the model can be shown."""

    uri: str
    mime: str
    expires: datetime | None = None
    """Google drops files after 48 hours."""


class Uploads:
    """Remembers what was uploaded; after a restart, Google is asked by name before.

    Args:
        poll_s: How often it is asked whether a file is ready.
    """

    def __init__(self, poll_s: float = _POLL_S) -> None:
        self.poll_s = poll_s
        self._known: dict[str, Uploaded] = {}
        self._locks: WeakKeyDictionary[Any, dict[str, asyncio.Lock]] = WeakKeyDictionary()

    def forget(self, content: str) -> None:
        """Drops a file that Google no longer has."""
        self._known.pop(content, None)

    async def get(self, client: Any, content: str, path: str) -> Uploaded:
        """Returns the upload of a file, made now if there is none.

        Args:
            client: `google.genai.Client(…).aio`.
            content: SHA-256 of the file's bytes.
            path: Where it lies.

        Raises:
            CallError: Google cannot read it.
        """
        locks = self._locks.setdefault(asyncio.get_running_loop(), {})
        async with locks.setdefault(content, asyncio.Lock()):
            known = self._known.get(content)
            if known is None or (known.expires and known.expires <= datetime.now(UTC)):
                known = self._known[content] = await self._make(client, content, path)
            return known

    async def _make(self, client: Any, content: str, path: str) -> Uploaded:
        name = upload_name(content)
        file = await _find(client, name)
        if file is not None and _state(file) == "FAILED":
            await client.files.delete(name=name)
            file = None
        if file is None:
            mime = mimetypes.guess_type(path)[0] or "video/mp4"
            told = {"name": name, "mime_type": mime, "display_name": Path(path).name[:100]}
            file = await client.files.upload(file=path, config=told)
        while _state(file) == "PROCESSING":
            await asyncio.sleep(self.poll_s)
            file = await client.files.get(name=file.name)
        if _state(file) != "ACTIVE":
            raise CallError("request", f"Google cannot read the file: {_state(file)} {file.error}")
        return Uploaded(file.uri, file.mime_type, file.expiration_time)


def upload_name(content: str) -> str:
    """Returns the name of an upload: at most 40 small letters, digits and dashes.

    >>> upload_name("0123456789abcdef" * 4)
    'files/vbench-0123456789abcdef0123456789abcdef'
    """
    return f"files/vbench-{content[:32]}"


async def _find(client: Any, name: str) -> Any:
    from google.genai.errors import APIError

    try:
        return await client.files.get(name=name)
    except APIError as error:
        if error.code in _ABSENT and not is_key_error(error.details):
            return None
        raise


def is_key_error(details: Mapping[str, Any] | object) -> bool:
    """Says whether Google's error is about the key, whatever its HTTP status."""
    text = str(details)
    return "API_KEY" in text or "API key" in text


def _state(file: Any) -> str:
    # A server that does not say is done.
    return str(getattr(file.state, "name", file.state) or "ACTIVE")
