"""A judge behind a server that is down, slow, verbose or wrong: what is counted, asked again."""

from __future__ import annotations

import importlib.util
import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import vbench
from vbench.results.run import Run

NAMES = ["red", "green", "blue", "black"]

_spec = importlib.util.spec_from_file_location(
    "judge_chat_server", Path(__file__).parents[1] / "models/api/chat_server.py"
)
assert _spec is not None
assert _spec.loader is not None
chat = importlib.util.module_from_spec(_spec)
sys.modules[_spec.name] = chat  # its dataclasses look themselves up
_spec.loader.exec_module(chat)


@pytest.fixture
def words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Questions about videos called by colours, answered in words by a scripted model."""
    monkeypatch.syspath_prepend(Path(__file__).parent)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", chat.KEY)
    (tmp_path / "conf/model").mkdir(parents=True)
    named = "_target_: scripted.model.Named\nmind: truthful\n"
    (tmp_path / "conf/model/named.yaml").write_text(named)
    rows = [{"video": name, "question": f"Which colour is film {n}?", "options": NAMES,
             "answer": name} for n, name in enumerate(NAMES)]  # fmt: skip
    (tmp_path / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return [
        "dataset=table", "dataset.file=rows.jsonl", "model=named", "trainer=cpu", "logger=none",
        "loader.num_workers=0", f"paths.cache={tmp_path}/cache", f"run_dir={tmp_path}/run",
        "scorer=llm_judge", "scorer.judge.name=judge", "scorer.judge.calling.max_retries=1",
        "scorer.judge.calling.backoff_s=0.01", "scorer.judge.calling.timeout_s=0.5",
    ]  # fmt: skip


def film(body: dict[str, Any]) -> int:
    """Returns which question a request to the judge is about."""
    told = json.dumps(body)
    return next(n for n in range(len(NAMES)) if f"film {n}" in told)


def run(words: list[str], url: str) -> Run:
    found = vbench.evaluate(*words, f"scorer.judge.base_url={url}")
    assert found is not None
    return found


def test_what_is_no_verdict_is_counted_and_asked_again(words: list[str]) -> None:
    trouble = {
        0: chat.completion('{"maximum probability":"A"}'),
        1: chat.completion("It says green, I am quite sure of that."),
        2: chat.completion('{"maximum probability":"E"}'),
        3: chat.Act(status=500, body={"error": {"message": "overloaded"}}),
    }
    with chat.serving(lambda body, before: trouble[film(body)]) as server:
        port = server.server_address[1]
        first = run(words, server.url)
    assert list(first.records.status) == ["ok", *["not_judged"] * 3]
    assert first.exit_code == 3
    found = first.summary
    assert found["tests"]["table"]["n"] == 1
    bounds = found["coverage"]["incomplete"]["table"]
    assert (bounds["answered"], bounds["n"]) == (1, 4)
    assert (bounds["if_wrong"], bounds["if_right"]) == (0.25, 1.0)

    def right(body: dict[str, Any], before: int) -> Any:
        return chat.completion(json.dumps({"maximum probability": "ABCD"[film(body)]}))

    with chat.serving(right, port) as server:
        second = run(words, server.url)
        assert Counter(map(film, server.bodies)) == {1: 1, 2: 1, 3: 1}
    assert list(second.records.outcome) == ["right"] * 4
    assert second.exit_code == 0
    with chat.serving(right, port) as server:
        run(words, server.url)
        assert not server.bodies


def test_a_judge_that_hangs_costs_its_own_answer_only(words: list[str]) -> None:
    def slow(body: dict[str, Any], before: int) -> Any:
        done = chat.completion(json.dumps({"maximum probability": "ABCD"[film(body)]}))
        done.delay_s = 2.0 if film(body) == 3 else 0.0
        return done

    with chat.serving(slow) as server:
        found = run(words, server.url)
    assert list(found.records.status) == ["ok", "ok", "ok", "not_judged"]
    assert "0.5 s" in found.records.reason.iloc[3]
