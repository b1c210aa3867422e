"""Whole evaluations against servers on localhost that fail, hang up, die and come back."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pandas as pd
import pytest

import vbench
from vbench.errors import RunError

VIDEOS = 2
TESTS = "dataset.tests=[agent_iden,chrono]"


@pytest.fixture(scope="module")
def toy_set(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("api") / "set"


Words = Callable[..., list[str]]


@pytest.fixture
def words(toy_set: Path, tmp_path: Path) -> Words:
    def build(url: str, *more: str) -> list[str]:
        fixed = [
            "dataset=velociti/toy", f"dataset.root={toy_set}", f"dataset.num_videos={VIDEOS}",
            TESTS, "model=openai_api", "model.name=served", f"model.base_url={url}",
            "model.verify=false", "scorer=pair_choice", "scorer.read=text",
            "model.calling.backoff_s=0.01", "model.calling.max_retries=1",
            f"paths.cache={tmp_path}/cache", f"run_dir={tmp_path}/run", "trainer=cpu",
            "logger=none", "loader.num_workers=0", "loader.cache=false", "loader.batch_size=1",
            "sampler=uniform_midpoints", "sampler.num_frames=2",
        ]  # fmt: skip
        names = [word.partition("=")[0] for word in more]
        return [word for word in fixed if word.partition("=")[0] not in names] + list(more)

    return build


def first_by_alphabet(text: str) -> str:
    """Says A or B: an opinion about captions that does not depend on their order."""
    found = re.search(r"A\) (.*) B\) (.*?)\n", text)
    assert found is not None
    return "A" if found[1] <= found[2] else "B"


def identities(bodies: list[dict[str, Any]]) -> Counter[str]:
    return Counter(json.dumps(body, sort_keys=True) for body in bodies)


def answered_as_expected(records: pd.DataFrame) -> None:
    assert len(records) >= 2 * VIDEOS
    assert set(records.status) == {"ok"}
    for row in records.itertuples():
        first = float(row.texts[0] <= row.texts[1])
        assert list(row.scores) == [first, 1 - first]


def test_a_run_asks_each_question_once_and_leaves_no_key(
    chat: ModuleType, words: Words, tmp_path: Path, key: str,
    capfd: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    with chat.serving(lambda b, n: chat.completion(first_by_alphabet(chat.text_of(b)))) as server:
        run = vbench.evaluate(*words(server.url))
        assert run is not None
        answered_as_expected(run.records)
        assert set(identities(server.bodies).values()) == {1}
        assert len(server.bodies) == 2 * len(run.records)  # both orders
        assert all(len(chat.media_of(body)) == 2 for body in server.bodies)
        # Another run of the same questions pays nothing.
        again = vbench.evaluate(*words(server.url, f"run_dir={tmp_path}/other"))
        assert again is not None
        answered_as_expected(again.records)
        assert set(identities(server.bodies).values()) == {1}
    shown = capfd.readouterr()
    assert key not in shown.out + shown.err
    for file in tmp_path.rglob("*"):
        assert not file.is_file() or key.encode() not in file.read_bytes(), file


class Dying:
    """A server that stops listening after so many answers."""

    def __init__(self, chat: ModuleType, lives: int) -> None:
        self.chat = chat
        self.lives = lives
        self.answered: list[dict[str, Any]] = []
        self._lock = threading.Lock()

    def __call__(self, body: dict[str, Any], before: int) -> Any:
        with self._lock:
            if not self.lives:
                self.server.socket.close()
                return self.chat.Act(drop=True)
            self.lives -= 1
            self.answered.append(body)
        return self.chat.completion(first_by_alphabet(self.chat.text_of(body)))

    server: Any = None


def test_a_server_that_dies_ends_the_run_and_nothing_is_asked_twice(
    chat: ModuleType, words: Words
) -> None:
    dying = Dying(chat, 5)
    with chat.serving(dying) as server:
        dying.server = server
        url, port = server.url, server.server_address[1]
        with pytest.raises(RunError, match=r"cannot be reached(.|\n)*same command again"):
            vbench.evaluate(*words(url))
    dying.lives = 10_000
    with chat.serving(dying, port):
        run = vbench.evaluate(*words(url))
    assert run is not None
    answered_as_expected(run.records)
    assert set(identities(dying.answered).values()) == {1}
    assert len(dying.answered) == 2 * len(run.records)


@pytest.fixture
def process() -> Iterator[list[subprocess.Popen[bytes]]]:
    started: list[subprocess.Popen[bytes]] = []
    yield started
    for one in started:
        if one.poll() is None:
            one.kill()
        one.wait(timeout=300)


def test_a_killed_run_loses_at_most_the_call_under_way(
    chat: ModuleType, words: Words, process: list[subprocess.Popen[bytes]]
) -> None:
    def script(body: dict[str, Any], before: int) -> Any:
        act = chat.completion(first_by_alphabet(chat.text_of(body)))
        act.delay_s = 0.02
        return act

    with chat.serving(script) as server:
        # All files are one step: without the journal, a kill would cost all that was paid.
        told = words(server.url, "model.calling.max_concurrency=1", "loader.batch_size=64",
                     "loader.flush_seconds=1000")  # fmt: skip
        command = [sys.executable, "-m", "vbench", "evaluate", *told]
        process.append(subprocess.Popen(command, env={**os.environ}))
        deadline = time.monotonic() + 120
        while len(server.bodies) < 6 and process[0].poll() is None and time.monotonic() < deadline:
            time.sleep(0.01)
        process[0].send_signal(signal.SIGKILL)
        process[0].wait(timeout=300)
        assert len(server.bodies) >= 6
        run = vbench.evaluate(*told)
        counts = identities(server.bodies)
    assert run is not None
    answered_as_expected(run.records)
    assert len(counts) == 2 * len(run.records)
    assert sum(counts.values()) - len(counts) <= 1


def test_failed_requests_are_asked_again_and_only_they(chat: ModuleType, words: Words) -> None:
    def script(body: dict[str, Any], before: int) -> Any:
        letter = first_by_alphabet(chat.text_of(body))
        return chat.failure(503) if broken and letter == "B" else chat.completion(letter)

    broken = True
    with chat.serving(script) as server:
        run = vbench.evaluate(*words(server.url, "loader.flush_seconds=0"))
        assert run is not None
        assert run.exit_code == 3
        assert set(run.records.status) == {"model_error"}  # one order of each is missing
        assert "HTTP 503" in run.records.reason.iloc[0]
        asked, broken = len(server.bodies), False
        run = vbench.evaluate(*words(server.url))
        assert run is not None
        answered_as_expected(run.records)
        assert len(server.bodies) == asked + len(run.records)


def test_a_spent_budget_ends_the_run_and_more_money_goes_on(chat: ModuleType, words: Words) -> None:
    prices = "model.calling.usd_per_million={input: 1000.0, output: 1000.0}"
    with chat.serving(lambda b, n: chat.completion(first_by_alphabet(chat.text_of(b)))) as server:
        with pytest.raises(RunError, match="budget is spent"):
            vbench.evaluate(*words(server.url, prices, "model.calling.max_usd=2.0"))
        assert 0 < len(server.bodies) < 2 / 0.102
        run = vbench.evaluate(*words(server.url, prices, "model.calling.max_usd=100.0"))
    assert run is not None
    answered_as_expected(run.records)
    assert set(identities(server.bodies).values()) == {1}


def test_a_letter_that_is_not_told_is_unparsed_and_no_zero(chat: ModuleType, words: Words) -> None:
    def script(body: dict[str, Any], before: int) -> Any:
        letter = first_by_alphabet(chat.text_of(body))
        told = chat.log_probs(A=-0.1, B=-3.0) if letter == "A" else chat.log_probs(A=-3.0, C=-0.1)
        return chat.completion(letter, choice={"logprobs": told})

    with chat.serving(script) as server:
        run = vbench.evaluate(*words(server.url, "model.logprobs=true", "scorer.read=probability"))
    assert run is not None
    assert set(run.records.status) == {"unparsed"}  # in one order of each B is not told
    assert run.summary["coverage"]["answered"] == 0


def test_gemini_is_sent_each_file_once_whatever_happens(
    google: ModuleType, words: Words, toy_set: Path
) -> None:
    def script(body: dict[str, Any], before: int) -> Any:
        with lock:
            if len(answered) == lives:
                return google.failure(401, "key expired")
            answered.append(body)
        (text,) = (part["text"] for part in body["contents"][0]["parts"] if "text" in part)
        return google.says(first_by_alphabet(text + "\n"))

    lock, answered, lives = threading.Lock(), [], 5
    with google.serving(script) as server:
        told = words(server.url, "model=gemini", "model.name=gemini-x", "sampler=velociti20")
        kept = [w for w in told if not w.startswith(("model.verify", "sampler.num"))]
        with pytest.raises(RunError, match="GEMINI_API_KEY"):
            vbench.evaluate(*kept)
        lives = 10_000
        run = vbench.evaluate(*kept)
    assert run is not None
    answered_as_expected(run.records)
    assert set(identities(answered).values()) == {1}
    assert len(answered) == 2 * len(run.records)
    assert len(server.uploaded) == len(set(server.uploaded)) == VIDEOS
