"""`vbench diff`: what differs between two runs, and nothing else."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from vbench.cli import main
from vbench.diff import print_diff
from vbench.errors import RunError
from vbench.results.comparison import compare
from vbench.results.rows import RECORD_SCHEMA

Evaluate = Callable[..., Path]
ROWS = [
    {"id": str(i), "video": f"{i % 2}.mp4", "positive": f"cat {i}", "negative": "dog"}
    for i in range(8)
]


@pytest.fixture(scope="module")
def run(evaluate_rows: Evaluate) -> Path:
    return evaluate_rows(ROWS)


@pytest.fixture
def other(run: Path, tmp_path: Path) -> Path:
    """A copy of the run, to be changed."""
    return shutil.copytree(run, tmp_path / "other")


@pytest.fixture(scope="module")
def clip_runs(
    evaluate_rows: Evaluate,
    write_grey: Callable[..., None],
    tmp_path_factory: pytest.TempPathFactory,
) -> dict[str, Path]:
    """One table of two videos, seen by a real checkpoint in several ways."""
    root = tmp_path_factory.mktemp("videos")
    write_grey(root / "0.mp4")
    write_grey(root / "1.mp4", first=40)
    base = ["model=toy/clip", f"dataset.root={root}", "sampler=uniform_midpoints"]
    ways = {
        "plain": ["sampler.num_frames=4"],
        "again": ["sampler.num_frames=4", "loader.batch_size=1", "loader.cache=false"],
        "fewer": ["sampler.num_frames=2"],
        "backward": ["sampler.num_frames=4", "sampler.order=reverse"],
        "bf16": ["sampler.num_frames=4", "trainer.precision=bf16-true"],
    }
    runs = {way: evaluate_rows(ROWS, *base, *more) for way, more in ways.items()}
    write_grey(root / "1.mp4", first=20)
    return runs | {"recoded": evaluate_rows(ROWS, *base, *ways["plain"])}


def found(a: Path, b: Path, capsys: pytest.CaptureFixture[str], *flags: str) -> Any:
    code = main(["diff", str(a), str(b), "--json", *flags])
    values = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
    assert code == (0 if values["same"] else 3)
    return values


def kinds(values: Mapping[str, Any]) -> dict[str, int]:
    return {kind: n for kind, n in values["tests"]["table"]["differ"].items() if n}


def names(changes: list[dict[str, Any]]) -> list[str]:
    """Returns what differs, but for the table, which each run has in a file of its own."""
    return [change["name"] for change in changes if change["name"] != "dataset.file"]


def edit(run: Path, sample_id: str, **values: object) -> None:
    """Changes a stored record."""
    file = run / "records.parquet"
    rows = pq.read_table(file).to_pylist()
    for row in rows:
        if row["sample_id"] == sample_id:
            row |= values
    pq.write_table(pa.Table.from_pylist(rows, schema=RECORD_SCHEMA), file)


def test_a_run_and_its_copy_are_the_same(
    run: Path, other: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    values = found(run, other, capsys)
    assert values["same"]
    assert values["settings"] == values["other_settings"] == values["environment"] == []
    assert main(["diff", str(run), str(other)]) == 0
    out = capsys.readouterr().out
    assert "8 in both, 0 of them differ" in out
    assert out.endswith("the results are the same\n")


def test_settings_are_sorted_by_what_they_can_do(
    clip_runs: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    values = found(clip_runs["plain"], clip_runs["again"], capsys)
    assert names(values["settings"]) == []
    assert names(values["other_settings"]) == ["loader.batch_size", "loader.cache"]
    assert values["same"]  # at the default tolerance
    values = found(clip_runs["plain"], clip_runs["bf16"], capsys)
    assert names(values["settings"]) == ["trainer.precision"]
    assert {"weight_dtype", "precision"} <= set(names(values["environment"]))
    assert set(kinds(values)) - {"outcome"} == {"answer"}
    assert main(["diff", str(clip_runs["plain"]), str(clip_runs["bf16"])]) == 3
    assert "trainer.precision  32-true → bf16-true" in capsys.readouterr().out


def test_frames_are_compared_in_the_order_the_model_saw_them(
    clip_runs: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    values = found(clip_runs["plain"], clip_runs["fewer"], capsys)
    assert {"frames": 8, "answer": 8}.items() <= kinds(values).items()
    assert "pixels" not in kinds(values)
    assert names(values["settings"]) == ["sampler.num_frames"]
    values = found(clip_runs["plain"], clip_runs["backward"], capsys)
    assert kinds(values) == {"frames": 8}  # and their mean is the same


def test_other_bytes_are_other_pixels(
    clip_runs: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    values = found(clip_runs["plain"], clip_runs["recoded"], capsys)
    assert names(values["settings"]) == []
    assert kinds(values)["pixels"] == 4  # those of one video
    assert names(values["environment"]) == ["dataset.files"]
    assert "frames" not in kinds(values)


def test_models_are_told_apart_by_name_and_not_by_pixels(
    run: Path, clip_runs: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    values = found(run, clip_runs["plain"], capsys)
    assert "model._target_" in names(values["settings"])
    assert "model.checkpoint" in names(values["environment"])
    assert "pixels" not in kinds(values)


def test_samples_of_one_run_only_are_counted_and_named(
    run: Path, evaluate_rows: Evaluate, capsys: pytest.CaptureFixture[str]
) -> None:
    new = {"id": "new", "video": "0.mp4", "positive": "x", "negative": "y"}
    smaller = evaluate_rows([*ROWS[:5], new])
    values = found(run, smaller, capsys)
    assert values["only_a"] == [["table", "5"], ["table", "6"], ["table", "7"]]
    assert values["only_b"] == [["table", "new"]]
    counted = values["tests"]["table"]
    assert (counted["both"], counted["only_a"], counted["only_b"]) == (5, 3, 1)
    assert not values["same"]
    assert main(["diff", str(run), str(smaller), "--limit", "1"]) == 3
    assert "… and 2 more" in capsys.readouterr().out


def test_texts_and_labels(
    run: Path, evaluate_rows: Evaluate, capsys: pytest.CaptureFixture[str]
) -> None:
    changed = [row | {"film": "f"} for row in ROWS]
    changed[0]["negative"] = "a bird"
    other = evaluate_rows(changed, "dataset.cluster=film")
    values = found(run, other, capsys)
    assert kinds(values)["texts"] == 1
    assert kinds(values)["labels"] == 8  # the source of each is another
    asked = {"question": "Who?", "options": ["a", "b"], "answer": "a", "id": "1"}
    words = ["dataset.kind=mcq", "dataset.question=question"]
    plain = evaluate_rows([asked], *words)
    prompted = evaluate_rows([asked], *words, "prompt=question_option")
    values = found(plain, prompted, capsys)
    assert kinds(values)["texts"] == 1
    assert names(values["settings"])[0].startswith("prompt.")


def test_answers_differ_beyond_the_tolerance(
    run: Path, other: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stored = pd.read_parquet(run / "records.parquet").set_index("sample_id").scores
    edit(other, "3", scores=[stored["3"][0] + 1e-4, stored["3"][1]])
    values = found(run, other, capsys)
    assert kinds(values) == {"answer": 1}
    assert values["tests"]["table"]["largest_score_difference"] == pytest.approx(1e-4)
    assert [sample["sample_id"] for sample in values["samples"]] == ["3"]
    assert found(run, other, capsys, "--tolerance=1e-3")["same"]
    assert found(run, other, capsys, "--tolerance=1e-5")["same"] is False


def test_flips_come_first(run: Path, other: Path, capsys: pytest.CaptureFixture[str]) -> None:
    outcomes = pd.read_parquet(run / "records.parquet").set_index("sample_id").outcome
    edit(other, "2", scores=[9.0, 8.0])
    edit(other, "6", outcome="unscored", status="decode_error", scores=[], reason="gone")
    edit(other, "7", outcome="tie", scores=[0.0, 0.0])
    values = found(run, other, capsys)
    assert [sample["sample_id"] for sample in values["samples"]] == ["6", "7", "2"]
    assert values["samples"][0]["kinds"] == ["status", "outcome"]
    flips = {(flip["a"], flip["b"]): flip["samples"] for flip in values["flips"]}
    assert flips == {(outcomes["6"], "unscored"): 1, (outcomes["7"], "tie"): 1}
    values = found(run, other, capsys, "--limit=1")
    assert [sample["sample_id"] for sample in values["samples"]] == ["6"]
    assert sum(flip["samples"] for flip in values["flips"]) == 2
    main(["diff", str(run), str(other), "--limit=2"])
    out = capsys.readouterr().out
    assert f"table/6  {outcomes['6']} → unscored" in out
    assert "table/2" not in out
    assert "… and 1 more" in out


def test_a_number_may_differ_where_no_sample_does(
    evaluate_rows: Evaluate, capsys: pytest.CaptureFixture[str]
) -> None:
    strict, half = (
        evaluate_rows(ROWS, "model=oracle/constant", f"metric.tie={tie}")
        for tie in ("strict", "half")
    )
    values = found(strict, half, capsys)
    assert values["numbers"] == [{"name": "table", "a": 0.0, "b": 0.5}]
    assert (values["samples"], values["same"]) == ([], False)
    main(["diff", str(strict), str(half)])
    assert "+50.0" in capsys.readouterr().out


def test_unequal_matrices_and_nan_are_strict_json(
    run: Path, other: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    edit(other, "0", scores=[float("nan"), 1.0])
    edit(other, "1", scores=[1.0, 2.0, 3.0])
    values = found(run, other, capsys)
    assert kinds(values) == {"answer": 2}
    assert values["tests"]["table"]["largest_score_difference"] is None
    assert values["samples"][0]["scores"][1] == [None, 1.0]


def test_hostile_texts_steer_no_terminal(
    evaluate_rows: Evaluate, hostile: str, capsys: pytest.CaptureFixture[str]
) -> None:
    row = {"id": hostile, "positive": "cat", "negative": "dog"}
    words = [f"dataset.name='{hostile}'"]
    a, b = (evaluate_rows([row], *words, f"model.seed={seed}") for seed in (1, 2))
    assert print_diff(str(a), str(b)) == 3
    out = capsys.readouterr().out
    assert all(c.isprintable() for line in out.split("\n") for c in line)
    assert r"\x1b[31mred" in out
    assert print_diff(str(a), str(b), as_json=True) == 3
    assert "\x1b" not in capsys.readouterr().out


def test_only_finished_runs_have_numbers_to_compare(run: Path, other: Path) -> None:
    (other / "summary.json").unlink()
    with pytest.raises(RunError, match="not finished"):
        compare(run, other)
    with pytest.raises(RunError, match="no such run folder"):
        compare(run, other.with_name("othr"))


def test_damaged_records_are_explained(
    evaluate_rows: Callable[..., Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = evaluate_rows([{"id": "1", "positive": "cat", "negative": "dog"}])
    broken = tmp_path / "broken"
    shutil.copytree(run, broken)
    file = broken / "records.parquet"
    file.write_bytes(file.read_bytes()[:-9])
    ways = (["diff", str(run)], ["compare", str(run)], ["report"])
    for words in ways:
        assert main([*words, str(broken)]) == 1
        told = capsys.readouterr().err
        assert "the run's records cannot be read" in told
        assert str(file) in told
    assert main(["show", str(broken), "table/1"]) == 1
    assert "the run's records cannot be read" in capsys.readouterr().err
