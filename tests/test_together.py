"""Jobs of a sweep in one process: files decoded in one pass, models and datasets loaded once."""

from __future__ import annotations

import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from omegaconf import DictConfig

import vbench
from vbench.checkpoints import Checkpoint
from vbench.cli import main
from vbench.frames import video
from vbench.models import dual_encoder
from vbench.models.dual_encoder import DualEncoder
from vbench.models.loading import load_dual_encoder
from vbench.results.ablation import score_change
from vbench.results.run import Run
from vbench.results.sweeps import finished
from vbench.schema import compose
from vbench.together import Together

VIDEOS = 3


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("toy") / "set"
    assert main(["build", f"dataset.root={root}", f"num_videos={VIDEOS}", "seed=7"]) == 0
    return root


def words(root: Path, place: Path, *more: str) -> list[str]:
    return [
        f"dataset.root={root}", "dataset.tests=[agent_iden,ivat]", "model=toy/clip", "trainer=cpu",
        "logger=none", "loader.num_workers=0", f"paths.cache={place}/cache", *more,
    ]  # fmt: skip


def configs(root: Path, place: Path) -> list[DictConfig]:
    return [
        compose(
            words(
                root,
                place,
                f"sampler={sampler}",
                f"sampler.num_frames={count}",
                f"model.pooling={pooling}",
                f"run_dir={place}/{pooling}-{sampler}-{count}",
            )
        )
        for pooling in ("mean_then_normalise", "normalise_then_mean")
        for sampler in ("nested", "uniform_midpoints")
        for count in (1, 4, 8)
    ]


