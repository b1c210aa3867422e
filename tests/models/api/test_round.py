"""Patience, purse and memory: what calls do when a server does not behave."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from types import ModuleType
from typing import Any

import pytest

from vbench.errors import RunError
from vbench.models.api.openai_api import OpenAIModel
from vbench.models.api.round import GIVE_UP_AFTER
from vbench.records import Request

Make = Callable[..., OpenAIModel]
Ask = Callable[..., Request]
PRICES = {"input": 1000.0, "output": 1000.0}


def free_port() -> int:
    with socket.socket() as some:
        some.bind(("127.0.0.1", 0))
        return int(some.getsockname()[1])


@pytest.mark.parametrize("status", [408, 429, 500, 503])
def test_trouble_that_passes_is_sat_out(
    status: int, chat: ModuleType, make: Make, question: Ask
) -> None:
    def script(body: dict[str, Any], n: int) -> Any:
        return chat.failure(status) if n < 2 else chat.completion("at last")

    with chat.serving(script) as server:
        [[reply]] = make(server.url).answer([(None, [question("Q")])])
    assert reply.text == "at last"
    assert len(server.bodies) == 3


def test_what_the_server_asks_for_is_kept_to(chat: ModuleType, make: Make, question: Ask) -> None:
    def script(body: dict[str, Any], n: int) -> Any:
        return chat.failure(429, retry_after="0.7") if not n else chat.completion("yes")

    with chat.serving(script) as server:
        [[reply]] = make(server.url, {"backoff_s": 0.0}).answer([(None, [question("Q")])])
    assert reply.status == "ok"
    first, second = server.arrived
    assert 0.7 <= second - first < 5


def test_trouble_that_lasts_costs_the_request_and_is_not_remembered(
    chat: ModuleType, make: Make, question: Ask
) -> None:
    def script(body: dict[str, Any], n: int) -> Any:
        return chat.failure(500, "boom") if chat.text_of(body) == "bad" else chat.completion("x")

    with chat.serving(script) as server:
        model = make(server.url)
        [[bad, good]] = model.answer([(None, [question("bad"), question("good")])])
        assert (bad.status, good.status) == ("model_error", "ok")
        assert "HTTP 500: boom; tried 3 times" in bad.reason
        server.script = lambda body, n: chat.completion("mended")
        [[bad, good]] = model.answer([(None, [question("bad"), question("good")])])
        assert (bad.text, good.text) == ("mended", "x")
        assert len(server.bodies) == 3 + 1 + 1


def test_a_hung_call_is_given_up_and_made_again(
    chat: ModuleType, make: Make, question: Ask
) -> None:
    def script(body: dict[str, Any], n: int) -> Any:
        act = chat.completion("awake")
        act.delay_s = 0.0 if n else 3.0
        return act

    with chat.serving(script) as server:
        [[reply]] = make(server.url, {"timeout_s": 0.5}).answer([(None, [question("Q")])])
        assert reply.text == "awake"
        server.script = lambda body, n: chat.Act(delay_s=3.0)
        model = make(server.url, {"timeout_s": 0.2, "max_retries": 0})
        [[reply]] = model.answer([(None, [question("other")])])
        assert reply.status == "model_error"
        assert "no answer within 0.2 s (model.calling.timeout_s)" in reply.reason


def test_a_dropped_connection_is_tried_again(chat: ModuleType, make: Make, question: Ask) -> None:
    def script(body: dict[str, Any], n: int) -> Any:
        return chat.completion("back") if n else chat.Act(drop=True)

    with chat.serving(script) as server:
        [[reply]] = make(server.url).answer([(None, [question("Q")])])
    assert reply.text == "back"
    assert len(server.bodies) == 2


def test_nobody_there_ends_the_run_at_once(make: Make, question: Ask) -> None:
    model = make(f"http://127.0.0.1:{free_port()}/v1")
    begun = time.monotonic()
    with pytest.raises(RunError, match=r"cannot be reached(.|\n)*it resumes"):
        model.answer([(None, [question(str(n)) for n in range(500)])])
    assert time.monotonic() - begun < 20


def test_a_server_that_starts_late_is_waited_for(
    chat: ModuleType, make: Make, question: Ask
) -> None:
    port = free_port()
    model = make(f"http://127.0.0.1:{port}/v1", {"backoff_s": 0.3, "max_retries": 5})
    with ExitStack() as later:
        start = chat.serving(lambda body, n: chat.completion("here"), port)
        threading.Timer(0.5, later.enter_context, [start]).start()
        [[reply]] = model.answer([(None, [question("Q")])])
    assert reply.text == "here"


def test_a_server_that_answers_nothing_is_left_alone(
    chat: ModuleType, make: Make, question: Ask
) -> None:
    with chat.serving(lambda body, n: chat.failure(503, "busy")) as server:
        model = make(server.url, {"max_retries": 0, "max_concurrency": 2, "backoff_s": 0.0})
        with pytest.raises(RunError, match=r"answers nothing(.|\n)*busy"):
            model.answer([(None, [question(str(n)) for n in range(200)])])
    assert GIVE_UP_AFTER <= len(server.bodies) <= GIVE_UP_AFTER + 2


def test_what_is_paid_is_kept_when_the_run_ends(
    chat: ModuleType, make: Make, question: Ask
) -> None:
    """A refused key ends the run; the call under way is waited for, and nothing is asked twice."""

    def script(body: dict[str, Any], n: int) -> Any:
        if chat.text_of(body) == "refused":
            return chat.failure(401)
        act = chat.completion("slow")
        act.delay_s = 0.4
        return act

    asked = [(None, [question("slow"), question("refused"), question("never")])]
    with chat.serving(script) as server:
        with pytest.raises(RunError, match="refuses"):
            make(server.url, {"max_concurrency": 2}).answer(asked)
        assert sorted(map(chat.text_of, server.bodies)) == ["refused", "slow"]
        server.script = lambda body, n: chat.completion("new")
        [replies] = make(server.url).answer(asked)
        assert [reply.text for reply in replies] == ["slow", "new", "new"]
        asked_for = [chat.text_of(body) for body in server.bodies]
        assert asked_for.count("slow") == 1


def test_a_question_asked_twice_is_paid_once(chat: ModuleType, make: Make, question: Ask) -> None:
    with chat.serving(lambda body, n: chat.completion(str(n))) as server:
        model = make(server.url)
        [[one, two]] = model.answer([(None, [question("Q"), question("Q")])])
        [[three]] = make(server.url).answer([(None, [question("Q")])])  # another run
        assert one == two == three
        [[other]] = make(server.url, extra_body={"x": 1}).answer([(None, [question("Q")])])
        assert other != one
        assert len(server.bodies) == 2


def test_answers_need_no_key_when_all_are_known(
    chat: ModuleType, make: Make, question: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    with chat.serving(lambda body, n: chat.completion("kept")) as server:
        make(server.url).answer([(None, [question("Q")])])
    monkeypatch.delenv("OPENAI_API_KEY")
    [[reply]] = make(server.url).answer([(None, [question("Q")])])
    assert reply.text == "kept"


def test_the_budget_ends_the_run_before_it_is_overdrawn(
    chat: ModuleType, make: Make, question: Ask
) -> None:
    # A call costs 0.102 USD: 100 + 2 tokens at a tenth of a cent each.
    asked = [(None, [question(f"Question {n}") for n in range(20)])]
    calling = {"usd_per_million": PRICES, "max_usd": 0.5, "max_concurrency": 3}
    with chat.serving(lambda body, n: chat.completion()) as server:
        model = make(server.url, calling)
        with pytest.raises(RunError, match=r"budget is spent(.|\n)*max_usd"):
            model.answer(asked)
        first = len(server.bodies)
        assert first == 4  # a fifth could cost 0.12: 20 tokens may be written
        assert model.calling.budget.spent == pytest.approx(0.102 * first)
        assert model.calling.budget.spent <= 0.5
        more = {**calling, "max_usd": 10.0}
        [replies] = make(server.url, more).answer(asked)
        assert len(server.bodies) == 20
        assert [reply.usd for reply in replies] == pytest.approx([0.102] * 20)


def test_huge_usage_stops_what_follows(chat: ModuleType, make: Make, question: Ask) -> None:
    usage = {"prompt_tokens": 10_000, "completion_tokens": 20}
    calling = {"usd_per_million": PRICES, "max_usd": 12.0, "max_concurrency": 1}
    with (
        chat.serving(lambda body, n: chat.completion(usage=usage)) as server,
        pytest.raises(RunError, match=r"10\.0200 USD are spent"),
    ):
        make(server.url, calling).answer([(None, [question(str(n)) for n in range(5)])])
    assert len(server.bodies) == 1


def test_a_server_that_counts_nothing_is_charged_as_expected(
    chat: ModuleType, make: Make, question: Ask
) -> None:
    act = chat.completion()
    del act.body["usage"]
    calling = {"usd_per_million": PRICES, "max_usd": 0.5, "max_concurrency": 4}
    with (
        chat.serving(lambda body, n: act) as server,
        pytest.raises(RunError, match="budget"),
    ):
        make(server.url, calling).answer([(None, [question(str(n)) for n in range(50)])])
    assert len(server.bodies) == 4  # 101 tokens of prompt and 20 to be written: 0.121 USD each


def test_one_odd_reply_does_not_cost_the_others(
    chat: ModuleType, make: Make, question: Ask
) -> None:
    def script(body: dict[str, Any], n: int) -> Any:
        if chat.text_of(body) == "odd":
            return chat.Act({"choices": [{"message": 3}], "usage": "?"})
        return chat.completion("fine")

    with chat.serving(script) as server:
        [[odd, good]] = make(server.url).answer([(None, [question("odd"), question("good")])])
    assert (odd.status, good.status) == ("model_error", "ok")
