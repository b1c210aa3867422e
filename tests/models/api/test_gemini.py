"""The Gemini model through the real SDK, against an HTTP server on localhost."""

from __future__ import annotations

import hashlib
import socket
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from vbench.errors import ConfigError, RunError
from vbench.models.api.calling import Calling
from vbench.models.api.frames_as_images import FramesAsImages
from vbench.models.api.gemini import GeminiModel
from vbench.protocols import ClipTiming, VideoLanguageModel, View
from vbench.records import Clip, Request

Ask = Callable[..., Request]
Make = Callable[..., GeminiModel]


@pytest.fixture
def make_gemini(tmp_path: Path) -> Make:
    def build(url: str, calling: dict[str, Any] | None = None, **other: Any) -> GeminiModel:
        patience = {"backoff_s": 0.01, "max_retries": 2, "timeout_s": 20.0}
        kept = {"journal": str(tmp_path / "replies.sqlite")}
        generation = {"max_new_tokens": 64, "temperature": 0.0, "top_p": 1.0, "top_k": 1}
        parts = {"images": FramesAsImages(), "base_url": url, "generation": generation}
        called = Calling(**{**patience, **kept, **(calling or {})})
        model = GeminiModel("gemini-x", calling=called, **{**parts, **other})
        model.uploads.poll_s = 0.01
        return model

    return build


@pytest.fixture
def film(tmp_path: Path, write_grey: Callable[..., None]) -> View:
    """Part of a real file."""
    path = tmp_path / "film.mp4"
    write_grey(path)
    content = hashlib.sha256(path.read_bytes()).hexdigest()
    return View(Clip("film", str(path), 0.5, 2.25), content)


def test_a_file_is_uploaded_once_and_its_span_is_named(
    google: ModuleType, make_gemini: Make, film: View, question: Ask
) -> None:
    whole = replace(film, clip=Clip("film", film.clip.path))
    with google.serving(lambda body, n: google.says("B")) as server:
        server.polls_until_ready = 3
        model = make_gemini(server.url, fps=2.0)
        assert model.needs == {"video"}
        assert isinstance(model, VideoLanguageModel)
        first = [question(f"Q{n}", system="Be brief.") for n in range(5)]
        [some, [other]] = model.answer([(film, first), (whole, [question("Q")])])
        model.answer([(film, [question("later")])])
    assert server.uploaded == [Path(film.clip.path).read_bytes()]
    assert len(server.asked) == 7
    body = next(body for body in server.asked if "systemInstruction" in body)
    shown, said = body["contents"][0]["parts"]
    assert shown["fileData"]["mimeType"] == "video/mp4"
    assert shown["videoMetadata"] == {"fps": 2.0, "startOffset": "0.5s", "endOffset": "2.25s"}
    assert said["text"].startswith("Q")
    assert body["systemInstruction"]["parts"][0]["text"] == "Be brief."
    settings = body["generationConfig"]
    assert settings == {"temperature": 0.0, "topP": 1.0, "topK": 1, "maxOutputTokens": 64}
    assert len(body["safetySettings"]) == 4
    assert {one["threshold"] for one in body["safetySettings"]} == {"BLOCK_NONE"}
    bare = next(body for body in server.asked if body["contents"][0]["parts"][1]["text"] == "Q")
    assert bare["contents"][0]["parts"][0]["videoMetadata"] == {"fps": 2.0}
    reply = some[0]
    assert (reply.status, reply.text, reply.model_version) == ("ok", "B", "gemini-real-002")
    assert (reply.prompt_tokens, reply.visual_tokens, reply.reply_tokens) == (300, 258, 7)
    assert (reply.finish_reason, other.status) == ("stop", "ok")


def test_a_restart_does_not_upload_again(
    google: ModuleType, make_gemini: Make, film: View, question: Ask
) -> None:
    with google.serving(lambda body, n: google.says()) as server:
        make_gemini(server.url).answer([(film, [question("one")])])
        make_gemini(server.url).answer([(film, [question("two")])])
        assert len(server.uploaded) == 1
        make_gemini(server.url).answer([(film, [question("one"), question("two")])])
        assert len(server.asked) == 2  # both are known by now


