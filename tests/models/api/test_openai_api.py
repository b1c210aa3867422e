"""The model against a real HTTP server on localhost, through the real client."""

from __future__ import annotations

import asyncio
import base64
import io
import math
import time
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from PIL import Image

from vbench.errors import ConfigError, RunError
from vbench.models.api.frames_as_video import FramesAsVideo
from vbench.models.api.openai_api import OpenAIModel
from vbench.protocols import VideoLanguageModel, View
from vbench.records import Continuation, Request

Make = Callable[..., OpenAIModel]
Ask = Callable[..., Request]


def test_a_question_goes_out_whole_and_its_answer_comes_back(
    chat: ModuleType, make: Make, question: Ask, view: View, frames: list[np.ndarray]
) -> None:
    with chat.serving(lambda body, n: chat.completion("B) yes")) as server:
        model = make(server.url, generation={"max_new_tokens": 20, "temperature": 0.0, "seed": 3})
        [[reply]] = model.answer([(view, [question("See <video> well?", system="Be brief.")])])
    (body,) = server.bodies
    assert {key: body[key] for key in ("model", "temperature", "seed", "max_tokens")} == {
        "model": "served", "temperature": 0.0, "seed": 3, "max_tokens": 20,
    }  # fmt: skip
    assert body["messages"][0] == {"role": "system", "content": "Be brief."}
    kinds = [part["type"] for part in body["messages"][1]["content"]]
    assert kinds == ["text", "image_url", "image_url", "image_url", "text"]
    assert chat.text_of(body) == "See | well?"
    for url, frame in zip(chat.media_of(body), frames, strict=True):
        head, _, data = url.partition(",")
        assert head == "data:image/jpeg;base64"
        shown = np.asarray(Image.open(io.BytesIO(base64.b64decode(data))))
        assert np.abs(shown.astype(int) - frame).mean() < 2
    assert (reply.status, reply.text, reply.finish_reason) == ("ok", "B) yes", "stop")
    assert (reply.prompt_tokens, reply.reply_tokens) == (100, 2)
    assert (reply.model_version, reply.frame_shape) == ("served-2026", (3, 48, 64))
    assert reply.prompt == "Be brief.\nSee <video> well?"
    assert server.keys == [f"Bearer {chat.KEY}"]


def test_without_a_mark_the_video_comes_first_and_without_a_view_there_is_none(
    chat: ModuleType, make: Make, question: Ask, view: View
) -> None:
    with chat.serving(lambda body, n: chat.completion()) as server:
        make(server.url).answer([(view, [question("What?")]), (None, [question("What?")])])
    shown, blind = sorted(server.bodies, key=lambda body: -len(chat.media_of(body)))
    assert [part["type"] for part in shown["messages"][0]["content"]][-1] == "text"
    assert blind["messages"] == [{"role": "user", "content": "What?"}]


def test_openais_own_host_is_told_the_new_word_for_the_limit(make: Make) -> None:
    assert "max_completion_tokens=20" in make("https://api.openai.com/v1").identity()
    assert "max_tokens=20" in make("http://localhost:1/v1").identity()


def test_options_are_scored_by_the_first_tokens_log_probability(
    chat: ModuleType, make: Make, view: View, question: Ask
) -> None:
    told = chat.log_probs(A=-0.5, _A=-2.0, B=-1.5)
    options = [Continuation("A"), Continuation("A", "space"), Continuation("B", "bare"),
               Continuation("C"), Continuation("B", "space")]  # fmt: skip
    request = Request(question("Q").clips, message=question("Q").message,
                      continuations=tuple(options))  # fmt: skip
    with chat.serving(lambda body, n: chat.completion(choice={"logprobs": told})) as server:
        model = make(server.url, logprobs=True)
        assert model.tasks == {"score", "generate"}
        [[reply, other]] = model.answer([(view, [request, question("Q", "B")])])
    assert reply.log_probs[:3] == (-0.5, -2.0, -1.5)
    assert [math.isnan(value) for value in reply.log_probs] == [False, False, False, True, True]
    assert other.log_probs == (-1.5,)
    (body,) = server.bodies  # two requests, one message: paid once
    assert (body["logprobs"], body["top_logprobs"], body["max_tokens"]) == (True, 20, 1)


@pytest.mark.parametrize("answer", ["silent", "refusing"])
def test_a_server_without_log_probabilities_names_the_way_out(
    answer: str, chat: ModuleType, make: Make, question: Ask
) -> None:
    act = chat.completion() if answer == "silent" else chat.failure(400, "logprobs: unsupported")
    with (
        chat.serving(lambda body, n: act) as server,
        pytest.raises(RunError, match=r"no log-probabilities(.|\n)*scorer=letters"),
    ):
        make(server.url, logprobs=True).answer([(None, [question("Q", "A")])])


