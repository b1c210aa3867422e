import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from vbench.datasets.velociti.vidsitu.journal import Journal, Reply, question_key
from vbench.errors import ConfigError, DataError, ModelError


def report(root: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((root / "build_report.json").read_text())
    return found


def reasons(root: Path) -> dict[str, int]:
    return {reason: of["count"] for reason, of in report(root)["building"].items()}


def files(root: Path) -> dict[str, str]:
    return {file.name: file.read_text() for file in sorted((root / "data").glob("*.json"))}


def test_a_good_endpoint_is_asked_greedily_and_once(
    endpoint: Any, few_labels: Path, tmp_path: Path
) -> None:
    endpoint.dataset(tmp_path / "set", few_labels, num_videos=3).build()
    assert not any(reason.startswith("rejected") for reason in reasons(tmp_path / "set"))
    asked = [json.dumps(body["messages"]) for body in endpoint.bodies]
    assert max(Counter(asked).values()) == 1
    for body in endpoint.bodies:
        assert (body["temperature"], body["top_p"], body["top_k"]) == (0, 1, 1)
    spent = report(tmp_path / "set")["language_model"]
    assert spent["asked"] == len(asked)
    assert spent["tokens_out"] == 3 * len(asked)


def test_a_second_build_asks_nothing(endpoint: Any, few_labels: Path, tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    journal = str(tmp_path / "answers.jsonl")
    endpoint.dataset(one, few_labels, num_videos=3, journal=journal).build()
    asked = len(endpoint.bodies)
    assert asked > 50
    endpoint.dataset(two, few_labels, num_videos=3, journal=journal).build()
    assert len(endpoint.bodies) == asked
    assert files(one) == files(two)
    assert report(two)["language_model"]["recalled"] == asked
    # Another model is another question.
    other = endpoint.dataset(tmp_path / "three", few_labels, num_videos=3, journal=journal)
    other.llm_model = "other"
    other.build()
    assert len(endpoint.bodies) == 2 * asked


def garbled(kind: str, text: str) -> Any:
    """Spoils the answers of one kind for good, repaired or not."""
    from_good: list[Any] = []

    def script(question: Any) -> Any:
        return text if question.kind == kind else from_good[0](question)

    return script, from_good


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ("Lorem ipsum dolor.", "no JSON object"),
        ("", "an empty answer"),
        ('{"replacement": "boldly", "capt', "half a JSON object"),
        ('{"replacement": "boldly", "caption": }', "JSON that cannot be read"),
        ('{"replacement": "boldly"}', "a key is missing or empty"),
        ('{"replacement": ["boldly"], "caption": "x"}', "a key is missing or empty"),
        ("I'm sorry, but I can't help with that.", "refused"),
        ('{"replacement": "boldly", "caption": "Somebody boldly goes."}', None),
    ],
)
def test_garbage_is_counted_by_reason(
    answer: str, reason: str | None, endpoint: Any, few_labels: Path, tmp_path: Path
) -> None:
    script, good = garbled("manner", answer)
    good.append(endpoint.script)
    endpoint.script = script
    root = tmp_path / "set"
    endpoint.dataset(root, few_labels, num_videos=2).build()
    expected = reason or "the agent is not in the caption"
    rejected = {r: n for r, n in reasons(root).items() if r.startswith("rejected")}
    assert set(rejected) == {f"rejected, manner: {expected}"}
    asked = Counter(json.dumps(body["messages"][:2]) for body in endpoint.bodies)
    (count,) = rejected.values()
    # Each was sent back once, except refusals.
    assert sum(n == 2 for n in asked.values()) == (0 if reason == "refused" else count)
    assert not (root / "data/action_mod.json").is_file()
    assert (root / "data/action_adv.json").is_file()
    assert expected in (root / "DATASHEET.md").read_text()


