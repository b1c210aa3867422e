"""One evaluation, end to end: real mp4 files, a real checkpoint, the real loop."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

import vbench
from vbench.cli import main
from vbench.errors import ConfigError, RunError
from vbench.models import dual_encoder
from vbench.models.dual_encoder import DualEncoder
from vbench.results import environment
from vbench.results.run import Run
from vbench.results.store import RunFolder
from vbench.score import score

VIDEOS = 6
BINDING = {"agent_bind", "action_bind", "agent_coref", "chrono"}


@pytest.fixture(scope="session")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A rendered toy benchmark of six videos."""
    root = tmp_path_factory.mktemp("toy")
    arguments = f"build dataset=velociti/toy num_videos={VIDEOS} seed=5 dataset.root={root}/set"
    subprocess.run([sys.executable, "-m", "vbench", *arguments.split()], check=True, timeout=300)
    return root / "set"


def overrides(toy: Path, run_dir: Path, *more: str) -> list[str]:
    fixed = ["dataset=velociti/toy", f"dataset.num_videos={VIDEOS}", "dataset.seed=5"]
    where = [f"dataset.root={toy}", f"run_dir={run_dir}", "trainer=cpu", "logger=none"]
    return [*fixed, *where, "loader.num_workers=0", "loader.cache=false", *more]


def evaluate(toy: Path, run_dir: Path, *more: str) -> Run:
    run = vbench.evaluate(*overrides(toy, run_dir, *more))
    assert run is not None
    return run