def test_scoring_is_offered_only_where_it_is_said_to_work(make: Make) -> None:
    assert make("http://localhost:1/v1").tasks == {"generate"}
    assert isinstance(make("http://localhost:1/v1"), VideoLanguageModel)


@pytest.mark.parametrize(
    ("fields", "status", "reason"),
    [
        ({"text": None, "message": {"refusal": "I cannot"}}, "refused", "I cannot"),
        ({"text": "", "choice": {"finish_reason": "content_filter"}}, "refused", "content filter"),
        ({"text": None}, "ok", ""),
        ({"choices": []}, "model_error", "no choice"),
    ],
)
def test_what_a_completion_means(
    fields: dict[str, Any], status: str, reason: str, chat: ModuleType, make: Make, question: Ask
) -> None:
    with chat.serving(lambda body, n: chat.completion(**fields)) as server:
        [[reply]] = make(server.url).answer([(None, [question("Q")])])
    assert reply.status == status
    assert reason in reply.reason


@pytest.mark.parametrize(
    ("failure", "status"),
    [
        ((400, "blocked", "content_policy_violation"), "refused"),
        ((400, "This model's maximum context length is 10 tokens", None), "overlong"),
        ((400, "too long", "context_length_exceeded"), "overlong"),
        ((400, "image 3 is odd", None), "model_error"),
        ((422, "bad", None), "model_error"),
    ],
)
def test_an_error_about_one_request_costs_that_request(
    failure: tuple[int, str, str | None], status: str, chat: ModuleType, make: Make, question: Ask
) -> None:
    def script(body: dict[str, Any], n: int) -> Any:
        return chat.failure(*failure) if chat.text_of(body) == "bad" else chat.completion("fine")

    with chat.serving(script) as server:
        [[bad, good]] = make(server.url).answer([(None, [question("bad"), question("good")])])
        assert (bad.status, good.status) == (status, "ok")
        assert failure[1] in bad.reason
        assert len(server.bodies) == 2  # neither is tried again


@pytest.mark.parametrize("status", [401, 403, 404])
def test_an_error_about_all_requests_ends_the_run(
    status: int, chat: ModuleType, make: Make, question: Ask, capsys: pytest.CaptureFixture[str]
) -> None:
    with (
        chat.serving(lambda body, n: chat.failure(status, f"key {chat.KEY} is bad")) as server,
        pytest.raises(RunError) as caught,
    ):
        asked = [(None, [question(str(n)) for n in range(50)])]
        make(server.url, {"max_concurrency": 2}).answer(asked)
    assert len(server.bodies) <= 3
    assert ("OPENAI_API_KEY" in str(caught.value)) == (status != 404)
    assert chat.KEY not in str(caught.value) + capsys.readouterr().err
    assert caught.value.__cause__ is None