def test_an_upload_that_google_has_dropped_is_made_again(
    google: ModuleType, make_gemini: Make, film: View, question: Ask
) -> None:
    def script(body: dict[str, Any], n: int) -> Any:
        gone = not server.files
        return google.failure(403, "You may not access the File") if gone else google.says("ok")

    with google.serving(script) as server:
        model = make_gemini(server.url)
        model.answer([(film, [question("one")])])
        server.files.clear()
        [[reply]] = model.answer([(film, [question("two")])])
    assert reply.text == "ok"
    assert len(server.uploaded) == 2


def test_a_file_that_google_cannot_read_costs_its_own_requests(
    google: ModuleType, make_gemini: Make, film: View, question: Ask
) -> None:
    with google.serving(lambda body, n: google.says()) as server:
        server.state = "FAILED"
        model = make_gemini(server.url)
        [[bad], [good]] = model.answer([(film, [question("Q")]), (None, [question("Q")])])
        assert (bad.status, good.status) == ("model_error", "ok")
        assert "cannot read the file" in bad.reason
        server.state = "ACTIVE"  # and is not taken for uploaded ever after
        [[mended]] = make_gemini(server.url).answer([(film, [question("Q")])])
        assert mended.status == "ok"


def test_files_that_cannot_be_sent(
    google: ModuleType, make_gemini: Make, film: View, question: Ask, tmp_path: Path
) -> None:
    absent = View(Clip("a", str(tmp_path / "absent.mp4")), "unreadable")
    folder = View(Clip("b", str(tmp_path)), "digest")
    with google.serving(lambda body, n: google.says()) as server:
        asked = [(v, [question("Q")]) for v in (absent, film, folder)]
        [[first], [second], [third]] = make_gemini(server.url).answer(asked)
    assert [r.status for r in (first, second, third)] == ["decode_error", "ok", "decode_error"]
    assert "model.send=images" in third.reason


def test_frames_are_sent_instead(
    google: ModuleType, make_gemini: Make, view: View, question: Ask, frames: list[np.ndarray],
    timing: ClipTiming,
) -> None:  # fmt: skip
    with google.serving(lambda body, n: google.says()) as server:
        model = make_gemini(server.url, send="images")
        assert model.needs == {"frames"}
        assert model.preprocess is not None
        [[reply]] = model.answer([(view, [question("See <video>?")])])
    assert reply.frame_shape == (3, 48, 64)
    assert server.uploaded == []
    parts = server.asked[0]["contents"][0]["parts"]
    assert [part["text"] for part in (parts[0], parts[-1])] == ["See ", "?"]
    assert [part["inlineData"]["mimeType"] for part in parts[1:-1]] == ["image/jpeg"] * 3


@pytest.mark.parametrize(
    ("answer", "status", "reason"),
    [
        ({"candidates": [], "promptFeedback": {"blockReason": "SAFETY"}}, "refused", "SAFETY"),
        ({"candidates": []}, "refused", "no candidate"),
        ({"candidates": [{"finishReason": "RECITATION"}]}, "refused", "RECITATION"),
        ({"candidates": [{"finishReason": "MAX_TOKENS"}]}, "ok", ""),
    ],
)
def test_blocked_and_empty_answers_are_refusals(
    answer: dict[str, Any], status: str, reason: str, google: ModuleType, make_gemini: Make,
    question: Ask,
) -> None:  # fmt: skip
    with google.serving(lambda body, n: google.says(**answer)) as server:
        model = make_gemini(server.url)
        [[reply]] = model.answer([(None, [question("Q")])])
        assert (reply.status, reason in reply.reason) == (status, True)
        model.answer([(None, [question("Q")])])
        assert len(server.asked) == 1  # a refusal is an answer, and paid


def test_thoughts_are_no_answer(google: ModuleType, make_gemini: Make, question: Ask) -> None:
    with google.serving(lambda body, n: google.says(None, "MAX_TOKENS")) as server:
        [[reply]] = make_gemini(server.url).answer([(None, [question("Q")])])
    assert (reply.text, reply.finish_reason) == ("", "length")


