"""Each scorer through the whole loop, with models whose answers are known beforehand."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import vbench
from vbench.cli import main
from vbench.errors import ConfigError, DataError
from vbench.results.run import Run

Go = Callable[..., Run]
PAIRS = ("agent_bind", "chrono")
TWO = "dataset.tests=[agent_bind,chrono]"


@pytest.fixture
def go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Go:
    """Runs a command with `model=scripted` or `model=named`, configs of a user's own folder."""
    monkeypatch.syspath_prepend(Path(__file__).parent)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "conf/model").mkdir(parents=True)
    for name in ("Scripted", "Named"):
        text = f"_target_: scripted.model.{name}\nmind: truthful\n"
        (tmp_path / f"conf/model/{name.lower()}.yaml").write_text(text)

    def run(*words: str) -> Run:
        number = len(list(tmp_path.glob("run*")))
        fixed = ["trainer=cpu", "logger=none", "loader.num_workers=0", "loader.cache=false"]
        found = vbench.evaluate(*fixed, f"run_dir={tmp_path}/run{number}", *words)
        assert found is not None
        return found

    return run


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Facts of twelve clips; no model here looks at a frame."""
    root = tmp_path_factory.mktemp("toy") / "set"
    words = [f"dataset.root={root}", "dataset.num_videos=12", "dataset.render=false"]
    assert main(["build", "dataset=velociti/toy", *words]) == 0
    return ["model=scripted", "dataset=velociti/toy", *words]


@pytest.fixture
def questions(tmp_path: Path) -> Callable[..., list[str]]:
    """A table of questions about videos called red, green and blue."""

    def write(options: list[str], kind: str = "mcq") -> list[str]:
        names = ["red", "green", "blue", "red"]
        rows = [{"video": name, "question": "Which colour?", "options": options, "answer": name,
                 "cluster": str(i)} for i, name in enumerate(names) if name in options]  # fmt: skip
        file = tmp_path / "rows.jsonl"
        file.write_text("\n".join(map(json.dumps, rows)))
        return ["model=named", "dataset=table", f"dataset.file={file}", f"dataset.kind={kind}",
                "dataset.cluster=cluster"]  # fmt: skip

    return write


def values(run: Run) -> set[float]:
    return {test["value"] for test in run.summary["tests"].values()}


@pytest.mark.parametrize(
    ("scorer", "more"),
    [("entailment", [TWO]), ("entailment", []), ("entailment", ["metric=strict_vle"]),
     ("entailment", ["scorer.tokens=sum", "prompt=short_entailment"]),
     ("entailment", ["scorer.arithmetic=bf16", "prompt=velociti_v1_owl"]),
     ("caption_likelihood", ["scorer.prior=video_free"]),
     ("pair_choice", [TWO]), ("pair_choice", [TWO, "scorer.read=text"]),
     ("pair_choice", [TWO, "prompt=velociti_v1_gemini"]),
     ("letters", [TWO, "prompt=pair"])],
)  # fmt: skip
def test_a_truthful_model_is_right_everywhere(
    go: Go, toy: list[str], scorer: str, more: list[str]
) -> None:
    run = go(*toy, f"scorer={scorer}", *more)
    assert run.exit_code == 0
    assert values(run) == {1.0}


def test_likelihood_without_a_prior_prefers_what_is_usual(go: Go, toy: list[str]) -> None:
    run = go(*toy, "scorer=caption_likelihood", TWO)
    tests = run.summary["tests"]
    assert tests["agent_bind"]["value"] < 1.0
    assert tests["chrono"]["value"] == 1.0  # both orders of two events are equally usual
    records = run.records
    assert {len(row) for row in records.scores} == {2}
    assert all(-6 < value < 0 for row in records.scores for value in row)


def test_the_prior_is_asked_once_per_text_and_without_a_video(go: Go, toy: list[str]) -> None:
    import pandas as pd

    run = go(*toy, "scorer=caption_likelihood", "scorer.prior=video_free", TWO)
    rows = pd.concat(pd.read_parquet(file) for file in (run.path / "predictions").iterdir())
    replies = rows[rows.kind == "reply"]
    texts = {text for pair in run.records.texts for text in pair}
    assert (replies.video_id == "").sum() == len(texts)


def test_a_model_that_keeps_to_its_letter_ties_in_both_orders(go: Go, toy: list[str]) -> None:
    for read in ("probability", "text"):
        run = go(*toy, "model.mind=first", "scorer=pair_choice", f"scorer.read={read}", TWO)
        for test in PAIRS:
            found, seen = run.summary["tests"][test], run.summary["observed"][test]
            assert (found["value"], found["value_half_ties"]) == (0.0, 0.5)
            assert found["ties"] == found["n"]
            assert seen["first_picked"]["value"] == 1.0
            assert seen["first_picked"]["n"] == found["n"]
            assert (seen["right_shown_first"]["value"], seen["right_shown_second"]["value"]) == (
                1,
                0,
            )
    note = "first_picked in %: agent_bind 100.0 ["
    assert note in (run.path / "tables" / "tests.md").read_text().replace("\\", "")


def test_asked_once_the_dataset_decides_what_is_first(go: Go, toy: list[str]) -> None:
    run = go(*toy, "model.mind=first", "scorer=pair_choice", "scorer.orders=as_given", TWO)
    firsts = run.records.groupby("test").target.apply(lambda target: (target == "0").mean())
    assert {test: run.summary["tests"][test]["value"] for test in PAIRS} == firsts.to_dict()


@pytest.mark.parametrize("scorer", ["entailment", "caption_likelihood", "pair_choice"])
def test_a_model_that_finds_all_equally_probable_ties(go: Go, toy: list[str], scorer: str) -> None:
    run = go(*toy, "model.mind=constant", f"scorer={scorer}", "scorer.per_token=false"
             if scorer == "caption_likelihood" else TWO, TWO)  # fmt: skip
    for test in PAIRS:
        found = run.summary["tests"][test]
        assert (found["value"], found["value_half_ties"]) == (0.0, 0.5)


@pytest.mark.parametrize("scorer", ["option_probability", "letters"])
@pytest.mark.parametrize("prompt", ["options", "videobench/paper", "videobench/clean"])
def test_options_by_letter(
    go: Go, questions: Callable[..., list[str]], scorer: str, prompt: str
) -> None:
    run = go(*questions(["blue", "green", "red"]), f"scorer={scorer}", f"prompt={prompt}")
    assert values(run) == {1.0}
    assert list(run.records.target) == ["2", "1", "0", "2"]


@pytest.mark.parametrize("scorer", ["option_probability", "letters"])
def test_a_text_that_passes_for_the_video_costs_its_sample_only(
    go: Go, questions: Callable[..., list[str]], tmp_path: Path, scorer: str
) -> None:
    words = [*questions(["blue", "green", "red"]), f"scorer={scorer}"]
    file = tmp_path / "rows.jsonl"
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    rows[1]["options"][0] = "a <video> player"
    file.write_text("\n".join(map(json.dumps, rows)))
    run = go(*words)
    assert run.exit_code == 3
    assert list(run.records.status) == ["ok", "model_error", "ok", "ok"]
    assert values(run) == {1.0}
    (failed,) = run.summary["coverage"]["failed"]
    assert failed["reason"] == "<video> would be taken for the video in 'a <video> player'"
    for row in rows:
        row["question"] = "<video>\nWhich colour?"
    file.write_text("\n".join(map(json.dumps, rows)))
    with pytest.raises(DataError, match="every question holds <video>"):
        go(*words)


def test_two_options_may_be_a_pair(go: Go, questions: Callable[..., list[str]]) -> None:
    run = go(*questions(["blue", "red"]), "scorer=pair_choice")
    assert values(run) == {1.0}
    with pytest.raises(ConfigError, match="needs two texts, not 3"):
        go(*questions(["blue", "green", "red"]), "scorer=pair_choice")


@pytest.mark.parametrize(
    ("mind", "status", "rule"),
    [("prose", "unparsed", "nothing_found"), ("constant", "unparsed", "nothing_found"),
     ("refusing", "refused", "")],
)  # fmt: skip
def test_what_is_not_read_is_counted_and_never_guessed(
    go: Go, toy: list[str], mind: str, status: str, rule: str
) -> None:
    run = go(*toy, f"model.mind={mind}", "scorer=letters", "prompt=pair", TWO)
    assert run.exit_code == 3
    assert set(run.records.status) == {status}
    assert set(run.records.rule) == {rule}
    assert set(run.records.outcome) == {"unscored"}
    assert run.summary["tests"] == {}
    assert run.summary["coverage"]["answered"] == 0


def test_a_reply_cut_off_at_its_longest_is_marked(go: Go, toy: list[str]) -> None:
    run = go(*toy, "model.mind=wordy", "scorer=letters", "prompt=pair", TWO)
    for found in run.summary["tests"].values():
        assert found["truncated"] == found["n"]
    assert run.records.response.str.startswith("Based on the video").all()
    assert set(run.records.rule) == {"answer_statement"}


def test_strict_entailment_refuses_scores_that_are_no_probabilities(go: Go, toy: list[str]) -> None:
    for scorer in ("caption_likelihood", "pair_choice", "letters"):
        with pytest.raises(ConfigError, match="StrictVLE cannot read"):
            go(*toy, f"scorer={scorer}", "metric=strict_vle")
