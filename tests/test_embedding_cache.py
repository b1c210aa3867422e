"""The embedding cache through whole runs: hits, misses and why, and the same scores either way."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

import vbench
from vbench import cli
from vbench.models.dual_encoder import DualEncoder
from vbench.results.run import Run

WORDS = ["dataset=velociti/toy", "model=toy/clip", "trainer=cpu", "logger=none",
         "loader.num_workers=0"]  # fmt: skip


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("toy") / "set"
    vbench.evaluate("dataset=velociti/toy", f"dataset.root={root}", "dataset.num_videos=3",
                    "model=oracle/constant", "logger=none", "trainer=cpu",
                    f"run_dir={root.parent / 'run'}")  # fmt: skip
    return root


def evaluate(toy: Path, tmp_path: Path, name: str, *more: str) -> tuple[Run, dict]:
    where = [
        f"dataset.root={toy}",
        f"paths.cache={tmp_path / 'cache'}",
        f"run_dir={tmp_path / name}",
    ]
    run = vbench.evaluate(*WORDS, *where, *more)
    assert run is not None
    account = run.path / "cache.json"
    return run, json.loads(account.read_text()) if account.exists() else {}


def scores(run: Run) -> np.ndarray:
    return np.concatenate(list(run.records.scores))


def test_a_second_run_computes_nothing(toy: Path, tmp_path: Path) -> None:
    first, missed = evaluate(toy, tmp_path, "first")
    assert missed["clip"]["found"] == 0
    assert set(missed["clip"]["missed"]) == {"never seen"}
    again, found = evaluate(toy, tmp_path, "again", "metric.tie=half")
    for kind in ("clip", "text"):
        assert found[kind]["found"] == found[kind]["asked"] > 0
    np.testing.assert_array_equal(scores(again), scores(first))
    pd.testing.assert_frame_equal(
        again.records[["frame_indices", "timestamps_s"]],
        first.records[["frame_indices", "timestamps_s"]],
    )


def test_another_sampler_misses_the_clips_and_says_so(
    toy: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    evaluate(toy, tmp_path, "first")
    run, account = evaluate(toy, tmp_path, "second", "sampler.order=reverse")
    assert account["text"]["found"] == account["text"]["asked"]
    assert account["clip"]["found"] == 0
    (reason,) = account["clip"]["missed"]
    assert reason.startswith("sampler: ")
    assert cli.main(["status", str(run.path), "--explain-cache"]) == 0
    told = capsys.readouterr().out
    assert f"clip: 0 of {account['clip']['asked']} found" in told
    assert f"missed: {reason}" in told
    fresh, _ = evaluate(toy, tmp_path, "third", "sampler.order=reverse", "loader.cache=false")
    np.testing.assert_allclose(scores(run), scores(fresh), atol=1e-5)


def test_a_changed_file_is_never_answered_from_the_cache(toy: Path, tmp_path: Path) -> None:
    shutil.copytree(toy, tmp_path / "set")
    first, _ = evaluate(tmp_path / "set", tmp_path, "first")
    videos = sorted((tmp_path / "set").rglob("*.mp4"))
    content = [video.read_bytes() for video in videos[:2]]
    videos[0].write_bytes(content[1])
    swapped, account = evaluate(tmp_path / "set", tmp_path, "second")
    assert account["clip"]["found"] == account["clip"]["asked"]  # both contents were seen before
    assert not np.allclose(scores(swapped), scores(first))
    uncached, _ = evaluate(tmp_path / "set", tmp_path, "third", "loader.cache=false")
    np.testing.assert_allclose(scores(swapped), scores(uncached), atol=1e-5)


def test_failures_are_not_cached(toy: Path, tmp_path: Path) -> None:
    shutil.copytree(toy, tmp_path / "set")
    video = sorted((tmp_path / "set").rglob("*.mp4"))[0]
    whole = video.read_bytes()
    video.write_bytes(b"garbage")
    broken, _ = evaluate(tmp_path / "set", tmp_path, "broken")
    assert broken.exit_code == 3
    assert evaluate(tmp_path / "set", tmp_path, "again")[0].exit_code == 3
    video.write_bytes(whole)
    assert evaluate(tmp_path / "set", tmp_path, "healed")[0].exit_code == 0


def test_a_mirror_gets_its_frames_from_the_cache_too(toy: Path, tmp_path: Path) -> None:
    first, _ = evaluate(toy, tmp_path, "silent")
    shown, account = evaluate(toy, tmp_path, "shown", "logger=wandb", "logger.mode=offline")
    assert account["clip"]["found"] == 0  # no strips yet, so the frames are decoded
    again, account = evaluate(toy, tmp_path, "again", "logger=wandb", "logger.mode=offline")
    assert account["clip"]["found"] == account["clip"]["asked"]
    strips = {file.name: file.read_bytes() for file in (shown.path / "frames").iterdir()}
    assert strips == {file.name: file.read_bytes() for file in (again.path / "frames").iterdir()}
    assert strips
    np.testing.assert_allclose(scores(again), scores(first), atol=1e-5)


BOTH = """
import os, sys
import lightning, transformers
import vbench.cli, vbench.loop.job, vbench.models.dual_encoder