@pytest.mark.parametrize("status", [429, 500, 503])
def test_trouble_that_passes_is_sat_out(
    status: int, google: ModuleType, make_gemini: Make, question: Ask
) -> None:
    """The SDK tries nothing again by itself, or there would be more requests than tries."""

    def script(body: dict[str, Any], n: int) -> Any:
        return google.failure(status) if n < 2 else google.says("at last")

    with google.serving(script) as server:
        [[reply]] = make_gemini(server.url).answer([(None, [question("Q")])])
        assert reply.text == "at last"
        assert len(server.asked) == 3
        server.script = lambda body, n: google.failure(status, "for ever")
        [[reply]] = make_gemini(server.url).answer([(None, [question("other")])])
        assert reply.status == "model_error"
        assert len(server.asked) == 6


def test_the_wait_that_google_names_is_kept_to(
    google: ModuleType, make_gemini: Make, question: Ask
) -> None:
    def script(body: dict[str, Any], n: int) -> Any:
        return google.says() if n else google.failure(429, "slow down", retryDelay="0.8s")

    with google.serving(script) as server:
        begun = time.monotonic()
        make_gemini(server.url).answer([(None, [question("Q")])])
    assert time.monotonic() - begun >= 0.8


@pytest.mark.parametrize("failure", [(400, "API key not valid"), (401, "who"), (403, "denied")])
def test_a_refused_key_ends_the_run(
    failure: tuple[int, str], google: ModuleType, make_gemini: Make, question: Ask, film: View
) -> None:
    with google.serving(lambda body, n: google.failure(*failure)) as server:
        with pytest.raises(RunError, match=r"GEMINI_API_KEY or GOOGLE_API_KEY"):
            make_gemini(server.url).answer([(None, [question("Q")])])
        assert len(server.asked) == 1


def test_keys_come_from_either_variable(
    make_gemini: Make, question: Ask, google: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GEMINI_API_KEY")
    with google.serving(lambda body, n: google.says()) as server:
        with pytest.raises(RunError, match="GEMINI_API_KEY and GOOGLE_API_KEY are not set"):
            make_gemini(server.url).answer([(None, [question("Q")])])
        monkeypatch.setenv("GOOGLE_API_KEY", "other")
        [[reply]] = make_gemini(server.url).answer([(None, [question("Q")])])
    assert reply.status == "ok"


def test_nobody_there_ends_the_run(make_gemini: Make, question: Ask) -> None:
    with socket.socket() as some:
        some.bind(("127.0.0.1", 0))
        port = some.getsockname()[1]
    with pytest.raises(RunError, match="cannot be reached"):
        make_gemini(f"http://127.0.0.1:{port}").answer([(None, [question("Q")])])


def test_identity_holds_what_changes_an_answer_and_no_key(make_gemini: Make, key: str) -> None:
    made = [make_gemini("http://a"), make_gemini("http://b"), make_gemini("http://a", fps=2.0),
            make_gemini("http://a", safety_threshold="BLOCK_ONLY_HIGH"),
            make_gemini("http://a", media_resolution="low")]  # fmt: skip
    assert len({model.identity() for model in made}) == len(made)
    assert all(key not in model.identity() for model in made)


def test_settings_that_gemini_does_not_take(make_gemini: Make) -> None:
    with pytest.raises(ConfigError, match="24 frames"):
        make_gemini("http://a", fps=30.0)
    with pytest.raises(ConfigError, match="black"):
        make_gemini("http://a", visual={"blind": "black"})
    assert make_gemini("http://a", visual={"blind": "none"}).needs == {"text"}


def test_a_file_of_unknown_cost_is_not_paid_for_blindly(
    google: ModuleType, make_gemini: Make, film: View, question: Ask
) -> None:
    calling = {"usd_per_million": {"input": 1000.0, "output": 1000.0}, "max_usd": 0.3}
    with (
        google.serving(lambda body, n: google.says()) as server,
        pytest.raises(RunError, match="budget"),
    ):
        make_gemini(server.url, calling).answer([(film, [question("Q")])])
    assert (server.asked, server.uploaded) == ([], [])
