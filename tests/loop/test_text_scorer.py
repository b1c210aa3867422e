"""Models that score texts by themselves: planned by text alone, asked in batches, remembered."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch

from vbench.loop.ask import AskBoth, AskTextScorer
from vbench.loop.cache import EmbeddingCache
from vbench.loop.family import ask_for, plan_for
from vbench.loop.plan import FileWork, TextWork
from vbench.loop.recall import Recall, keys_of
from vbench.loop.settings import LoaderSettings
from vbench.records import Clip, Message, Prediction, Request


class Lengths:
    """Scores a text by its length; refuses empty ones."""

    needs = frozenset({"text"})
    tasks = frozenset({"match", "score", "generate"})
    preprocess = None
    most = 10**9

    def __init__(self, name: str = "lengths") -> None:
        self.name = name
        self.asked: list[list[str]] = []

    def identity(self) -> str:
        return self.name

    def score_texts(self, texts: Sequence[str]) -> tuple[list[float], list[bool]]:
        if "" in texts:
            raise ValueError("an empty\ntext")
        if len(texts) > self.most:
            raise torch.OutOfMemoryError("too many texts")
        self.asked.append(list(texts))
        return [float(len(text)) for text in texts], [len(text) > 3 for text in texts]


class Speaks(Lengths):
    """Also answers questions."""

    def answer(self, asked: Any) -> Any:
        raise NotImplementedError


class Digest:
    def digest(self) -> str:
        raise AssertionError("what text scorers see depends on no frame")


REQUESTS = [
    Request((Clip(name, f"/nowhere/{name}.mp4", start, start + 4),), text)
    for name in "ab"
    for start in (0.0, 6.0)
    for text in ("x", "longer", "x")
]


def plan(model: Lengths, requests: Sequence[Request] = REQUESTS, precision: str = "32-true") -> Any:
    def hash_file(path: Path) -> str:
        raise AssertionError("a file was opened")

    return plan_for(model, requests, Digest(), precision, hash_file)


@pytest.mark.parametrize("model", [Lengths(), Speaks()])
def test_a_text_is_planned_once_whatever_clip_it_stands_beside(model: Lengths) -> None:
    made = plan(model)
    assert list(made.texts.values()) == ["x", "longer"]
    assert len(made.all_keys()) == 2
    assert set(made.keys) == set(REQUESTS)
    assert made.keys[REQUESTS[0]] == made.keys[REQUESTS[-1]]
    assert made.files == {}


def test_model_precision_and_text_are_in_the_key() -> None:
    base = plan(Lengths()).all_keys()
    assert plan(Lengths()).all_keys() == base
    assert not plan(Lengths("other")).all_keys() & base
    assert not plan(Lengths(), precision="bf16-true").all_keys() & base


def test_a_language_model_without_files_is_planned_by_question_when_asked_one() -> None:
    asked = [Request(r.clips, message=Message(f"Is it so? {r.text}")) for r in REQUESTS]
    made = plan(Speaks(), asked)
    assert not made.texts
    (work,) = made.work((), 64)
    assert isinstance(work, FileWork)
    assert len(work.asks) == 2


def test_texts_are_asked_together_and_a_bad_one_alone() -> None:
    model = Lengths()
    model.most = 2
    work = [TextWork((("a", "x"), ("b", "xyzw"))), TextWork((("c", ""), ("d", "xy")))]
    rows = {row.key: row for row in AskTextScorer(model)(work, torch.device("cpu"), torch.float32)}
    assert {key: row.score for key, row in rows.items()} == {"a": 1, "b": 4, "c": None, "d": 2}
    assert [rows[key].truncated for key in "abd"] == [False, True, False]
    assert (rows["c"].status, rows["c"].reason) == ("model_error", "ValueError: an empty text")
    assert model.asked == [["x", "xyzw"], ["xy"]]


def test_who_does_both_is_asked_both_ways() -> None:
    settings = LoaderSettings()
    assert isinstance(ask_for(Speaks(), settings), AskBoth)
    assert isinstance(ask_for(Lengths(), settings), AskTextScorer)
    rows = ask_for(Speaks(), settings)(
        [TextWork((("a", "x"),))], torch.device("cpu"), torch.float32
    )
    assert [(row.key, row.score) for row in rows] == [("a", 1.0)]


def test_scores_are_shared_between_runs(tmp_path: Path) -> None:
    made = plan(Lengths())
    keys = keys_of(made.work((), 64))
    recall = Recall(made, EmbeddingCache(tmp_path / "cache.sqlite"))
    rows = [
        Prediction(key, "text", "ok", score=0.25 + n, truncated=bool(n))
        for n, key in enumerate(keys)
    ]
    recall.keep(rows)
    again = Recall(plan(Lengths()), EmbeddingCache(tmp_path / "cache.sqlite"))
    found = again.rows(keys)
    assert [(r.key, r.kind, r.status, r.score, r.truncated, r.embedding) for r in found] == [
        (r.key, "text", "ok", r.score, r.truncated, None) for r in rows
    ]
    assert again.account(keys, keys)["text score"]["found"] == 2
