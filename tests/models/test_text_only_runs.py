"""Whole runs of models that see no video: on the toy world, and on the released caption pairs."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

import vbench
from vbench.cli import main
from vbench.results.run import Run

Go = Callable[..., Run]


@pytest.fixture
def go(tmp_path: Path) -> Go:
    def run(*words: str, out: str = "run") -> Run:
        settings = [
            "trainer=cpu",
            "logger=none",
            f"paths.outputs={tmp_path}",
            f"run_dir={tmp_path}/{out}",
        ]
        found = vbench.evaluate(*words, *settings)
        assert found is not None
        return found

    return run


@pytest.fixture
def toy(tmp_path: Path) -> list[str]:
    """A toy set whose videos do not exist."""
    words = [f"dataset.root={tmp_path}/toy", "dataset.num_videos=30", "dataset.render=false"]
    assert main(["build", *words]) == 0
    return words


@pytest.fixture
def released() -> Path:
    repository = Path(__file__).parents[2]
    shared = Path(os.environ.get("VBENCH_SHARED") or repository.parent / "shared")
    folder = shared / "data/velociti_human_subset"
    if not folder.is_dir():
        pytest.skip(f"the human-subset CSV files are not in {folder} (set VBENCH_SHARED)")
    return folder


def rows(run: Run) -> pd.DataFrame:
    return pd.concat(pd.read_parquet(file) for file in (run.path / "predictions").iterdir())


def test_each_text_is_scored_once_and_no_file_is_opened(
    go: Go, toy: list[str], vera_folder: Path
) -> None:
    run = go("model=vera", f"model.checkpoint={vera_folder}", *toy)
    samples = pd.read_parquet(run.path / "samples.parquet")
    texts = {text for texts in samples["texts"] for text in texts}
    stored = rows(run)
    assert len(stored) == stored["key"].nunique() == len(texts)
    assert set(stored["kind"]) == {"text"}
    assert stored["score"].between(0, 1).all()
    records = pd.read_parquet(run.path / "records.parquet")
    control = records[records["test"] == "control_t2v"]
    assert set(control["outcome"]) == {"tie"}  # the same text beside two clips it has not seen
    assert run.summary["tests"]["chrono"]["n"] == len(records[records["test"] == "chrono"])


@pytest.mark.slow
def test_other_batches_shards_and_runs_give_the_same_scores(
    go: Go, toy: list[str], vera_folder: Path, tmp_path: Path
) -> None:
    words = ["model=vera", f"model.checkpoint={vera_folder}", *toy, "loader.cache=false"]
    whole = rows(go(*words)).set_index("key")["score"].sort_index()
    small = rows(go(*words, "loader.texts_per_batch=3", "model.text_batch=2", out="small"))
    pd.testing.assert_series_equal(
        whole, small.set_index("key")["score"].sort_index(), atol=1e-6, rtol=0
    )
    settings = [
        "trainer=cpu",
        "logger=none",
        f"paths.outputs={tmp_path}",
        f"run_dir={tmp_path}/shared",
    ]
    for shard in (0, 1):
        vbench.evaluate(*words, *settings, "shards=2", f"shard={shard}")
    files = (tmp_path / "shared/predictions").iterdir()
    shared = pd.concat(pd.read_parquet(file) for file in files).set_index("key")["score"]
    pd.testing.assert_series_equal(whole, shared.sort_index(), atol=1e-6, rtol=0)


def test_a_causal_model_answers_blind(go: Go, toy: list[str], llama_folder: Path) -> None:
    words = ["model=hf/causal_lm", f"model.checkpoint={llama_folder}", *toy, "limit=3"]
    likely = go(*words)
    assert set(rows(likely)["kind"]) == {"text"}
    assert (rows(likely)["score"] < 0).all()
    asked = go(*words, "scorer=entailment", "prompt=velociti_v1_video_llava", out="entailment")
    stored = rows(asked)
    assert set(stored["kind"]) == {"reply"}
    assert set(stored["path"]) == {""}
    records = pd.read_parquet(asked.path / "records.parquet")
    assert all(0 < value < 1 for values in records["scores"] for value in values)


@pytest.mark.parametrize("model", ["vera", pytest.param("hf/causal_lm", marks=pytest.mark.slow)])
def test_the_released_pairs_print_accuracies_with_intervals(
    model: str,
    go: Go,
    request: pytest.FixtureRequest,
    released: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    folder = request.getfixturevalue("vera_folder" if model == "vera" else "llama_folder")
    run = go(
        "dataset=velociti/human_subset", f"dataset.root={released}",
        f"model={model}", f"model.checkpoint={folder}",
    )  # fmt: skip
    counts = {"agent_bind": 150, "agent_coref": 150, "action_adv": 150, "chrono": 142}
    for test, n in counts.items():
        found = run.summary["tests"][test]
        assert (found["n"], found["chance"]) == (n, 0.5)
        assert found["ci_low"] < found["value"] < found["ci_high"]
    assert run.summary["coverage"]["answered"] == sum(counts.values())
    capsys.readouterr()
    assert main(["table", str(run.path)]) == 0
    out = capsys.readouterr().out
    for test in counts:
        value = 100 * run.summary["tests"][test]["value"]
        assert f"{value:.1f} [" in out


def test_an_audit_asks_the_model_what_a_run_asks_it(
    go: Go, released: Path, vera_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [
        "dataset=velociti/human_subset", f"dataset.root={released}", "dataset.tests=[action_adv]",
        "model=vera", f"model.checkpoint={vera_folder}",
    ]  # fmt: skip
    found = go(*words, "metric.tie=half").summary["tests"]["action_adv"]
    capsys.readouterr()
    main(["doctor", "--audit", "--json", *words, "trainer=cpu"])
    lines = json.loads(capsys.readouterr().out)["audit"]["lines"]
    (line,) = [line for line in lines if line["shortcut"] == "vera"]
    for key in ("value", "ci_low", "ci_high", "n", "clusters", "chance"):
        assert line[key] == pytest.approx(found[key])
