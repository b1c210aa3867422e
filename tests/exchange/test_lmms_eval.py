"""`vbench import lmms-eval`: samples of another harness become a run like any other."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from vbench.cli import main
from vbench.errors import DataError, RunError
from vbench.exchange.lmms_eval import read
from vbench.results.run import load_run

Write = Callable[..., Path]
PROMPT = "Select.\nWhat is thrown?\nA. A ball.\nB. A hat.\nC. A shoe.\nThe best is:"


def sample(doc_id: int, target: str, said: str, video: str = "v1", score: float = 1.0) -> Any:
    told = {"duration": "short", "category": "Sports", "pred_answer": said, "answer": target,
            "score": score, "videoID": video, "question_id": f"q{doc_id}"}  # fmt: skip
    return {"doc_id": doc_id, "target": target, "filtered_resps": [said], "doc_hash": "d",
            "input": PROMPT, "videomme_perception_score": told}  # fmt: skip


@pytest.fixture
def imported(lmms: Write, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    folder = lmms(
        sample(0, "A", "A"),
        sample(1, "B", "The answer is C.", score=0.0),
        sample(2, "C", "I see a park.", "v2", 0.0),
        sample(3, "C", "I think it is the ball: A", "v2", 1.0),
    )
    assert main(["import", "lmms-eval", str(folder), "--out", str(tmp_path / "in")]) == 0
    return Path(capsys.readouterr().out.strip())


def test_the_run_says_what_was_asked_and_answered(imported: Path) -> None:
    run = load_run(imported)
    records = run.records.set_index("sample_id")
    assert list(records["outcome"]) == ["right", "wrong", "unscored", "wrong"]
    assert list(records["status"]) == ["ok", "ok", "unparsed", "ok"]
    assert list(records.loc["0", "texts"]) == ["A ball.", "A hat.", "A shoe."]
    assert list(records["cluster"]) == ["v1", "v1", "v2", "v2"]
    assert records.loc["1", "response"] == "The answer is C."
    test = run.summary["tests"]["videomme"]
    assert (test["value"], test["n"], test["clusters"]) == (pytest.approx(1 / 3), 3, 2)
    assert test["chance"] == pytest.approx(1 / 3)
    assert run.summary["observed"]["videomme"]["theirs"]["value"] == 0.5
    assert "duration=short" in run.summary["tests"]
    assert "category=Sports" in run.summary["tests"]


def test_the_config_names_the_origin_and_assumes_nothing(imported: Path) -> None:
    config = load_run(imported).config
    assert config["origin"]["harness"] == "lmms-eval"
    assert config["origin"]["model"] == "acme__vlm"
    assert config["origin"]["settings"]["model_args"] == "x=1"
    (digest,) = config["origin"]["files"].values()
    assert len(digest) == 64
    assert config["sampler"] == {}
    assert config["trainer"]["precision"] is None


def test_every_command_about_runs_works(
    imported: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = str(imported)
    assert main(["table", run]) == 0
    assert "theirs in %" in capsys.readouterr().out
    assert main(["show", run, "videomme/1"]) == 0
    shown = capsys.readouterr().out
    assert "The answer is C." in shown
    assert "text 2 is right" in shown
    assert main(["status", run, "--json"]) == 0
    told = capsys.readouterr().out
    assert "vbench evaluate" not in told  # nobody can be asked again
    assert json.loads(told)
    assert main(["diff", run, run]) == 0
    assert main(["sheet", run, "--out", str(tmp_path / "sheet.html")]) == 0


def test_two_imports_are_compared_on_the_same_samples(
    lmms: Write, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told = [[sample(n, "A", said, f"v{n}") for n in range(6)] for said in ("A", "B")]
    folders = []
    for name, samples in zip(("good", "bad"), told, strict=True):
        words = ["import", "lmms-eval", str(lmms(*samples)), "--name", name]
        assert main([*words, "--out", str(tmp_path / "in")]) == 0
        folders.append(capsys.readouterr().out.strip())
    assert main(["compare", *folders]) in (0, 3)
    said = capsys.readouterr().out
    assert "videomme" in said
    assert "100.0" in said


def test_equal_questions_with_other_answers_stay_apart(imported: Path) -> None:
    # Samples 0 and 1 are one clip with one prompt: a run of ours would have asked it once.
    from vbench.results.lookup import sample as look_up

    replies = [look_up(imported, f"videomme/{n}")["requests"][0]["reply"]["text"] for n in (0, 1)]
    assert replies == ["A", "The answer is C."]


def test_importing_again_gives_the_same_folder(
    imported: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["import", "lmms-eval", str(tmp_path / "logs"), "--out", str(tmp_path / "in")])
    assert Path(capsys.readouterr().out.strip()) == imported


def test_tasks_of_a_date_are_tests_of_one_run(lmms: Write) -> None:
    mv = {"doc_id": 0, "target": "a hat", "filtered_resps": ["(B) a hat"],
          "input": "Question:What?\nOption:\n(A) a ball\n(B) a hat\nOnly give the best option.",
          "mvbench_accuracy": {"pred_answer": "(B)", "gt_answer": "B", "score": 1}}  # fmt: skip
    lmms(mv, task="mvbench_moving_count")
    folder = lmms(mv, task="mvbench_action_count")
    ((origin, items),) = read(folder)
    assert origin.dataset == "mvbench"
    assert [item.test for item in items] == ["mvbench_action_count", "mvbench_moving_count"]
    assert {item.target for item in items} == {"B"}
    assert [item.theirs for item in items] == [1.0, 1.0]


def test_older_logs_with_the_datasets_row(tmp_path: Path) -> None:
    logs = [
        {"doc_id": 7, "doc": {"question": "Is it red?"}, "target": "yes", "arguments": ["Is it?"],
         "resps": [["Yes."]], "filtered_resps": ["Yes."], "acc": 1.0},
        {"doc_id": 8, "doc": {"question": "Which?", "options": ["A. one", "B. two"], "video": "v"},
         "target": 1, "arguments": [["Which?", {}]], "resps": [[["B"]]], "filtered_resps": [["B"]]},
    ]  # fmt: skip
    file = tmp_path / "old.json"
    file.write_text(json.dumps({"args": {}, "logs": logs}))
    ((origin, items),) = read(file, "mine")
    assert origin.model == "mine"
    assert items[0].options == {"A": "Yes", "B": "No"}
    assert (items[0].target, items[0].theirs) == ("A", 1.0)
    assert items[1].options == {"A": "one", "B": "two"}
    assert (items[1].target, items[1].response, items[1].video) == ("B", "B", "v")
    assert items[1].prompt == "Which?"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", "no valid JSON"),
        ('{"doc_id": 1}', "no sample of lmms-eval"),
        ('{"doc_id": 1, "target": "a cat", "input": "What?"}', "has no options"),
        ('{"doc_id": 1, "target": "Z", "input": "A. a\\nB. b"}', "'Z' is none of the options"),
    ],
)
def test_what_cannot_be_read_is_named(tmp_path: Path, line: str, said: str) -> None:
    file = tmp_path / "x_samples_t.jsonl"
    file.write_text(line)
    with pytest.raises(DataError, match=said):
        list(read(file))


def test_a_folder_without_samples(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="no results"):
        list(read(tmp_path))


def test_unknown_harness_and_twice_the_same_question(
    lmms: Write, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = lmms(sample(0, "A", "A"), sample(0, "A", "B"))
    assert main(["import", "lmms-eval", str(folder)]) == 1
    assert "stands twice" in capsys.readouterr().err
    assert main(["import", "lmms_eval", str(folder)]) == 1
    assert "lmms-eval" in capsys.readouterr().err
    assert main(["import", "lmms-eval", "nowhere"]) == 1
    assert "no such file" in capsys.readouterr().err