@pytest.mark.parametrize(
    ("kind", "spoil", "reason"),
    [
        ("manner", lambda q, a: a | {"caption": q.caption}, "the true filler is still there"),
        (
            "manner",
            lambda q, a: a | {"replacement": f"very {min(q.used)}"},
            "the replacement is a manner of the video, or part of one",
        ),
        (
            "manner",
            lambda q, a: a | {"replacement": "like a cat"},
            "the replacement is not in the caption",
        ),
        (
            "verb",
            lambda q, a: a | {"replacement": f"{max(q.used)} away"},
            "the adversarial verb occurs in the video",
        ),
        (
            "verb",
            lambda q, a: a | {"caption": f"Elsewhere, {q.label('Arg0')} is {a['replacement']}ing."},
            None,
        ),
        (
            "positive",
            lambda q, a: a | {"caption": "Somebody does."},
            "the agent is not in the caption",
        ),
        ("positive", lambda q, a: a | {"caption": a["caption"] * 20}, "the caption is too long"),
    ],
)
def test_a_slip_is_repaired_once(
    kind: str, spoil: Any, reason: str | None, endpoint: Any, few_labels: Path, tmp_path: Path
) -> None:
    good, told = endpoint.script, []

    def script(question: Any) -> str:
        answer = json.loads(good(question))
        spoilt = question.kind == kind and question.attempt == 1
        told.append(question)
        return json.dumps(spoil(question, answer) if spoilt else answer)

    endpoint.script = script
    endpoint.dataset(tmp_path / "set", few_labels, num_videos=2).build()
    found = reasons(tmp_path / "set")
    assert found["an answer was repaired"] == sum(q.attempt == 2 for q in told) > 0
    assert not any(r.startswith("rejected") for r in found)
    complaints = [b["messages"][3]["content"] for b in endpoint.bodies if len(b["messages"]) > 2]
    assert complaints
    # And for good, if it comes again.
    endpoint.script = lambda q: (
        json.dumps(spoil(q, json.loads(good(q)))) if q.kind == kind else good(q)
    )
    again = endpoint.dataset(tmp_path / "again", few_labels, num_videos=2)
    again.llm_model = "stubborn"
    try:
        again.build()
    except DataError as error:  # without positives there is nothing to build
        assert kind == "positive"
        assert f"rejected, positive: {reason}" in str(error)
    else:
        rejected = [r for r in reasons(tmp_path / "again") if r.startswith("rejected")]
        assert rejected == [f"rejected, {kind}: {reason or 'more was changed than the one thing'}"]


def test_the_old_agent_must_go(endpoint: Any, few_labels: Path, tmp_path: Path) -> None:
    good = endpoint.script
    seen: dict[str, str] = {}

    def script(question: Any) -> str:
        # Whoever acts now: the first agent told of this action is named beside the new one.
        answer = json.loads(good(question))
        if question.kind == "positive":
            rest = json.dumps({k: v for k, v in question.labels.items() if "Arg0" not in k})
            first = seen.setdefault(rest, question.label("Arg0"))
            if first != question.label("Arg0"):
                answer["caption"] = answer["caption"].removesuffix(".") + f" beside {first}."
        return json.dumps(answer)

    endpoint.script = script
    endpoint.dataset(tmp_path / "set", few_labels, num_videos=3).build()
    found = reasons(tmp_path / "set")
    assert found["rejected, another agent: the old agent is still there"] > 0


def test_an_endpoint_out_of_order_is_explained_and_nothing_is_paid_twice(
    endpoint: Any, few_labels: Path, tmp_path: Path
) -> None:
    good, lock, calls = endpoint.script, threading.Lock(), iter(range(10_000))
    paid = Counter[str]()

    def shaky(question: Any) -> Any:
        with lock:
            if next(calls) % 9 == 3:
                return 503, '{"error": {"message": "busy"}}'
            paid[repr(question)] += 1
        return good(question)

    endpoint.script = shaky
    root, ends = tmp_path / "set", 0
    while not root.exists():
        try:
            endpoint.dataset(root, few_labels, num_videos=3, llm_parallel=1).build()
        except ModelError as error:
            ends += 1
            assert "questions got no answer" in str(error)
            assert "busy" in str(error)
            assert "only these are asked" in error.mend
            assert not root.exists()
    assert 1 < ends < 10
    assert set(paid.values()) == {1}
    endpoint.script = good
    endpoint.dataset(tmp_path / "calm", few_labels, num_videos=3).build()
    assert files(tmp_path / "calm") == files(root)


def test_retries_are_enough_for_an_endpoint_that_is_busy_now_and_then(
    endpoint: Any, few_labels: Path, tmp_path: Path
) -> None:
    good, seen = endpoint.script, Counter[str]()

    def busy(question: Any) -> Any:
        key = repr(question)
        seen[key] += 1
        return (429, '{"error": {"message": "slower"}}') if seen[key] == 1 else good(question)

    endpoint.script = busy
    endpoint.dataset(tmp_path / "set", few_labels, num_videos=2, llm_attempts=2).build()
    assert set(seen.values()) == {2}


@pytest.mark.parametrize(
    ("status", "body", "says"),
    [
        (
            500,
            '{"error": {"message": "boom"}}',
            ["5 times in a row", "boom", "nothing is asked twice"],
        ),
        (400, '{"error": {"message": "too long"}}', ["5 times in a row", "refuses the question"]),
        (401, '{"error": {"message": "bad key"}}', ["it refuses the key", "OPENAI_API_KEY"]),
        (404, '{"error": {"message": "no model"}}', ["knows no such model", "dataset.llm_model"]),
        (200, '{"choices": [{"mess', ["5 times in a row"]),
        (200, '"<html>"', ["5 times in a row", "no completion"]),
    ],
)
def test_a_dead_endpoint_ends_the_build_with_an_explanation(
    status: int, body: str, says: list[str], endpoint: Any, few_labels: Path, tmp_path: Path
) -> None:
    endpoint.script = lambda _: (status, body)
    with pytest.raises(ModelError) as caught:
        endpoint.dataset(tmp_path / "set", few_labels).build()
    for part in says:
        assert part in str(caught.value)
    assert len(endpoint.bodies) < 20
    assert not (tmp_path / "set").exists()