@pytest.fixture(scope="session")
def clip_run(toy: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    return evaluate(toy, tmp_path_factory.mktemp("run") / "clip", "model=toy/clip")


def test_a_run_leaves_what_the_contract_names(clip_run: Run) -> None:
    for name in ("config.yaml", ".hydra/config.yaml", "environment.json", "status.json",
                 "records.parquet", "summary.json"):  # fmt: skip
        assert (clip_run.path / name).is_file(), name
    assert list((clip_run.path / "predictions").glob("*.parquet"))
    assert {file.suffix for file in (clip_run.path / "tables").iterdir()} == {".md", ".tex", ".csv"}
    assert json.loads((clip_run.path / "status.json").read_text())["state"] == "done"
    assert clip_run.exit_code == 0


def test_summary_has_the_fields_and_tests_of_the_contract(clip_run: Run) -> None:
    fields = {"value", "ci_low", "ci_high", "stderr", "n", "clusters", "ties", "value_half_ties",
              "truncated", "chance"}  # fmt: skip
    tests = clip_run.summary["tests"]
    for name, estimate in tests.items():
        assert fields <= set(estimate), name
        assert 0 <= estimate["ci_low"] <= estimate["value"] <= estimate["ci_high"] <= 1
    assert {"control_t2v", "control_v2t", "ivat_group", "agent_iden", "chrono"} <= set(tests)
    assert tests["ivat_group"]["n"] == VIDEOS
    coverage = clip_run.summary["coverage"]
    assert coverage["failed"] == []
    assert coverage["n"] == coverage["answered"] == len(clip_run.records)


def test_records_hold_the_scores_behind_the_summary(clip_run: Run) -> None:
    records = clip_run.records
    assert not records.duplicated(["test", "sample_id"]).any()
    for row in records.itertuples():
        clips = {"v2t": 1, "t2v": 2, "match": 2}[row.kind]
        assert len(row.scores) == clips * len(row.texts)
        assert len(row.frame_indices) == clips
    whole = records[records.test == "agent_iden"].iloc[0]
    assert len(whole.frame_indices[0]) == 20
    halves = records[records.test == "ivat"].iloc[0]
    assert [len(half) for half in halves.frame_indices] == [8, 8]
    for name in ("agent_iden", "chrono"):
        right = [row[0] > row[1] for row in records[records.test == name].scores]
        assert clip_run.summary["tests"][name]["value"] == pytest.approx(np.mean(right))


def test_scores_equal_the_checkpoint_called_by_hand(clip_run: Run, toy: Path) -> None:
    """An independent pipeline: PyAV, the checkpoint's own processor, transformers."""
    import av
    import torch
    from transformers import AutoProcessor, CLIPModel

    folder = Path(vbench.__file__).parent / "assets" / "toy_clip"
    model, processor = CLIPModel.from_pretrained(folder), AutoProcessor.from_pretrained(folder)
    records = clip_run.records
    row = records[records.test == "action_adv"].iloc[0]
    with av.open(row.clip_paths[0]) as container:
        frames = [frame.to_image() for frame in container.decode(video=0)]
    fps = 12
    indices = [round((s + o) * fps) - 1 for s in range(10) for o in (0.25, 0.75)]
    assert list(row.frame_indices[0]) == indices
    inputs = processor(text=list(row.texts), images=[frames[i] for i in indices],
                       return_tensors="pt", padding=True)  # fmt: skip
    with torch.inference_mode():
        text = model(**inputs).text_embeds
        image = model.get_image_features(inputs["pixel_values"]).pooler_output.mean(0)
        cosine = torch.nn.functional.cosine_similarity(image[None], text)
    np.testing.assert_allclose(row.scores, cosine.numpy(), atol=2e-3)  # one grey level of resizing


def test_typing_the_command_again_asks_nothing(clip_run: Run, toy: Path) -> None:
    shards = set((clip_run.path / "predictions").iterdir())
    before = clip_run.records
    again = evaluate(toy, clip_run.path, "model=toy/clip")
    assert set((again.path / "predictions").iterdir()) == shards
    pd.testing.assert_frame_equal(again.records, before)


def test_a_run_with_lost_shards_is_completed_to_the_same_records(
    clip_run: Run, toy: Path, tmp_path: Path
) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(clip_run.path, copy)
    for name in ("records.parquet", "summary.json"):
        (copy / name).unlink()
    shards = sorted((copy / "predictions").iterdir())
    frame = pd.read_parquet(shards[0])
    shards[0].unlink()
    half = frame.iloc[: len(frame) // 2]
    half.to_parquet(shards[0])
    run = evaluate(toy, copy, "model=toy/clip")
    close(run.records, clip_run.records)


def close(ours: pd.DataFrame, theirs: pd.DataFrame) -> None:
    same = [name for name in ours.columns if name not in ("scores",)]
    pd.testing.assert_frame_equal(ours[same], theirs[same])
    np.testing.assert_allclose(
        np.concatenate(list(ours.scores)), np.concatenate(list(theirs.scores)), atol=1e-5
    )


@pytest.mark.parametrize(
    "more",
    [
        ["loader.batch_size=1", "loader.frames_per_batch=3", "loader.texts_per_batch=5"],
        ["loader.batch_size=16", "loader.num_workers=2", "loader.flush_seconds=0"],
    ],
)
def test_batches_and_workers_change_no_score(
    clip_run: Run, toy: Path, tmp_path: Path, more: list[str]
) -> None:
    close(evaluate(toy, tmp_path / "run", "model=toy/clip", *more).records, clip_run.records)


@pytest.mark.slow
def test_two_devices_give_the_same_records(clip_run: Run, toy: Path, tmp_path: Path) -> None:
    words = overrides(toy, tmp_path / "run", "model=toy/clip", "trainer.devices=2")
    subprocess.run([sys.executable, "-m", "vbench", "evaluate", *words], check=True, timeout=300)
    records = vbench.load_run(tmp_path / "run").records
    close(records, clip_run.records)
    ranks = {file.name.split("-")[1] for file in (tmp_path / "run" / "predictions").iterdir()}
    assert ranks == {"0000", "0001"}


def test_another_config_in_the_same_folder_is_refused(clip_run: Run, toy: Path) -> None:
    with pytest.raises(RunError) as caught:
        evaluate(toy, clip_run.path, "model=toy/clip", "sampler.order=reverse")
    assert "sampler.order" in caught.value.why


def test_broken_videos_are_recorded_and_the_rest_is_scored(
    clip_run: Run, toy: Path, tmp_path: Path
) -> None:
    shutil.copytree(toy, tmp_path / "set")
    videos = sorted((tmp_path / "set").rglob("*.mp4"))
    assert len(videos) == VIDEOS
    videos[0].write_bytes(b"garbage")
    videos[1].unlink()
    run = evaluate(tmp_path / "set", tmp_path / "run", "model=toy/clip")
    assert run.exit_code == 3
    coverage = run.summary["coverage"]
    failed = {Path(entry["path"]).name: entry for entry in coverage["failed"]}
    assert set(failed) == {videos[0].name, videos[1].name}
    for video in videos[:2]:
        entry = failed[video.name]
        assert entry["video_id"] == video.stem
        assert entry["status"] == "decode_error"
        assert entry["reason"]
    lost = run.records[run.records.status != "ok"]
    assert set(lost.outcome) == {"unscored"}
    assert coverage["answered"] == coverage["n"] - len(lost)
    ok = run.records[run.records.status == "ok"].set_index(["test", "sample_id"]).scores
    whole = clip_run.records.set_index(["test", "sample_id"]).scores
    for name, scores in ok.items():
        np.testing.assert_allclose(scores, whole[name], atol=1e-5)
    # The files come back: only they are asked again, and the run is whole.
    for video in videos[:2]:
        shutil.copy(next(toy.rglob(video.name)), video)
    healed = evaluate(tmp_path / "set", tmp_path / "run", "model=toy/clip")
    assert healed.exit_code == 0


def test_oracles_open_no_file(toy: Path, tmp_path: Path) -> None:
    shutil.copytree(toy, tmp_path / "set", ignore=shutil.ignore_patterns("*.mp4"))
    run = evaluate(tmp_path / "set", tmp_path / "run", "model=oracle/perfect")
    assert run.exit_code == 0
    assert {estimate["value"] for estimate in run.summary["tests"].values()} == {1.0}


def test_constant_is_wrong_under_strict_and_chance_under_half(toy: Path, tmp_path: Path) -> None:
    strict = evaluate(toy, tmp_path / "strict", "model=oracle/constant").summary["tests"]
    assert {estimate["value"] for estimate in strict.values()} == {0.0}
    half = evaluate(toy, tmp_path / "half", "model=oracle/constant", "metric.tie=half")
    for name, estimate in half.summary["tests"].items():
        expected = {"ivat_matching_t2v": 1 / 4, "ivat_matching_v2t": 1 / 4, "ivat_group": 1 / 6}
        assert estimate["value"] == pytest.approx(expected.get(name, 1 / 2), abs=1e-12), name


def test_limit_is_per_test_and_marked(toy: Path, tmp_path: Path) -> None:
    run = evaluate(toy, tmp_path / "run", "model=oracle/random", "limit=3")
    counts = run.records.test.value_counts()
    assert counts.max() == 3
    for table in (run.path / "tables").glob("*.md"):
        assert "limit" in table.read_text()


def test_the_order_of_frames_changes_no_pooled_score(
    clip_run: Run, toy: Path, tmp_path: Path
) -> None:
    run = evaluate(toy, tmp_path / "run", "model=toy/clip", "sampler.order=reverse")
    first = run.records[run.records.test == "agent_iden"].iloc[0].frame_indices[0]
    assert list(first) == sorted(first, reverse=True)
    ours, theirs = run.records.scores, clip_run.records.scores
    np.testing.assert_allclose(np.concatenate(list(ours)), np.concatenate(list(theirs)), atol=1e-5)


def test_precision_is_read_back_and_recorded(toy: Path, tmp_path: Path) -> None:
    run = evaluate(
        toy, tmp_path / "run", "model=toy/clip", "trainer.precision=bf16-true", "limit=2"
    )
    told = json.loads((run.path / "environment.json").read_text())
    (place,) = told["answered"]
    assert place["weight_dtype"] == "bfloat16"
    assert told["precision"] == "bf16-true"
    scores = np.concatenate(list(run.records.scores))
    assert np.isfinite(scores).all()


def stands_on(monkeypatch: pytest.MonkeyPatch, gpu: str) -> None:
    known = environment.machine()
    monkeypatch.setattr(environment, "machine", lambda: {**known, "gpu": gpu})


def gpus(run: Path) -> list[str]:
    told = json.loads((run / "environment.json").read_text())
    return [place["gpu"] for place in told["answered"]]


def test_the_environment_is_where_answers_were_made(
    toy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["model=toy/clip", "limit=2", "loader.batch_size=1", "loader.flush_seconds=0"]
    stands_on(monkeypatch, "first")
    run = evaluate(toy, tmp_path / "run", *words).path
    assert gpus(run) == ["first"]
    shutil.copytree(run, tmp_path / "moved")
    for shard in sorted((tmp_path / "moved/predictions").iterdir())[1::2]:
        shard.unlink()
    stands_on(monkeypatch, "second")
    evaluate(toy, tmp_path / "moved", *words)
    assert gpus(tmp_path / "moved") == ["first", "second"]

    def refuse(*unused: object) -> None:
        raise AssertionError("weights were loaded")

    monkeypatch.setattr(dual_encoder, "load_dual_encoder", refuse)
    stands_on(monkeypatch, "reader's")
    (tmp_path / "moved/environment.json").unlink()
    evaluate(toy, tmp_path / "moved", *words)  # typed again, with nothing left to ask
    assert gpus(tmp_path / "moved") == ["first", "second"]
    half = [f"run_dir={tmp_path}/half", "metric.tie=half"]
    with monkeypatch.context() as patch:
        patch.setattr("vbench.loop.predict.make_trainer", refuse)  # its GPU need not be here
        scored = score(tmp_path / "moved", half)
    assert scored is not None
    assert gpus(scored.path) == ["first", "second"]
    assert main(["diff", str(run), str(tmp_path / "moved")]) == 0
    assert "first → first | second" in capsys.readouterr().out


@pytest.mark.skipif(torch.cuda.is_available(), reason="trainer=auto would find the GPU")
@pytest.mark.parametrize("precision", ["16-mixed", "16-true"])
def test_float16_is_refused_where_the_trainer_finds_only_a_cpu(
    toy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, precision: str
) -> None:
    monkeypatch.setattr(DualEncoder, "module", property(pytest.fail))  # before weights are loaded
    words = ["model=toy/clip", "trainer=auto", f"trainer.precision={precision}", "limit=1"]
    with pytest.raises(ConfigError, match="not for a CPU"):
        evaluate(toy, tmp_path / "run", *words)
    assert not list(tmp_path.glob("run/predictions/*"))
    words[0] = "model=oracle/perfect"  # has no weights
    assert evaluate(toy, tmp_path / "oracle", *words).exit_code == 0


def test_shards_meet_in_one_folder(clip_run: Run, toy: Path, tmp_path: Path) -> None:
    words = overrides(toy, tmp_path / "run", "model=toy/clip", "shards=3")
    for shard in (2, 0):
        assert vbench.evaluate(*words, f"shard={shard}") is None
        status = json.loads((tmp_path / "run" / "status.json").read_text())
        assert status["state"] == "waiting"
        assert not (tmp_path / "run" / "summary.json").exists()
    run = vbench.evaluate(*words, "shard=1")
    assert run is not None
    close(run.records, clip_run.records)
    keys = pd.concat([pd.read_parquet(f) for f in (run.path / "predictions").iterdir()]).key
    assert keys.is_unique


def test_shards_that_end_at_the_same_moment(
    toy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = overrides(toy, tmp_path / "run", "model=oracle/random", "shards=2")
    note = RunFolder.write_status

    def after_the_other(folder: RunFolder, state: str, **details: object) -> None:
        if state == "waiting":
            monkeypatch.undo()
            assert vbench.evaluate(*words, "shard=1") is not None
        note(folder, state, **details)

    monkeypatch.setattr(RunFolder, "write_status", after_the_other)
    assert vbench.evaluate(*words, "shard=0") is not None
    for name in ("status.json", "status/0.json", "status/1.json"):
        assert json.loads((tmp_path / "run" / name).read_text())["state"] == "done"


def test_on_error_fail_ends_the_run_and_keeps_what_is_answered(
    clip_run: Run, toy: Path, tmp_path: Path
) -> None:
    shutil.copytree(toy, tmp_path / "set")
    video = sorted((tmp_path / "set").rglob("*.mp4"))[3]
    video.write_bytes(b"garbage")
    words = ["model=toy/clip", "loader.batch_size=1"]
    with pytest.raises(RunError, match="on_error=fail") as caught:
        evaluate(tmp_path / "set", tmp_path / "run", *words, "on_error=fail")
    assert caught.value.where == str(video)
    assert json.loads((tmp_path / "run" / "status.json").read_text())["state"] == "failed"
    assert list((tmp_path / "run" / "predictions").glob("*.parquet"))
    assert evaluate(tmp_path / "set", tmp_path / "run", *words).exit_code == 3


def test_each_failure_is_one_line_with_path_and_reason(
    toy: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(toy, tmp_path / "set")
    video = sorted((tmp_path / "set").rglob("*.mp4"))[0]
    video.write_bytes(b"garbage")
    evaluate(tmp_path / "set", tmp_path / "run", "model=toy/clip")
    lines = [line for line in capfd.readouterr().err.splitlines() if str(video) in line]
    assert len(lines) == 1
    assert lines[0].startswith(f"decode_error: {video}: ")


def test_planned_and_sequential_decoding_give_the_same_records(
    clip_run: Run, toy: Path, tmp_path: Path
) -> None:
    run = evaluate(toy, tmp_path / "run", "model=toy/clip", "loader.decode=sequential")
    pd.testing.assert_frame_equal(run.records, clip_run.records)


def test_decoded_frames_are_shared_between_runs(
    clip_run: Run, toy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = ["model=toy/clip", "loader.frame_cache_gb=1", f"paths.cache={tmp_path / 'cache'}"]
    first = evaluate(toy, tmp_path / "first", *kept)
    monkeypatch.setattr("vbench.frames.video._planned", lambda *_: pytest.fail("decoded again"))
    second = evaluate(toy, tmp_path / "second", *kept)
    for run in (first, second):
        pd.testing.assert_frame_equal(run.records, clip_run.records)


def test_a_dataset_that_has_changed_is_said_so(
    evaluate_rows: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    """Its files are no settings: the folder is the same, and its numbers are others now."""
    rows = [{"id": str(k), "positive": f"cat {k}", "negative": "dog"} for k in range(4)]
    run = evaluate_rows(rows)
    again = f"dataset.file={run.parent}/rows.jsonl"
    evaluate_rows(rows, again, f"run_dir={run}")
    assert "asked before" not in capsys.readouterr().err
    rows[1] |= {"negative": "cow"}
    lines = [json.dumps({"video": "v.mp4", **row}) for row in rows[:3]]
    (run.parent / "rows.jsonl").write_text("\n".join(lines))
    evaluate_rows(rows, again, f"run_dir={run}")
    assert "2 samples are not what this folder asked before" in capsys.readouterr().err


def test_a_run_is_called_in_its_tables_what_it_is_called_elsewhere(
    evaluate_rows: Callable[..., Path],
) -> None:
    run = evaluate_rows([{"id": "1", "positive": "cat", "negative": "dog"}])
    (table,) = (run / "tables").glob("tests.md")
    assert table.read_text().startswith("**oracle/random: accuracy in %")
