"""A scripted HTTP server on localhost that speaks as much Gemini as google-genai needs to hear."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from contextlib import AbstractContextManager
from http.server import BaseHTTPRequestHandler
from typing import Any

from .chat_server import Local, Speaker, listening

Reply = tuple[int, dict[str, Any]]


class Google(Local):
    """Keeps files by name, as Google does, and what it was asked."""

    def __init__(self, script: Callable[[dict[str, Any], int], Reply]) -> None:
        super().__init__(_Handler)
        self.script = script
        self.files: dict[str, dict[str, Any]] = {}
        self.uploaded: list[bytes] = []
        self.asked: list[dict[str, Any]] = []
        self.paths: list[str] = []
        self.polls_until_ready = 0
        self.state = "ACTIVE"
        """Of a file when it is ready."""


class _Handler(Speaker, BaseHTTPRequestHandler):
    server: Google

    def do_GET(self) -> None:
        name = _file_of(self.path)
        with self.server.lock:
            self.server.paths.append(f"GET {name}")
            file = self.server.files.get(name)
            if file is not None and file["state"] == "PROCESSING":
                self.server.polls_until_ready -= 1
                if self.server.polls_until_ready <= 0:
                    file["state"] = self.server.state
        if file is None:
            denied = {"code": 403, "status": "PERMISSION_DENIED", "message": "no such File"}
            self.send(403, {"error": denied})
        else:
            self.send(200, file)

    def do_DELETE(self) -> None:
        name = _file_of(self.path)
        self.server.files.pop(name, None)
        self.server.paths.append(f"DELETE {name}")
        self.send(200, {})

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        server, path = self.server, self.path.partition("?")[0]
        with server.lock:
            server.paths.append(f"POST {path}")
        if path.startswith("/upload/"):
            where = f"{server.url}/put/{json.loads(raw)['file']['name']}"
            self.send(200, {}, {"X-Goog-Upload-URL": where})
        elif path.startswith("/put/"):
            name = path.removeprefix("/put/")
            state = "PROCESSING" if server.polls_until_ready else server.state
            file = {
                "name": name, "uri": f"{server.url}/v1/{name}", "mimeType": "video/mp4",
                "state": state, "expirationTime": "2999-01-01T00:00:00Z",
            }  # fmt: skip
            with server.lock:
                server.uploaded.append(raw)
                server.files[name] = file
            self.send(200, {"file": file}, {"X-Goog-Upload-Status": "final"})
        else:
            body = _camel(json.loads(raw))
            with server.lock:
                before = len(server.asked)
                server.asked.append(body)
            self.send(*server.script(body, before))


def _camel(value: Any) -> Any:
    """Google takes either spelling of a field, and the SDK sends both."""
    if isinstance(value, list):
        return [_camel(one) for one in value]
    if not isinstance(value, dict):
        return value
    return {re.sub(r"_(\w)", lambda m: m[1].upper(), k): _camel(v) for k, v in value.items()}


def _file_of(path: str) -> str:
    return "files/" + path.partition("?")[0].rpartition("/files/")[2]


def serving(script: Callable[[dict[str, Any], int], Reply]) -> AbstractContextManager[Google]:
    return listening(Google(script))


def says(text: str | None = "A", finish: str = "STOP", **other: Any) -> Reply:
    """A response with one candidate."""
    parts = [{"text": "hm", "thought": True}] if text is None else [{"text": text}]
    usage = {
        "promptTokenCount": 300, "candidatesTokenCount": 2, "thoughtsTokenCount": 5,
        "promptTokensDetails": [{"modality": "TEXT", "tokenCount": 42},
                                {"modality": "VIDEO", "tokenCount": 258}],
    }  # fmt: skip
    candidate = {"content": {"role": "model", "parts": parts}, "finishReason": finish}
    body = {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "gemini-real-002"}
    return 200, {**body, **other}


def failure(status: int, message: str = "no", **details: Any) -> Reply:
    error: dict[str, Any] = {"code": status, "status": "NOT_OK", "message": message}
    if details:
        error["details"] = [details]
    return status, {"error": error}
