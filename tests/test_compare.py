"""`vbench compare` on runs of the toy world."""

from __future__ import annotations

import csv
import io
import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from vbench.cli import main
from vbench.exchange.foreign import Item, Origin, write_run
from vbench.metrics.outcomes import OTHER_RULE, REGROUPED
from vbench.metrics.videobench import LEVELS
from vbench.records import Sample, Score
from vbench.results.graded import graded, read_scores
from vbench.results.pairing import settings_apart
from vbench.results.run import load_run
from vbench.results.statistics import summary
from vbench.results.videobench.printed import DATASETS

Evaluate = Callable[..., Path]
ROWS = [
    {
        "id": str(i),
        "video": f"{i // 2}.mp4",
        "positive": f"cat {i}",
        "negative": "dog",
        "hue": "ab"[i % 2],
    }
    for i in range(60)
]


@pytest.fixture(scope="module")
def runs(evaluate_rows: Evaluate) -> list[str]:
    grouped = "dataset.group_by=[hue]"
    ways = ([], ["model.seed=1"], ["model=oracle/constant", "metric.tie=half"])
    return [str(evaluate_rows(ROWS, grouped, *way)) for way in ways]


def told(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    assert main(["compare", *words, "--json"]) == 0
    return json.loads(capsys.readouterr().out, parse_constant=pytest.fail)


def test_two_runs(runs: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    found = told(capsys, *runs[:2], "--all-rows")
    assert [test["test"] for test in found["tests"]] == ["table", "hue=a", "hue=b"]
    whole = found["tests"][0]
    right = [
        pd.read_parquet(f"{run}/records.parquet").set_index("sample_id").outcome.eq("right")
        for run in runs[:2]
    ]
    assert whole["wins"] == int((right[0] & ~right[1]).sum())
    assert whole["losses"] == int((right[1] & ~right[0]).sum())
    assert whole["difference"] == pytest.approx(right[0].mean() - right[1].mean())
    assert (whole["n"], whole["clusters"]) == (60, 30)
    assert found["family"]["comparisons"] == 3
    assert found["settings"] == found["warnings"] == []  # a seed of the model is the model's
    assert whole["verdict"].startswith("not shown (")


def test_other_settings_are_named(runs: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    found = told(capsys, *runs)
    assert found["settings"] == [{"name": "metric.tie", "values": ["strict", "strict", "half"]}]
    assert found["warnings"] == ["warning: metric.tie is not the same: A strict, B strict, C half"]
    assert len(found["tests"]) == 2
    assert main(["compare", *runs, "--format=csv"]) == 0
    said = capsys.readouterr()
    assert "metric.tie is not the same" in said.err
    lines = list(csv.DictReader(io.StringIO(said.out)))
    assert {line["column"] for line in lines} == {"value_a", "value_b", "difference", "verdict"}


def test_all_and_items(runs: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    words = [*runs[:2], "--all", "--items", "--detect=2", "--limit=5"]
    found = told(capsys, *words)
    whole = found["tests"][0]
    assert all(0 < whole[p] <= 1 for p in ("mcnemar_p", "bootstrap_p", "sign_flip_p"))
    assert whole["needed"]["sources"] > 30
    one = next(agreement for agreement in found["agreement"] if agreement["test"] is None)
    assert one["same"] == pytest.approx(1 - (whole["wins"] + whole["losses"]) / 60)
    assert found["disagreements"]["n"] == whole["wins"] + whole["losses"]
    assert len(found["hardest"]) == 5
    assert found["hardest"][0]["right"] == 0
    for form, sign in (("terminal", "│"), ("latex", "\\toprule"), ("html", "<caption>")):
        assert main(["compare", *words, "--format", form]) == 0
        text = capsys.readouterr().out
        assert sign in text
        assert text.count("Agreement, all tests together") == 1
        assert "sources for 2 points" in " ".join(text.split()) or form == "terminal"


def test_a_family_and_a_rival_may_be_named(
    runs: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    found = told(capsys, *runs[:2], "--tests=hue=a")
    assert found["family"] | {"level": 0.05} == {
        "correction": "holm", "level": 0.05, "comparisons": 1, "tests": ["hue=a"],
        "left_out": {}, "against": "named",
    }  # fmt: skip
    assert found["tests"][0]["p_holm"] == found["tests"][0]["p"]
    found = told(capsys, runs[0], runs[2], "--against", runs[1])
    assert {test["b"] for test in found["tests"]} == {"C"}
    assert found["runs"][2]["path"] == runs[1]


def test_rows_that_show_others_again_are_left_out_by_name(
    runs: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = told(capsys, *runs[:2])
    assert [test["test"] for test in found["tests"]] == found["family"]["tests"] == ["table"]
    assert found["family"]["left_out"] == dict.fromkeys(("hue=a", "hue=b"), REGROUPED)
    assert found["tests"][0]["p_holm"] == found["tests"][0]["p"]
    # Thirteen tests and the score of all; with levels and the official count it would be 34.
    pair = [write_run(questions(n), Origin("x", n, "y", {n: n}), tmp_path) for n in "ab"]
    assert main(["compare", *map(str, pair), "--format=markdown"]) == 0
    said = capsys.readouterr().out
    assert f"Holm over 14 comparisons, level 0.05: 14 tests: {', '.join(DATASETS)}, final" in said
    how = "not compared (--all-rows compares them as well, --tests those that it names): "
    assert f"{how}{REGROUPED}: {', '.join(LEVELS)}\n" in said
    assert f"{how}{OTHER_RULE}: {', '.join(f'{name}_legacy' for name in DATASETS)}" in said
    assert main(["compare", *map(str, pair), "--all-rows", "--format=markdown"]) == 0
    said = capsys.readouterr().out
    assert "Holm over 34 comparisons" in said
    assert how not in said


def test_names_of_rows_may_hold_commas(
    evaluate_rows: Evaluate, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [row | {"hue": "a, b" if row["hue"] == "b" else "a"} for row in ROWS]
    pair = [
        str(evaluate_rows(rows, "dataset.group_by=[hue]", f"model.seed={seed}")) for seed in (1, 2)
    ]
    found = told(capsys, *pair, "--tests=table,hue=a, b,hue=a")
    assert [test["test"] for test in found["tests"]] == ["table", "hue=a, b", "hue=a"]
    assert main(["compare", *pair, "--tests=hue=a,b"]) == 1  # no blank: another name
    assert "no two runs have a row 'b'" in capsys.readouterr().err


def questions(name: str) -> list[Item]:
    """Returns two questions a dataset, answered as the run's name says."""
    options = {"A": "a cat", "B": "a dog"}
    answers = ("A", "B" if name == "b" else "A")
    return [
        Item(key, f"{n}", "What?", options, "A", answers[n], "What?")
        for key in DATASETS
        for n in range(2)
    ]


def test_samples_that_differ_are_refused_by_name(
    runs: list[str], evaluate_rows: Evaluate, capsys: pytest.CaptureFixture[str]
) -> None:
    changed = [dict(row) for row in ROWS]
    changed[7]["negative"] = "a bird"
    changed[8]["video"] = "other.mp4"
    other = evaluate_rows(changed, "dataset.group_by=[hue]")
    assert main(["compare", runs[0], str(other)]) == 1
    said = capsys.readouterr().err
    assert "2 samples of the same name are not the same" in said
    assert "table/7 (texts), table/8 (cluster, clips)" in said
    assert "vbench diff" in said
    assert main(["table", runs[0], str(other), "--format=markdown"]) == 0
    said = capsys.readouterr()
    assert "nothing is in bold" in said.err
    assert "**" not in said.out.split("\n", 1)[1]


def test_what_only_one_run_asks_is_left_out(
    runs: list[str], evaluate_rows: Evaluate, capsys: pytest.CaptureFixture[str]
) -> None:
    fewer = str(evaluate_rows(ROWS[::-1][:40], "dataset.group_by=[hue]"))
    found = told(capsys, runs[1], fewer)
    assert found["samples_left_out"] == {runs[1]: 20}
    assert found["tests"][0]["n"] == 40
    assert "20 samples of A are not in all runs" in found["warnings"][0]
    elsewhere = str(evaluate_rows([row | {"id": f"x{row['id']}"} for row in ROWS]))
    assert main(["compare", runs[0], elsewhere]) == 1
    assert "no row with samples in common" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (["{0}"], "name two runs or more"),
        (["{0}", "{0}"], "name two runs or more"),
        (["{0}", "{1}", "--tests=tabel"], "did you mean 'table'"),
        (["{0}", "{1}", "--tests=table", "--all-rows"], "the family is named twice"),
        (["{0}", "{1}", "--detect=0"], "a difference in points"),
        (["{0}", "{1}", "--format=latx"], "did you mean 'latex'"),
        (["{0}", "nowhere"], "no such run folder"),
    ],
)
def test_misuse(
    runs: list[str], words: list[str], part: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", *(word.format(*runs) for word in words)]) == 1
    assert part in capsys.readouterr().err


def test_records_give_back_the_summary(runs: list[str]) -> None:
    for path in runs:
        run = load_run(path)
        again = summary(graded(run), read_scores(run.path))
        assert again["tests"] == run.summary["tests"]


def test_scores_read_back_are_those_of_constructors(runs: list[str]) -> None:
    score = read_scores(Path(runs[0]))[3]
    sample = score.sample
    assert sample == Sample(
        "table", "3", "v2t", sample.cluster, sample.clips, ("cat 3", "dog"), 0, None, {"hue": "b"}
    )
    assert score == Score(sample, "ok", score.values)
    assert [len(score.values), sample.clips[0].path.endswith("1.mp4")] == [2, True]


def test_a_missing_answer_is_left_out_in_both(
    runs: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = shutil.copytree(runs[1], tmp_path / "broken")
    table = pd.read_parquet(broken / "records.parquet")
    table.loc[0, ["status", "reason", "outcome"]] = ["decode_error", "gone", "unscored"]
    table.at[0, "scores"] = []
    import pyarrow as pa
    import pyarrow.parquet as pq

    from vbench.results.rows import RECORD_SCHEMA

    pq.write_table(pa.Table.from_pandas(table, schema=RECORD_SCHEMA), broken / "records.parquet")
    found = told(capsys, runs[0], str(broken), "--items")
    assert found["tests"][0]["n"] == 59
    assert sum(item["graded"] == 1 for item in found["hardest"]) <= 1


def test_settings_of_the_model_are_not_warned_of(runs: list[str]) -> None:
    a, b = (load_run(path) for path in (runs[0], runs[2]))
    assert [setting.name for setting in settings_apart([a, b])] == ["metric.tie"]


def test_what_a_model_is_shown_and_how_it_writes_is_warned_of(runs: list[str]) -> None:
    a = load_run(runs[0])
    model = {**a.config["model"], "visual": {"blind": "black"}, "pooling": "max"}
    b = replace(a, config={**a.config, "model": model})
    assert [setting.name for setting in settings_apart([a, b])] == ["model.visual.blind"]


def test_a_folder_of_runs_is_its_runs(
    runs: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for place, run in enumerate(runs[:2]):
        shutil.copytree(run, tmp_path / "sweep" / str(place))
    apart = told(capsys, *runs[:2])
    assert told(capsys, str(tmp_path / "sweep"))["tests"] == apart["tests"]