def test_a_missing_key_is_named(make: Make, question: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    with pytest.raises(RunError, match="OPENAI_API_KEY is not set"):
        make("http://127.0.0.1:1/v1").answer([(None, [question("Q")])])
    with pytest.raises(RunError, match="MY_KEY is not set"):
        model = make("http://127.0.0.1:1/v1", api_key_env="MY_KEY")
        model.answer([(None, [question("Q")])])


def test_a_server_that_wants_no_key_is_given_none_of_ours(
    chat: ModuleType, make: Make, question: Ask
) -> None:
    with chat.serving(lambda body, n: chat.completion()) as server:
        make(server.url, api_key_env=None).answer([(None, [question("Q")])])
    assert server.keys == ["Bearer none"]


def test_nothing_that_is_written_or_shown_holds_the_key(make: Make, key: str) -> None:
    model = make("https://example.org/v1", extra_body={"a": 1})
    assert key not in model.identity() + repr(vars(model))
    assert "example.org" in model.identity()


def test_identity_changes_with_every_setting_that_changes_an_answer(make: Make) -> None:
    made = [
        make("http://a/v1"), make("http://b/v1"), make("http://a/v1", logprobs=True),
        make("http://a/v1", extra_body={"x": 1}),
        make("http://a/v1", generation={"max_new_tokens": 21, "temperature": 0.0}),
        make("http://a/v1", generation={"max_new_tokens": 20}),
    ]  # fmt: skip
    assert len({model.identity() for model in made}) == len(made)
    patient = make("http://a/v1", {"timeout_s": 99.0, "max_retries": 9})
    assert patient.identity() == made[0].identity()


@pytest.mark.parametrize("url", ["127.0.0.1:8000/v1", "ftp://x/v1", ""])
def test_an_address_that_is_none(url: str, make: Make) -> None:
    with pytest.raises(ConfigError, match="no address"):
        make(url)


def test_a_prompt_that_is_to_be_all_the_model_reads_is_refused(make: Make, question: Ask) -> None:
    with pytest.raises(RunError, match="render=chat"):
        make("http://127.0.0.1:1/v1").answer([(None, [question("Q", render="raw")])])


def video_view(frames: list[np.ndarray], view: View, timing: Any) -> View:
    inputs = FramesAsVideo().view(frames, timing)
    return View(view.clip, view.content, view.frame_indices, view.timestamps_s, inputs)


def test_a_video_is_sent_where_the_server_counts_it(
    chat: ModuleType, make: Make, question: Ask, view: View, frames: list[np.ndarray], timing: Any
) -> None:
    def script(body: dict[str, Any], n: int) -> Any:
        tokens = 500 if chat.media_of(body) else 20
        return chat.completion("yes", usage={"prompt_tokens": tokens})

    requests = [question(f"Q{n}") for n in range(4)]
    with chat.serving(script) as server:
        model = make(server.url, send="video")
        [replies] = model.answer([(video_view(frames, view, timing), requests)])
        assert {reply.status for reply in replies} == {"ok"}
        assert sum(bool(chat.media_of(body)) for body in server.bodies) == 4
        assert len(server.bodies) == 5  # one probe, for all
        url = next(filter(None, map(chat.media_of, server.bodies)))[0]
        assert url.startswith("data:video/mp4;base64,")
        model.answer([(video_view(frames, view, timing), [question("another")])])
        assert len(server.bodies) == 6


@pytest.mark.parametrize("send", ["video", "images"])
def test_a_server_that_ignores_what_it_is_shown_is_found_out(
    send: str, chat: ModuleType, make: Make, question: Ask, view: View,
    frames: list[np.ndarray], timing: Any,
) -> None:  # fmt: skip
    shown = view if send == "images" else video_view(frames, view, timing)
    requests = [question(f"Q{n}") for n in range(4)]
    with chat.serving(lambda body, n: chat.completion("yes")) as server:
        model = make(server.url, send=send, verify=send == "images")
        with pytest.raises(RunError, match=f"ignored the {send}"):
            model.answer([(shown, requests)])
        assert len(server.bodies) == 2
        # Nothing is remembered of it: a server mended meanwhile is asked again.
        server.script = lambda body, n: chat.completion(
            "no", usage={"prompt_tokens": 900 if chat.media_of(body) else 9}
        )
        again = make(server.url, send=send, verify=True)
        [replies] = again.answer([(shown, requests)])
        assert [reply.text for reply in replies] == ["no"] * 4


def test_blind_models_send_no_frames(
    chat: ModuleType, make: Make, question: Ask, view: View
) -> None:
    with chat.serving(lambda body, n: chat.completion()) as server:
        model = make(server.url, visual={"blind": "none"})
        assert (model.needs, model.preprocess) == ({"text"}, None)
        model.answer([(view, [question("What is in <video>?")])])
    assert chat.text_of(server.bodies[0]) == "What is in ?"
    assert make("http://a/v1", visual={"blind": "black"}).preprocess is not None
    with pytest.raises(ConfigError, match="visual"):
        make("http://a/v1", visual={"blind": "deaf"})


def test_generation_settings_that_do_not_exist(make: Make) -> None:
    assert make("http://a/v1", generation={"max_new_tokens": 5, "num_beams": 1, "top_k": 0})
    for wrong, match in [
        ({"max_new_tokens": 5, "temprature": 1}, "temperature"),
        ({"max_new_tokens": 5, "num_beams": 4}, "num_beams"),
        ({"max_new_tokens": 0}, "whole number"),
    ]:
        with pytest.raises(ConfigError, match=match):
            make("http://a/v1", generation=wrong)


def test_inside_a_running_loop_as_in_a_notebook(
    chat: ModuleType, make: Make, question: Ask
) -> None:
    async def cell(model: OpenAIModel) -> str | None:
        return model.answer([(None, [question("Q")])])[0][0].text

    with chat.serving(lambda body, n: chat.completion("hello")) as server:
        assert asyncio.run(cell(make(server.url))) == "hello"


def test_calls_go_out_together_but_not_too_many(
    chat: ModuleType, make: Make, question: Ask
) -> None:
    def script(body: dict[str, Any], n: int) -> Any:
        act = chat.completion()
        act.delay_s = 0.15
        return act

    with chat.serving(script) as server:
        begun = time.monotonic()
        asked = [(None, [question(str(n)) for n in range(12)])]
        [replies] = make(server.url, {"max_concurrency": 4}).answer(asked)
    assert len(replies) == len(server.bodies) == 12
    assert 2 <= server.most_at_once <= 4
    assert time.monotonic() - begun > 0.3
