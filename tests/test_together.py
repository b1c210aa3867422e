"""Jobs of a sweep in one process: files decoded in one pass, models and datasets loaded once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from omegaconf import DictConfig

import vbench
from vbench.cli import main
from vbench.frames import video
from vbench.models.dual_encoder import DualEncoder
from vbench.results.run import Run
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
    begin = DualEncoder.__init__

    def counting(self: DualEncoder, *given: object, **named: object) -> None:
        made.append(str(named.get("pooling")))
        begin(self, *given, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(DualEncoder, "__init__", counting)
    run_all(configs(root, tmp_path))
    # Once to see what each job shows, once to run.
    assert made == ["mean_then_normalise", "normalise_then_mean"] * 2


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
