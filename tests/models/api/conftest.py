"""Hands tests the scripted servers of this folder, and models that are impatient."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from vbench.models.api.calling import Calling
from vbench.models.api.frames_as_images import FramesAsImages
from vbench.models.api.frames_as_video import FramesAsVideo
from vbench.models.api.openai_api import OpenAIModel
from vbench.protocols import ClipTiming, View
from vbench.records import Clip, Continuation, Message, Request

CLIP = Clip("v", "v.mp4", 0.0, 2.0)


_NAME = "tests_models_api"
"""Under this name the servers of this folder find one another."""


def _load(name: str) -> ModuleType:
    if _NAME not in sys.modules:
        package = ModuleType(_NAME)
        package.__path__ = [str(Path(__file__).parent)]
        sys.modules[_NAME] = package
    return importlib.import_module(f"{_NAME}.{name}")


@pytest.fixture(scope="session")
def chat() -> ModuleType:
    """An OpenAI-compatible server that does what it is told."""
    return _load("chat_server")


@pytest.fixture(scope="session")
def google() -> ModuleType:
    """A server for google-genai that does what it is told."""
    return _load("google_server")


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch, chat: ModuleType) -> str:
    monkeypatch.setenv("OPENAI_API_KEY", chat.KEY)
    monkeypatch.setenv("GEMINI_API_KEY", chat.KEY)
    monkeypatch.delenv("GOOGLE_API_KEY", raising=False)
    return str(chat.KEY)


@pytest.fixture(scope="session")
def one_certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Reading all of the world's authorities takes a client longer than its whole test."""
    import certifi

    end = "-----END CERTIFICATE-----\n"
    file = tmp_path_factory.mktemp("certificates") / "one.pem"
    file.write_text(certifi.contents().partition(end)[0] + end)
    return file


@pytest.fixture(autouse=True)
def quick_clients(one_certificate: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(one_certificate))


@pytest.fixture
def frames() -> list[np.ndarray]:
    ramp = np.linspace(0, 255, 64, dtype=np.uint8)
    wide = np.broadcast_to(ramp[None, :, None], (48, 64, 3))
    return [wide.copy(), wide[:, ::-1].copy(), np.full((48, 64, 3), 90, np.uint8)]


@pytest.fixture
def timing() -> ClipTiming:
    return ClipTiming((0, 5, 10), (0.0, 0.5, 1.0), 10.0, 20)


@pytest.fixture
def view(frames: list[np.ndarray], timing: ClipTiming) -> View:
    inputs = FramesAsImages().view(frames, timing)
    return View(CLIP, "content", timing.frame_indices, timing.timestamps_s, inputs)


@pytest.fixture
def make(tmp_path: Path) -> Callable[..., OpenAIModel]:
    """Builds a model of a server, impatient unless told otherwise."""

    def build(url: str, calling: dict[str, Any] | None = None, **other: Any) -> OpenAIModel:
        patience = {"backoff_s": 0.01, "max_retries": 2, "timeout_s": 20.0}
        kept = {"journal": str(tmp_path / "replies.sqlite")}
        parts = {"images": FramesAsImages(), "video": FramesAsVideo(), "verify": False}
        parts["generation"] = {"max_new_tokens": 20, "temperature": 0.0}
        called = Calling(**{**patience, **kept, **(calling or {})})
        return OpenAIModel("served", url, calling=called, **{**parts, **other})

    return build


@pytest.fixture
def question() -> Callable[..., Request]:
    """A question about the clip, with options to score or without."""

    def ask(text: str, *options: str, **message: Any) -> Request:
        told = Message(text, **message)
        return Request((CLIP,), message=told, continuations=tuple(map(Continuation, options)))

    return ask
