from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml

from vbench.records import Prediction
from vbench.results.progress import Progress, Share
from vbench.results.resume import resume_run, sweep_command

FAILED = Prediction("k", "clip", "decode_error")
REFUSED = Prediction("k", "clip", "refused")


def words(folder: Path, config: dict[str, Any], now: Progress) -> list[list[str]]:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.yaml").write_text(yaml.safe_dump(config))
    return [shlex.split(command)[2:] for command in resume_run(folder, now)]


def progress(state: Any, *rows: Prediction, shards: int | None = None) -> Progress:
    ids = [None] if shards is None else range(shards)
    shares = tuple(Share(state, "", 0.0, shard) for shard in ids)
    return Progress(state, "", 0.0, 1, 2, rows, shares, (), ())


def config(*typed: str, run_dir: str | None = None, outputs: str = "outputs") -> dict[str, Any]:
    return {"run_dir": run_dir, "paths": {"outputs": outputs}, "command": {"overrides": [*typed]}}


def test_the_command_is_the_one_that_was_typed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    typed = config("model=toy/clip", "dataset.file='a, b.csv'", "+fresh=true")
    folder = Path("outputs/runs/d/m/s-1")
    assert words(folder, typed, progress("failed")) == [typed["command"]["overrides"][:2]]


def test_a_folder_elsewhere_is_named(tmp_path: Path) -> None:
    moved = config("seed=1", outputs=str(tmp_path / "outputs"))
    for folder, said in ((tmp_path / "moved", f"{tmp_path}/moved"),
                         (tmp_path / "it's, moved", f"'{tmp_path}/it\\'s, moved'")):  # fmt: skip
        assert words(folder, moved, progress("stalled")) == [["seed=1", f"run_dir={said}"]]
    swept = config("seed=1", "run_dir=old", run_dir="old", outputs=str(tmp_path / "outputs"))
    folder = tmp_path / "outputs" / "runs" / "kept"
    assert words(folder, swept, progress("stalled")) == [["seed=1", f"run_dir={folder}"]]


def test_what_is_done_needs_no_command_unless_it_can_still_be_answered(tmp_path: Path) -> None:
    typed = config("shards=2", "shard=1", run_dir="r")
    assert words(tmp_path, typed, progress("done")) == []
    assert words(tmp_path, typed, progress("done", REFUSED)) == []
    assert words(tmp_path, typed, progress("done", FAILED)) == [[f"run_dir={tmp_path}"]]
    assert words(tmp_path, typed, progress("running", FAILED)) == []


def test_shards_go_on_one_by_one(tmp_path: Path) -> None:
    typed = config("shards=2", "shard=1", run_dir="r")
    found = words(tmp_path, typed, progress("stalled", shards=2))
    kept = [f"run_dir={tmp_path}", "shards=2"]
    assert [sorted(own) for own in found] == [[kept[0], f"shard={k}", kept[1]] for k in (0, 1)]


@pytest.mark.parametrize("text", [None, "", "- 1", "hydra: {}", "hydra: [", "\x00"])
def test_a_folder_that_is_no_sweeps_has_no_command(tmp_path: Path, text: str | None) -> None:
    if text is not None:
        (tmp_path / "multirun.yaml").write_text(text)
    assert sweep_command(tmp_path) is None


def test_a_sweep_goes_on_as_it_was_typed(tmp_path: Path) -> None:
    noted = {"hydra": {"overrides": {"task": ["seed=1,2", "limit=3,4"]}}}
    (tmp_path / "multirun.yaml").write_text(yaml.safe_dump(noted))
    found = sweep_command(tmp_path)
    assert found is not None
    assert (found.jobs, found.command) == (4, "vbench -m seed=1,2 limit=3,4")