def test_nobody_listens(endpoint: Any, few_labels: Path, tmp_path: Path) -> None:
    dataset = endpoint.dataset(tmp_path / "set", few_labels)
    dataset.llm_url = "http://127.0.0.1:9/v1"
    with pytest.raises(ModelError, match="Connection error"):
        dataset.build()


@pytest.mark.parametrize(
    ("status", "body"),
    [(400, '{"error": {"message": "unknown parameter: top_k"}}'), (422, "")],
)
def test_top_k_is_dropped_where_it_is_not_known(
    status: int, body: str, endpoint: Any, few_labels: Path, tmp_path: Path
) -> None:
    good = endpoint.script
    endpoint.script = lambda q: (status, body) if "top_k" in endpoint.bodies[-1] else good(q)
    endpoint.dataset(tmp_path / "set", few_labels, num_videos=2, llm_parallel=1).build()
    assert sum("top_k" in body for body in endpoint.bodies) == 1


def test_settings_that_are_missing(
    endpoint: Any, few_labels: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dataset = endpoint.dataset(tmp_path / "set", few_labels)
    dataset.llm_url = None
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    with pytest.raises(ConfigError, match="needs a key"):
        dataset.build()
    dataset.llm_model = None
    with pytest.raises(ConfigError, match="no language model is named"):
        dataset.build()


KILLED = """
import sys
from vbench.datasets.velociti.vidsitu.dataset import FromVidsitu
root, labels, url = sys.argv[1:]
FromVidsitu(root, labels, num_videos=3, captions="llm", llm_model="scripted", llm_url=url,
            llm_parallel=1, llm_attempts=1).build()
"""


def test_a_killed_build_pays_for_nothing_twice(
    endpoint: Any, few_labels: Path, tmp_path: Path
) -> None:
    root, journal = tmp_path / "set", tmp_path / "set.journal.jsonl"
    words = [sys.executable, "-c", KILLED, str(root), str(few_labels), endpoint.url]
    good, enough = endpoint.script, threading.Event()

    def slow(question: Any) -> str:
        if len(endpoint.bodies) > 20:
            enough.set()
            time.sleep(0.2)
        answer: str = good(question)
        return answer

    endpoint.script = slow
    process = subprocess.Popen(words, stderr=subprocess.DEVNULL)
    assert enough.wait(300)
    process.send_signal(signal.SIGKILL)
    process.wait(timeout=300)
    kept = journal.read_bytes()
    assert kept.count(b"\n") >= 20
    journal.write_bytes(kept[: len(kept) - 40])  # as if killed while writing
    endpoint.script = good
    subprocess.run(words, check=True, stderr=subprocess.DEVNULL, timeout=300)
    asked = Counter(json.dumps(body["messages"]) for body in endpoint.bodies)
    # Twice: the answer whose line was torn, and the one under way when the process was killed.
    assert sum(n - 1 for n in asked.values()) <= 2
    assert report(root)["language_model"]["journal_lines_broken"] == 1
    lines = journal.read_bytes().splitlines()
    assert len([line for line in lines if line.endswith(b"}")]) == len(asked)


def test_the_journal_reads_what_it_can(tmp_path: Path) -> None:
    file, model = tmp_path / "j.jsonl", {"model": "m"}
    asked = (("user", "a"), ("user", "b"), ("user", "ü"))
    keys = [question_key(model, (message,)) for message in asked]
    assert len(set(keys)) == 3
    with Journal(file) as journal:
        for key, message in zip(keys, asked, strict=True):
            journal.add(key, model, (message,), Reply(message[1]))
    whole = file.read_bytes()
    first, second, third = whole.splitlines(keepends=True)
    file.write_bytes(first + b"\xff garbage\n[1]\n" + third + second[:30])
    with Journal(file) as journal:
        assert journal.broken == 3
        assert [journal.get(key) for key in keys] == [Reply("a"), None, Reply("ü")]
        journal.add(keys[1], model, (asked[1],), Reply("b"))
        with pytest.raises(DataError, match="another build is writing it"), Journal(file):
            pass
    with Journal(file) as journal:
        assert [journal.get(key) for key in keys] == [Reply("a"), Reply("b"), Reply("ü")]
        assert journal.broken == 3
    assert file.read_bytes().startswith(first)


def test_an_answer_that_cannot_be_stored_is_an_error(tmp_path: Path) -> None:
    if not os.path.exists("/dev/full"):  # noqa: PTH110
        pytest.skip("no /dev/full here")
    (tmp_path / "full").symlink_to("/dev/full")
    journal = Journal(tmp_path / "full")
    journal._descriptor = os.open(tmp_path / "full", os.O_WRONLY)
    with pytest.raises(DataError, match="cannot be stored"):
        journal.add("k", {}, (), Reply("x"))
    journal._close()
