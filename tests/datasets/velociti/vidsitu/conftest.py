"""Toy labels in VidSitu's JSON, sets built from them, and an endpoint that follows a script."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from vbench.datasets.toy.srl import write_vidsitu
from vbench.datasets.toy.world import benchmark_clip
from vbench.datasets.velociti.vidsitu.dataset import FromVidsitu

MANNERS = ("wearily", "boldly", "gently", "rudely", "calmly", "shyly", "stiffly", "loudly")
VERBS = {"kick": "kicking", "paint": "painting", "lick": "licking", "ignore": "ignoring"}


@dataclass(frozen=True)
class Question:
    """What an endpoint is asked, taken apart."""

    kind: str
    labels: Mapping[str, str]
    caption: str
    used: frozenset[str]
    attempt: int
    """1, or 2 for a repair."""

    def label(self, start: str) -> str:
        return next((text for key, text in self.labels.items() if key.startswith(start)), "")


def taken_apart(messages: list[dict[str, str]]) -> Question:
    asked = messages[1]["content"].partition("Now yours.\n")[2]
    blocks = dict(re.findall(r"^([A-Z ]+)\n((?:(?!^[A-Z ]+$).*\n?)*)", asked, re.M))
    lines = (line.partition(": ") for line in blocks["LABELS"].strip().splitlines())
    kinds = {"MANNERS OF THE CLIP": "manner", "VERBS OF THE CLIP": "verb"}
    name = next((name for name in kinds if name in blocks), "")
    return Question(
        kinds.get(name, "positive"),
        {key: text for key, _, text in lines},
        blocks.get("TRUE CAPTION", "").strip(),
        frozenset(filter(None, (w.strip() for w in blocks.get(name, "").split(";")))),
        1 + sum(message["role"] == "assistant" for message in messages),
    )


def good_answer(question: Question) -> str:
    """What a capable model would answer."""
    if question.kind == "positive":
        return json.dumps({"facts": "…", "caption": told(question)})
    if question.kind == "manner":
        old, new = question.label("ArgM (manner)"), pick(MANNERS, question.used)
        return json.dumps({"replacement": new, "caption": question.caption.replace(old, new)})
    verb = pick(VERBS, question.used)
    caption = re.sub(r"\b\w+ing\b", VERBS[verb], question.caption, count=1)
    return json.dumps({"replacement": verb, "caption": caption})


def told(question: Question) -> str:
    verb = question.label("Verb").rstrip("e")
    rest = (question.label(key) for key in ("Arg1", "Arg2", "ArgM (direction)"))
    parts = [question.label("ArgM (manner)"), f"{verb}ing", *rest]
    doing = " ".join(part for part in parts if part)
    return f"In some {question.label('Scene')}, {question.label('Arg0')} is {doing}."


def pick(words: Any, used: frozenset[str]) -> str:
    return next(word for word in words if word not in used)


Script = Callable[[Question], str | tuple[int, str]]
"""An answer's text, or a status and the body of a failure."""


@dataclass
class ScriptedEndpoint:
    """An OpenAI-compatible server on this machine."""

    url: str = ""
    script: Script = good_answer
    bodies: list[dict[str, Any]] = field(default_factory=list)
    """Every request, in order of arrival."""

    def dataset(self, root: Path, labels: Path, **keys: Any) -> FromVidsitu:
        settings = {"llm_parallel": 4, "llm_attempts": 1, "llm_backoff_s": 0.01, **keys}
        return FromVidsitu(
            str(root),
            str(labels),
            captions="llm",
            llm_model="scripted",
            llm_url=self.url,
            **settings,
        )

    def answered(self, body: dict[str, Any]) -> tuple[int, bytes]:
        self.bodies.append(body)
        answer = self.script(taken_apart(body["messages"]))
        if isinstance(answer, tuple):
            return answer[0], answer[1].encode()
        message = {"role": "assistant", "content": answer}
        choice = {"index": 0, "finish_reason": "stop", "message": message}
        usage = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}
        completion = {
            "id": "1",
            "object": "chat.completion",
            "created": 1,
            "model": body["model"],
            "choices": [choice],
            "usage": usage,
        }
        return 200, json.dumps(completion).encode()


@pytest.fixture(scope="session")
def server() -> Iterator[ScriptedEndpoint]:
    endpoint = ScriptedEndpoint()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            length = int(self.headers["Content-Length"])
            status, body = endpoint.answered(json.loads(self.rfile.read(length)))
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    http.daemon_threads = True
    thread = threading.Thread(target=http.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    endpoint.url = f"http://127.0.0.1:{http.server_port}/v1"
    yield endpoint
    http.shutdown()
    http.server_close()
    thread.join()


@pytest.fixture
def endpoint(server: ScriptedEndpoint, monkeypatch: pytest.MonkeyPatch) -> ScriptedEndpoint:
    """The server, answering well, with nothing asked yet."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    server.script = good_answer
    server.bodies.clear()
    return server


@pytest.fixture(scope="session")
def labels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A validation split of 60 toy videos."""
    root = tmp_path_factory.mktemp("labels")
    write_vidsitu(root, [benchmark_clip(4, index) for index in range(60)])
    return root


@pytest.fixture(scope="session")
def few_labels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ten toy videos: enough for all ten tests."""
    root = tmp_path_factory.mktemp("few")
    write_vidsitu(root, [benchmark_clip(4, index) for index in range(10)])
    return root


@pytest.fixture(scope="session")
def template_set(labels: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return FromVidsitu(str(tmp_path_factory.mktemp("built") / "set"), str(labels)).build()


@pytest.fixture(scope="session")
def llm_set(
    few_labels: Path, server: ScriptedEndpoint, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    server.script = good_answer
    return server.dataset(tmp_path_factory.mktemp("built") / "set", few_labels).build()
