"""`vbench score`: another scorer over stored answers, without the model."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import vbench
from vbench.cli import main
from vbench.errors import ConfigError, RunError
from vbench.results.run import Run
from vbench.score import score


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Run]:
    """Runs questions about videos called red, green and blue, answered by a scripted model."""
    monkeypatch.syspath_prepend(Path(__file__).parent / "scorers")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "conf/model").mkdir(parents=True)
    named = "_target_: scripted.model.Named\nmind: truthful\n"
    (tmp_path / "conf/model/named.yaml").write_text(named)
    names = ["red", "green", "blue"]
    rows = [{"video": name, "question": "Which colour?", "options": names, "answer": name}
            for name in names]  # fmt: skip
    (tmp_path / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)))

    def evaluate(*words: str) -> Run:
        found = vbench.evaluate(
            "dataset=table", "dataset.file=rows.jsonl", "model=named", "trainer=cpu",
            "logger=none", "loader.num_workers=0", "loader.cache=false", *words,
        )  # fmt: skip
        assert found is not None
        return found

    return evaluate


def break_model(monkeypatch: pytest.MonkeyPatch) -> None:
    import scripted.model

    def refuse(*unused: object) -> None:
        raise AssertionError("the model was asked")

    monkeypatch.setattr(scripted.model.Scripted, "answer", refuse)


def test_stored_answers_are_read_by_another_scorer(
    run: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    first = run("scorer=letters")
    break_model(monkeypatch)
    again = score(first.path, ["scorer=letters", "scorer.reader=velociti_v2"])
    assert again is not None
    assert again.path != first.path
    assert set(first.records.status) == {"ok"}
    assert set(again.records.status) == {"unparsed"}  # v2's rule wants the bare letter
    assert list(again.records.response) == list(first.records.response)


def test_the_same_words_score_the_run_itself_again(
    run: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    first = run("scorer=letters")
    before = first.records
    break_model(monkeypatch)
    (first.path / "records.parquet").unlink()
    again = score(first.path, [])
    assert again is not None
    assert again.path == first.path
    assert again.records.equals(before)


def test_what_was_not_asked_is_told(run: Callable[..., Run]) -> None:
    first = run("scorer=letters")
    with pytest.raises(RunError, match="3 of 3 answers are not stored") as caught:
        score(first.path, ["scorer=option_probability"])
    assert "vbench evaluate" in caught.value.mend


@pytest.mark.parametrize("word", ["model=toy/clip", "sampler.num_frames=4", "limit=2", "+seed=3"])
def test_what_decides_answers_cannot_change(run: Callable[..., Run], word: str) -> None:
    first = run("scorer=letters")
    with pytest.raises(ConfigError, match="decides the answers"):
        score(first.path, [word])


def test_the_command_prints_tables(
    run: Callable[..., Run], capsys: pytest.CaptureFixture[str]
) -> None:
    first = run("scorer=letters")
    capsys.readouterr()
    assert main(["score", str(first.path), "metric.tie=half"]) == 0
    assert "table" in capsys.readouterr().out
    assert main(["score"]) == 1
    assert "RUN" in capsys.readouterr().err
