"""`vbench export`: Video-Bench's own files, against the fields that its scripts read."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from vbench.cli import main
from vbench.exchange.foreign import Item, Origin, write_run

OPTIONS = {"A": "a cat", "B": "a dog", "D": "a cow", "C": "a hen"}
"""As MSVD 45437 has them: not in order."""


def item(test: str, qid: str, target: str, said: str | None) -> Item:
    prompt = f"What is it? A.a cat B.a dog D.a cow C.a hen ({qid})"
    return Item(test, qid, "What is it?", OPTIONS, target, said, prompt, video=f"vid{qid}")


@pytest.fixture
def run(tmp_path: Path) -> Path:
    items = [
        item("MSVD", "45437", "D", "D"),
        item("MSVD", "2", "A", "B"),
        item("MSVD", "3", "A", "no idea"),
        item("TVQA", "4", "C", "C. a hen"),
        item("MV", "5", "C", "C"),
        item("NBA", "6", "C", "A"),
    ]
    return write_run(items, Origin("test", "m", "videobench/all", {"f": "0"}), tmp_path)


def test_files_of_steps_one_and_three(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", str(run)]) == 0
    folder = Path(capsys.readouterr().out.strip())
    assert folder == run / "export"
    names = {file.name for file in folder.iterdir()}
    assert names == {
        "MSVD_eval.json", "TVQA_eval.json", "MV_eval.json", "NBA_eval.json",
        "Video-Bench-Input.json", "result.csv", "result_strict.csv",
    }  # fmt: skip
    one = json.loads((folder / "MSVD_eval.json").read_text())
    assert list(one) == ["45437", "2", "3"]
    assert one["45437"] == {
        "video_id": "vid45437",
        "question": "What is it? A.a cat B.a dog D.a cow C.a hen (45437)",
        "output_sequence": "D",
    }
    merged = json.loads((folder / "Video-Bench-Input.json").read_text())
    assert list(merged) == ["MSVD", "TVQA", "MV", "NBA"]
    chosen = {qid: of["output_chatgpt_choice"] for qid, of in merged["MSVD"].items()}
    assert chosen == {"45437": "D", "2": "B", "3": ""}
    assert set(merged["TVQA"]["4"]) == {
        "video_id", "question", "output_sequence", "output_chatgpt_choice",
    }  # fmt: skip
    assert merged["TVQA"]["4"]["output_sequence"] == "C. a hen"


def test_the_official_columns(run: Path, tmp_path: Path) -> None:
    assert main(["export", str(run), "--format=videobench", "--out", str(tmp_path / "e")]) == 0
    (legacy,) = csv.DictReader((tmp_path / "e/result.csv").read_text().splitlines())
    (strict,) = csv.DictReader((tmp_path / "e/result_strict.csv").read_text().splitlines())
    assert ",".join(legacy) == (
        "Avg. All,Avg. Video-Exclusive,Avg. Prior-Knowledge QA,Avg. Decision-Making,ActivityNet,"
        "MSVD,MSRVTT,TGIF,Youcook2,Ucfcrime,MOT,TVQA,MV,NBA,Driving-exam,Driving-decision-making,"
        "SQA3D"
    )
    assert (float(legacy["MSVD"]), float(strict["MSVD"])) == (0.5, pytest.approx(1 / 3))
    assert float(legacy["Avg. Prior-Knowledge QA"]) == pytest.approx(200 / 3, abs=1e-4)
    # What lacks a dataset has no official average.
    assert legacy["Avg. All"] == legacy["Avg. Video-Exclusive"] == legacy["MOT"] == ""


def test_a_run_on_other_questions_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = write_run([item("other", "1", "A", "A")], Origin("t", "m", "d", {"f": "1"}), tmp_path)
    assert main(["export", str(other)]) == 1
    assert "asked nothing of Video-Bench" in capsys.readouterr().err
    assert main(["export", str(other), "--format=xml"]) == 1
    assert "use videobench" in capsys.readouterr().err
