"""Where answers were made: kept with them, told once per place, read back as facts of the run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from vbench.records import Prediction, Reply
from vbench.results.environment import AnsweredHere, read_environment, write_environment
from vbench.results.pace import _device
from vbench.results.store import RunFolder

LAPTOP = {"packages": {"torch": "2.5"}, "gpu": None, "git": None}
SERVER = {"packages": {"torch": "2.9", "av": "14"}, "gpu": "X1", "git": {"commit": "c"}}


class Model:
    module = torch.nn.Linear(1, 1, dtype=torch.bfloat16)


def pair(key: str, **more: Any) -> Prediction:
    return Prediction(key, "pair", "ok", score=0.5, **more)


@pytest.fixture
def at(monkeypatch: pytest.MonkeyPatch) -> Any:
    def move(place: dict[str, Any]) -> None:
        monkeypatch.setattr("vbench.results.environment.machine", lambda: place)

    return move


def test_each_place_stands_once_and_a_reader_adds_none(at: Any, tmp_path: Path) -> None:
    at(SERVER)
    here = AnsweredHere(RunFolder(tmp_path), Model(), "cuda", 2)
    here.write_predictions([pair("a")], 0)
    here.write_predictions([pair("b")], 1)
    at(LAPTOP)
    AnsweredHere(RunFolder(tmp_path), Model(), "cpu", 1).write_predictions([pair("c")], 0)
    at({"gpu": "nobody's", "git": None})
    write_environment(RunFolder(tmp_path), {"precision": "bf16-true"})
    told = json.loads((tmp_path / "environment.json").read_text())
    assert told["precision"] == "bf16-true"
    assert told["scored_by"]["git"] is None
    own = {"weight_dtype": "bfloat16", "tf32": told["answered"][0]["tf32"]}
    assert told["answered"] == [
        {**SERVER, **own, "device": "cuda", "devices": 2},
        {**LAPTOP, **own, "device": "cpu", "devices": 1, "tf32": False},
    ]


def test_what_failed_or_came_from_elsewhere_was_not_answered_here(at: Any, tmp_path: Path) -> None:
    at(LAPTOP)
    folder = RunFolder(tmp_path)
    here = AnsweredHere(folder, Model(), "cpu", 1)
    here.write_predictions([Prediction("a", "pair", "oom")], 0)
    here.write_predictions([], 0)
    folder.write_predictions([pair("b")])  # as from the cache
    assert folder.made() == []
    here.write_predictions([Prediction("c", "pair", "oom"), pair("d")], 0)
    assert [place["device"] for place in folder.made()] == ["cpu"]
    assert set(folder.new_predictions()) == set("abcd")


def test_a_language_model_says_itself_what_it_computed_in(at: Any, tmp_path: Path) -> None:
    at(LAPTOP)
    folder = RunFolder(tmp_path)
    reply = Prediction("a", "pair", "ok", reply=Reply(dtype="float16"))
    AnsweredHere(folder, Model(), "cpu", 1).write_predictions([reply], 0)
    assert folder.made()[0]["weight_dtype"] == "float16"


def test_one_place_is_read_as_facts_of_the_run_and_several_beside_each_other(
    at: Any, tmp_path: Path
) -> None:
    assert read_environment(tmp_path) == {}
    assert _device(tmp_path) == "an unknown device"
    at(SERVER)
    AnsweredHere(RunFolder(tmp_path), Model(), "cuda", 1).write_predictions([pair("a")], 0)
    write_environment(RunFolder(tmp_path), {"model": "m"})
    facts = read_environment(tmp_path)
    assert (facts["model"], facts["gpu"], facts["git.commit"]) == ("m", "X1", "c")
    assert facts["devices"] == 1
    assert _device(tmp_path) == "X1"
    at(LAPTOP)
    AnsweredHere(RunFolder(tmp_path), Model(), "cpu", 1).write_predictions([pair("b")], 0)
    write_environment(RunFolder(tmp_path), {"model": "m"})
    facts = read_environment(tmp_path)
    assert facts["gpu"] == "X1 | none"
    assert facts["packages.torch"] == "2.9 | 2.5"
    assert facts["packages.av"] == "14 | none"
    assert (facts["weight_dtype"], facts["devices"]) == ("bfloat16", 1)
    assert _device(tmp_path) == "cuda | cpu"


def test_an_imported_run_has_what_it_was_given(tmp_path: Path) -> None:
    (tmp_path / "environment.json").write_text('{"origin": "elsewhere"}')
    assert read_environment(tmp_path) == {"origin": "elsewhere"}
