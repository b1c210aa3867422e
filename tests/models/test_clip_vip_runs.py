"""Whole runs of a model that sees the frames of a clip together."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

import vbench
from vbench.cli import main
from vbench.models.clip_vip import ClipVip
from vbench.results.run import Run

from .research_files import clip_vip_state, tuned

Go = Callable[..., Any]
"""Evaluates into the folder `out`; None where other shards have work left."""


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("toy") / "set"
    assert main(["build", f"dataset.root={root}", "dataset.num_videos=3"]) == 0
    return root


@pytest.fixture(scope="module")
def file(clip_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("vip") / "vip.pt"
    torch.save(clip_vip_state(tuned(clip_folder)), path)
    return path


@pytest.fixture
def go(toy: Path, file: Path, clip_folder: Path, tmp_path: Path) -> Go:
    def run(*words: str, out: str = "run") -> Run | None:
        return vbench.evaluate(
            "dataset=velociti/toy", f"dataset.root={toy}", "dataset.tests=[ivat,chrono]",
            "model=clip_vip_b32", f"model.checkpoint={file}", f"model.base={clip_folder}",
            "trainer=cpu", "logger=none", "loader.num_workers=0",
            f"paths.cache={tmp_path / 'cache'}", f"run_dir={tmp_path / out}", *words,
        )  # fmt: skip

    return run


def scores(run: Run) -> np.ndarray:
    return np.concatenate(list(run.records.scores))


def rows(run: Run) -> pd.DataFrame:
    return pd.concat(pd.read_parquet(file) for file in (run.path / "predictions").iterdir())


def account(run: Run) -> dict[str, dict[str, int]]:
    told: dict[str, dict[str, int]] = json.loads((run.path / "cache.json").read_text())
    return told


def test_scores_are_cosines_of_clips_seen_whole(
    go: Go, toy: Path, file: Path, clip_folder: Path
) -> None:
    from vbench.frames.source import open_source

    run = go()
    assert run.exit_code == 0
    record = run.records[run.records.test == "chrono"].iloc[0]
    (indices,) = record.frame_indices
    assert len(indices) == 12
    model = ClipVip(str(file), str(clip_folder))
    source = open_source(record.clip_paths[0])
    frames = {frame.index: frame.pixels for frame in source.frames(sorted(set(indices)))}
    pixels = model.preprocess([frames[index] for index in indices])
    cosines = model.embed_clips(pixels[None]) @ model.embed_texts(list(record.texts))[0].T
    np.testing.assert_allclose(np.ravel(record.scores), cosines[0].numpy(), atol=1e-5)


def test_a_second_run_computes_nothing_and_another_order_is_seen(
    go: Go, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = go()
    assert set(rows(first).kind) == {"clip", "text"}
    assert set(account(first)) == {"clip", "text"}
    back = go("frame_order=reverse", out="back")
    assert account(back)["clip"]["found"] == 0
    assert np.abs(scores(back) - scores(first)).max() > 1e-3
    monkeypatch.setattr(ClipVip, "embed_clips", lambda *_: pytest.fail("encoded again"))
    again = go(out="again")
    assert account(again)["clip"]["found"] == account(again)["clip"]["asked"] > 0
    np.testing.assert_array_equal(scores(again), scores(first))


def test_batches_shards_and_a_broken_off_run_change_nothing(
    go: Go, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = go("loader.cache=false")
    small = go(
        "loader.cache=false", "loader.frames_per_batch=1", "loader.batch_size=1", out="small"
    )
    np.testing.assert_allclose(scores(small), scores(whole), atol=1e-6)
    embed, seen = ClipVip.embed_clips, [0]

    def dying(self: ClipVip, pixels: torch.Tensor) -> torch.Tensor:
        seen[0] += 1
        if seen[0] == 3:
            raise KeyboardInterrupt
        return embed(self, pixels)

    few = ["loader.cache=false", "loader.batch_size=1", "loader.flush_seconds=0"]
    monkeypatch.setattr(ClipVip, "embed_clips", dying)
    with pytest.raises(KeyboardInterrupt):
        go(*few, out="broken")
    seen[0] = 100
    go(*few, out="broken")
    once = seen[0] - 100
    mended = vbench.load_run(whole.path.parent / "broken")
    np.testing.assert_allclose(scores(mended), scores(whole), atol=1e-6)
    assert not rows(mended).key.duplicated().any()
    assert 0 < once < rows(whole).kind.eq("clip").sum()
    monkeypatch.setattr(ClipVip, "embed_clips", embed)
    assert go("loader.cache=false", "shards=2", "shard=0", out="shards") is None
    sharded = go("loader.cache=false", "shards=2", "shard=1", out="shards")
    np.testing.assert_allclose(scores(sharded), scores(whole), atol=1e-6)


def test_precision_is_part_of_what_is_stored(go: Go) -> None:
    exact, rough = go(), go("trainer.precision=bf16-mixed", out="rough")
    assert account(rough)["clip"]["found"] == 0
    assert 0 < np.abs(scores(rough) - scores(exact)).max() < 0.1


def test_a_clip_that_fails_costs_its_own_samples(
    go: Go, toy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(toy, tmp_path / "set")
    video = sorted((tmp_path / "set").rglob("*.mp4"))[0]
    video.write_bytes(b"garbage")
    embed, failures = ClipVip.embed_clips, [RuntimeError("unlucky")]

    def unlucky(self: ClipVip, pixels: torch.Tensor) -> torch.Tensor:
        if failures:
            raise failures.pop()
        return embed(self, pixels)

    monkeypatch.setattr(ClipVip, "embed_clips", unlucky)
    run = go(f"dataset.root={tmp_path / 'set'}", "loader.frames_per_batch=1")
    assert run.exit_code == 3
    found = rows(run)
    clips = found[found.kind == "clip"]
    broken = clips.path == str(video)
    assert set(clips[broken].status) == {"decode_error"}
    assert clips[~broken].status.value_counts().to_dict() == {
        "ok": (~broken).sum() - 1,
        "model_error": 1,
    }
    (failed,) = clips[clips.status == "model_error"].path
    assert (clips[clips.path == failed].status == "ok").any()  # its other clips


@pytest.mark.slow
def test_a_sweep_over_frame_counts(
    toy: Path, file: Path, clip_folder: Path, tmp_path: Path
) -> None:
    words = [
        "-m", "dataset=velociti/toy", f"dataset.root={toy}", "dataset.tests=[chrono]",
        "model=clip_vip_b32", f"model.checkpoint={file}", f"model.base={clip_folder}",
        "trainer=cpu", "logger=none", "loader.num_workers=0", f"paths.cache={tmp_path / 'cache'}",
        f"paths.outputs={tmp_path}", "sweep=counts", "sampler.num_frames=4,12",
    ]  # fmt: skip
    assert main(words) == 0
    runs = [vbench.load_run(path.parent) for path in tmp_path.rglob("records.parquet")]
    assert {len(run.records.frame_indices[0][0]) for run in runs} == {4, 12}
    assert np.abs(scores(runs[0]) - scores(runs[1])).max() > 1e-3
