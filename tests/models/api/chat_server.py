"""A scripted HTTP server on localhost that speaks as much OpenAI as a client needs to hear."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, TypeVar

KEY = "sk-secret-0123456789abcdef"


@dataclass
class Act:
    """What the server does with a request."""

    body: dict[str, Any] = field(default_factory=dict)
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    delay_s: float = 0.0
    drop: bool = False
    """Hangs up without a word."""


Script = Callable[[dict[str, Any], int], Act]
"""(request's body, how many came before) → what is done."""


class Local(ThreadingHTTPServer):
    """Listens on this machine until closed."""

    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 64

    def __init__(self, handler: type[Speaker], port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), handler)
        self.lock = threading.Lock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients that hang up are part of the tests."""


class Speaker(BaseHTTPRequestHandler):
    """Answers in JSON, and logs nothing."""

    protocol_version = "HTTP/1.1"

    def send(self, status: int, body: object, headers: Mapping[str, str] | None = None) -> None:
        payload = json.dumps(body).encode()
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", **(headers or {})}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(payload)))
        self.end_headers()
        self.wfile.write(payload)

    def log_message(self, *unused: Any) -> None:
        pass


AnyServer = TypeVar("AnyServer", bound=Local)


@contextmanager
def listening(server: AnyServer) -> Iterator[AnyServer]:
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class Server(Local):
    """Keeps what it was asked."""

    def __init__(self, script: Script, port: int = 0) -> None:
        super().__init__(_Handler, port)
        self.script = script
        self.bodies: list[dict[str, Any]] = []
        self.keys: list[str] = []
        self.arrived: list[float] = []
        self.most_at_once = self.at_once = 0

    @property
    def url(self) -> str:
        return f"{super().url}/v1"


class _Handler(Speaker):
    server: Server

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        server = self.server
        with server.lock:
            server.at_once += 1
            server.most_at_once = max(server.most_at_once, server.at_once)
            before = len(server.bodies)
            server.bodies.append(body)
            server.keys.append(self.headers.get("Authorization", ""))
            server.arrived.append(time.monotonic())
        act = server.script(body, before)
        time.sleep(act.delay_s)
        with server.lock:
            server.at_once -= 1
        if act.drop:
            self.close_connection = True
            self.connection.close()
            return
        self.send(act.status, act.body, act.headers)


def serving(script: Script, port: int = 0) -> AbstractContextManager[Server]:
    return listening(Server(script, port))


def completion(text: str | None = "A", **other: Any) -> Act:
    """A chat completion; `other` overrides message, choice or usage fields by name."""
    message = {"role": "assistant", "content": text, **other.pop("message", {})}
    choice = {"index": 0, "message": message, "finish_reason": "stop", **other.pop("choice", {})}
    usage = {"prompt_tokens": 100, "completion_tokens": 2, "total_tokens": 102}
    usage |= other.pop("usage", {})
    body = {"id": "1", "object": "chat.completion", "created": 1, "model": "served-2026",
            "choices": [choice], "usage": usage, **other}  # fmt: skip
    return Act(body)


def failure(status: int, message: str = "no", code: str | None = None, **headers: str) -> Act:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Act({"error": {"message": message, "code": code}}, status, named)


def log_probs(**tokens: float) -> dict[str, Any]:
    """The `logprobs` of a choice, first token only; `_A` stands for a space before A."""
    listed = [
        {"token": name.replace("_", " "), "logprob": value, "bytes": None, "top_logprobs": []}
        for name, value in tokens.items()
    ]
    return {"content": [{**listed[0], "top_logprobs": listed}]}


def media_of(body: dict[str, Any]) -> list[str]:
    """The data URLs in a request."""
    content = body["messages"][-1]["content"]
    if isinstance(content, str):
        return []
    return [part[part["type"]]["url"] for part in content if part["type"] != "text"]


def text_of(body: dict[str, Any]) -> str:
    """The text in a request."""
    content = body["messages"][-1]["content"]
    if isinstance(content, str):
        return content
    return "|".join(part["text"] for part in content if part["type"] == "text")