@pytest.fixture
def passes(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Counts decoding passes by file."""
    counted: Counter[str] = Counter()
    decode = video.decode

    def counting(file: video.Probe, wanted: set[int]) -> object:
        if wanted:
            counted[Path(file.timeline.path).name] += 1
        return decode(file, wanted)

    monkeypatch.setattr(video, "decode", counting)
    return counted


def run_all(jobs: Sequence[DictConfig]) -> list[Run]:
    together = Together(jobs)
    found = [together.run(job) for job in jobs]
    assert all(found)
    return [run for run in found if run is not None]


def test_a_file_is_decoded_once_for_all_jobs_and_answers_are_those_of_jobs_alone(
    root: Path, tmp_path: Path, passes: Counter[str]
) -> None:
    jobs = configs(root, tmp_path / "together")
    together = run_all(jobs)
    assert len(passes) == VIDEOS
    assert set(passes.values()) == {1}
    for job, run in list(zip(jobs, together, strict=True))[::4]:
        typed = [
            word for word in job.command.overrides if not word.startswith(("run_dir", "paths"))
        ]
        alone = vbench.evaluate(
            *typed, f"run_dir={tmp_path}/alone-{run.path.name}", "loader.cache=false"
        )
        assert alone is not None
        ours, theirs = (np.concatenate(r.records.scores.to_list()) for r in (run, alone))
        assert np.abs(ours - theirs).max() < 1e-5
        assert run.records.frame_indices.map(str).equals(alone.records.frame_indices.map(str))


def test_a_model_stays_loaded_until_another_is_wanted(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[str] = []
    loaded: list[Checkpoint] = []
    begin = DualEncoder.__init__

    def counting(self: DualEncoder, *given: object, **named: object) -> None:
        made.append(str(named.get("pooling")))
        begin(self, *given, **named)  # type: ignore[arg-type]

    def loading(checkpoint: Checkpoint) -> torch.nn.Module:
        loaded.append(checkpoint)
        return load_dual_encoder(checkpoint)

    monkeypatch.setattr(DualEncoder, "__init__", counting)
    monkeypatch.setattr(dual_encoder, "load_dual_encoder", loading)
    run_all(configs(root, tmp_path))
    # Once to see what each job shows, which loads no weights, once to run.
    assert made == ["mean_then_normalise", "normalise_then_mean"] * 2
    assert len(loaded) == 2


def test_a_job_that_fails_stops_no_other(root: Path, tmp_path: Path) -> None:
    good = words(root, tmp_path, f"run_dir={tmp_path}/good")
    bad = words(root, tmp_path, f"run_dir={tmp_path}/bad", "model.checkpoint=nowhere/at/all")
    jobs = [compose(bad), compose(good)]
    together = Together(jobs)
    with pytest.raises(vbench.errors.VbenchError):
        together.run(jobs[0])
    assert together.run(jobs[1]) is not None


def test_without_room_for_frames_each_job_decodes_anew(
    root: Path, tmp_path: Path, passes: Counter[str]
) -> None:
    extra = ["loader.sweep_frames_gb=0", "loader.cache=false"]
    jobs = [
        compose(
            words(root, tmp_path, f"run_dir={tmp_path}/{n}", *extra, "sampler=nested",
                  f"sampler.num_frames={n}")
        )
        for n in (2, 4)
    ]  # fmt: skip
    run_all(jobs)
    assert set(passes.values()) == {2}


COUNTS, SAMPLERS = "1,2,4,8,16,32", ("nested", "uniform_midpoints")
STUDY = [f"sampler={','.join(SAMPLERS)}", f"sampler.num_frames={COUNTS}"]


def jobs_of(place: Path, name: str) -> list[Path]:
    return finished(place / "outputs" / "sweeps" / name)


@pytest.mark.slow
def test_two_models_six_counts_two_samplers_one_pass(
    root: Path, tmp_path: Path, passes: Counter[str]
) -> None:
    """24 jobs in one command, an encoder and a language model: one pass over each file, not 24."""
    sweep = ["-m", "model=toy/clip,toy/vlm", *STUDY, f"paths.outputs={tmp_path}/outputs"]
    given = [word for word in words(root, tmp_path) if not word.startswith("model=")]
    assert main([*sweep, *given, "dataset.tests=[agent_iden]", "sweep=all"]) == 0
    assert len(jobs_of(tmp_path, "all")) == 24
    assert len(passes) == VIDEOS
    assert set(passes.values()) == {1}


def command(root: Path, place: Path, name: str) -> list[str]:
    more = words(root, place, "sampler=nested", "sampler.num_frames=1,4,8", f"sweep={name}")
    return [sys.executable, "-m", "vbench", "-m", *more, f"paths.outputs={place}/outputs"]


def scores(run: Path) -> np.ndarray:
    return np.concatenate(vbench.load_run(run).records.scores.to_list())


@pytest.mark.slow
def test_killed_in_the_middle_and_typed_again(root: Path, tmp_path: Path) -> None:
    """Of every request there is one answer, whenever the first start was killed."""
    typed = [*command(root, tmp_path, "killed"), "loader.flush_seconds=0", "loader.batch_size=1"]
    first = subprocess.Popen(typed, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    folder, until = tmp_path / "outputs" / "sweeps" / "killed", time.monotonic() + 300
    while not list(folder.glob("*/*/*/predictions/*.parquet")):
        assert first.poll() is None
        assert time.monotonic() < until
        time.sleep(0.02)
    first.kill()
    first.wait(timeout=300)
    before = {
        (file.parents[1], key)
        for file in folder.glob("*/*/*/predictions/*.parquet")
        for key in pd.read_parquet(file, columns=["key"]).key
    }
    assert before
    assert len(finished(folder)) < 3
    subprocess.run(typed, check=True, timeout=300)
    assert len(finished(folder)) == 3
    for run in finished(folder):
        files = (run / "predictions").glob("*.parquet")
        keys = [key for file in files for key in pd.read_parquet(file, columns=["key"]).key]
        assert len(keys) == len(set(keys))
        assert {key for place, key in before if place == run} <= set(keys)


@pytest.mark.slow
def test_two_sweeps_at_once_on_one_cache(root: Path, tmp_path: Path) -> None:
    sweeps = [subprocess.Popen(command(root, tmp_path, name)) for name in ("a", "b")]
    assert [sweep.wait(timeout=300) for sweep in sweeps] == [0, 0]
    subprocess.run([*command(root, tmp_path, "alone"), "loader.cache=false",
                    "loader.sweep_frames_gb=0"], check=True, timeout=300)  # fmt: skip
    for a, b, alone in zip(*(jobs_of(tmp_path, name) for name in ("a", "b", "alone")), strict=True):
        assert a.name == b.name == alone.name
        assert np.abs(scores(a) - scores(alone)).max() < 1e-5
        assert np.abs(scores(b) - scores(alone)).max() < 1e-5


@pytest.mark.slow
def test_order_is_nothing_to_an_encoder_and_something_to_a_language_model(
    root: Path, tmp_path: Path
) -> None:
    for model in ("toy/clip", "toy/vlm"):
        given = [word for word in words(root, tmp_path) if not word.startswith("model=")]
        more = ["dataset.tests=[chrono]", "frame_order=in_order,shuffle", f"model={model}"]
        study = ["-m", "experiment=ablation/frame_order", f"sweep={model.replace('/', '-')}"]
        assert main([*study, *given, *more, f"paths.outputs={tmp_path}/outputs"]) == 0
    moved: dict[str, float] = {}
    for model in ("clip", "vlm"):
        runs = jobs_of(tmp_path, f"toy-{model}")
        change = score_change(*map(vbench.load_run, runs))
        assert change is not None
        page = (runs[0].parents[2] / "report.html").read_text()
        assert f"Largest change of any score: toy/{model}: shuffle {change:.2g}." in page
        moved[model] = change
    assert moved["clip"] <= 1e-5
    assert moved["vlm"] > 0.05
