"""A human evaluation from the draw to the table; the toy world's truth plays the people."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

import vbench
from vbench.annotate import set_up
from vbench.annotation.tasks import Task, read_plan
from vbench.cli import main
from vbench.datasets.toy.benchmark import ToyVelociti
from vbench.errors import ConfigError, DataError
from vbench.schema import compose


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    root = tmp_path_factory.mktemp("toy") / "set"
    ToyVelociti(str(root), num_videos=12, render=False).build()
    return [f"dataset.root={root}", "dataset.tests=[agent_bind,chrono,control_t2v]"]


def answer(
    folder: Path, plan: dict[str, Task], error_rate: float
) -> tuple[list[str], dict[str, list[bool]]]:
    """Plays one person per file of tasks; returns the exports, and who was right by test."""
    dice = random.Random(0)
    exports = []
    right: dict[str, list[bool]] = {}
    for file in sorted(folder.glob("human_*.json")):
        rows: list[dict[str, Any]] = json.loads(file.read_text())
        for row in rows:
            task = plan[row["data"]["key"]]
            knows = dice.random() >= error_rate
            choice = "AB"[task.swapped == knows]
            result = [{"from_name": "choice", "type": "choices", "value": {"choices": [choice]}}]
            row["annotations"] = [{"completed_by": file.stem[-1], "result": result}]
            right.setdefault(task.test, []).append(knows)
        export = folder / f"export-{file.name}"
        export.write_text(json.dumps(rows))
        exports.append(str(export))
    return exports, right


def test_people_stand_in_the_table_with_what_they_answered(
    toy: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study = tmp_path / "study"
    words = [*toy, "study=human", f"out={study}", "annotators=3", "per_annotator=6"]
    assert main(["annotate", *words]) == 0
    plan = read_plan(study / "plan.jsonl")
    exports, right = answer(study, plan, error_rate=0.25)
    assert {test: len(cast) for test, cast in right.items()} == dict.fromkeys(right, 18)
    capsys.readouterr()
    assert main(["annotate", str(study), *exports]) == 0
    said = capsys.readouterr().out
    for test, cast in right.items():
        assert f"{sum(cast)} of 18" in next(x for x in said.splitlines() if test in x)
    assert "kappa" not in said  # nobody shared a sample
    run = vbench.evaluate(
        *toy, "model=human", f"model.choices={study}/choices.jsonl", "trainer=cpu", "logger=none",
        "loader.num_workers=0", f"run_dir={tmp_path}/run",
    )  # fmt: skip
    assert run is not None
    for test, cast in right.items():
        found = run.summary["tests"][test]
        assert (found["n"], found["value"]) == (18, pytest.approx(sum(cast) / 18))


def test_overlap_gives_agreement(
    toy: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study = tmp_path / "study"
    words = [*toy, "study=human", f"out={study}", "annotators=2", "per_annotator=6", "overlap=2"]
    assert main(["annotate", *words]) == 0
    exports, _ = answer(study, read_plan(study / "plan.jsonl"), error_rate=0.0)
    assert main(["annotate", str(study), *exports]) == 0
    said = capsys.readouterr().out
    assert "Krippendorff's alpha 1.000" in said
    assert "1 and 2: Cohen's kappa 1.000" in said


def test_quality_control_writes_what_is_kept(toy: list[str], tmp_path: Path) -> None:
    study = tmp_path / "study"
    assert main(["annotate", *toy, "study=captions", f"out={study}", "annotators=1"]) == 0
    plan = read_plan(study / "plan.jsonl")
    rows = json.loads((study / "captions-1.json").read_text())
    assert len(rows) == len(plan)
    for number, row in enumerate(rows):
        verdicts = {"green": "appropriate", "red": "inappropriate" if number < 5 else "appropriate"}
        result = [{"from_name": q, "value": {"choices": [v]}} for q, v in verdicts.items()]
        row["annotations"] = [{"completed_by": 1, "result": result}]
    (study / "export.json").write_text(json.dumps(rows[:-1]))
    assert main(["annotate", str(study), str(study / "export.json")]) == 0
    kept = [json.loads(line)["kept"] for line in (study / "kept.jsonl").read_text().splitlines()]
    assert (kept.count(False), len(kept)) == (5, len(rows) - 1)


def test_what_cannot_be_set_up_says_why(toy: list[str], tmp_path: Path) -> None:
    words = [*toy, f"out={tmp_path}/study"]
    with pytest.raises(DataError, match="nothing to ask"):
        set_up(compose([*words, "study=ivat"], "annotate"))
    set_up(compose([*words, "study=positive"], "annotate"))
    with pytest.raises(ConfigError, match="holds a study already"):
        set_up(compose([*words, "study=positive"], "annotate"))
    with pytest.raises(ConfigError, match="study"):
        compose([*words, "study=other"], "annotate")