children = []
for run_dir in sys.argv[1:3]:
    pid = os.fork()
    if not pid:
        os._exit(vbench.cli.main([*sys.argv[3:], f"run_dir={run_dir}"]))
    children.append(pid)
sys.exit(any([os.waitpid(pid, 0)[1] for pid in children]))
"""
"""Runs a command in two folders, and imports once: both begin at the same moment."""


def test_two_processes_on_one_cache(toy: Path, tmp_path: Path) -> None:
    where = [f"dataset.root={toy}", f"paths.cache={tmp_path / 'cache'}"]
    command = [sys.executable, "-c", BOTH, f"{tmp_path}/a", f"{tmp_path}/b", *WORDS, *where]
    done = subprocess.run(command, timeout=300, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "without the cache" not in done.stderr
    a, b = (vbench.load_run(tmp_path / name) for name in "ab")
    np.testing.assert_allclose(scores(a), scores(b), atol=1e-5)


@pytest.mark.parametrize("logger", ["none", "wandb"])
def test_frames_that_another_count_has_encoded_are_not_encoded_again(
    toy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, logger: str
) -> None:
    how = ["sampler=nested", f"logger={logger}"]
    evaluate(toy, tmp_path, "eight", *how, "sampler.num_frames=8")
    alone, _ = evaluate(toy, tmp_path, "alone", *how, "sampler.num_frames=4", "loader.cache=false")
    monkeypatch.setattr(DualEncoder, "embed_frames", lambda *_: pytest.fail("encoded again"))
    four, account = evaluate(toy, tmp_path, "four", *how, "sampler.num_frames=4")
    assert four.exit_code == 0
    assert account["clip"]["found"] == 0
    assert {len(frames[0]) for frames in four.records.frame_indices} == {4}
    np.testing.assert_allclose(scores(four), scores(alone), atol=1e-5)
    strips = [{file.name for file in (r.path / "frames").glob("*.jpg")} for r in (four, alone)]
    assert strips[0] == strips[1]
    assert bool(strips[0]) == (logger == "wandb")


def test_only_new_frames_are_encoded(
    toy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted: list[int] = []
    embed = DualEncoder.embed_frames

    def counting(self: DualEncoder, pixels: torch.Tensor) -> torch.Tensor:
        counted.append(len(pixels))
        return embed(self, pixels)

    monkeypatch.setattr(DualEncoder, "embed_frames", counting)
    four, _ = evaluate(toy, tmp_path, "four", "sampler=nested", "sampler.num_frames=4")
    first = sum(counted)
    counted.clear()
    eight, _ = evaluate(toy, tmp_path, "eight", "sampler=nested", "sampler.num_frames=8")
    assert first + sum(counted) == frames_of(eight) < frames_of(four) + frames_of(eight)
    alone, _ = evaluate(toy, tmp_path, "x", "sampler=nested", "sampler.num_frames=8",
                        "loader.cache=false")  # fmt: skip
    np.testing.assert_allclose(scores(eight), scores(alone), atol=1e-5)


def frames_of(run: Run) -> int:
    """Counts the distinct frames a run's records name."""
    return len({
        (path, index)
        for row in run.records.itertuples()
        for path, indices in zip(row.clip_paths, row.frame_indices, strict=True)
        for index in indices
    })  # fmt: skip
