from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from vbench.errors import RunError
from vbench.records import Prediction
from vbench.results.store import RunFolder, merge, open_run, write_atomically, write_json


def same(config: Mapping[str, object]) -> Mapping[str, object]:
    return {key: value for key, value in config.items() if key != "loader"}


CLIP = Prediction(
    "k1", "clip", "ok", embedding=np.array([0.6, 0.8], np.float32), video_id="v", path="v.mp4",
    frame_indices=(0, 12), timestamps_s=(0.0, 0.5), frames_wanted=3,
)  # fmt: skip
PAIR = Prediction("k2", "pair", "ok", score=0.1)
BROKEN = Prediction("k3", "clip", "decode_error", reason="no video stream", path="w.mp4")


def test_predictions_survive_the_disk(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    folder.write_predictions([CLIP, PAIR])
    folder.write_predictions([BROKEN], rank=1)
    rows = RunFolder(tmp_path).new_predictions()
    assert list(rows) == ["k1", "k2", "k3"]
    np.testing.assert_array_equal(rows["k1"].embedding, CLIP.embedding)
    assert rows["k1"].frame_indices == (0, 12)
    assert rows["k1"].timestamps_s == (0.0, 0.5)
    assert (rows["k2"].score, rows["k2"].embedding) == (0.1, None)
    assert (rows["k3"].status, rows["k3"].reason) == ("decode_error", "no video stream")


def test_a_shard_is_read_once(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    folder.write_predictions([PAIR])
    assert list(folder.new_predictions()) == ["k2"]
    assert folder.new_predictions() == {}
    folder.write_predictions([BROKEN])
    assert list(folder.new_predictions()) == ["k3"]


def test_shards_are_plain_parquet(tmp_path: Path) -> None:
    RunFolder(tmp_path).write_predictions([CLIP, PAIR])
    table = pd.read_parquet(tmp_path / "predictions")
    assert list(table["key"]) == ["k1", "k2"]


def test_nothing_is_written_for_nothing(tmp_path: Path) -> None:
    RunFolder(tmp_path).write_predictions([])
    assert not (tmp_path / "predictions").exists()


def test_a_half_written_shard_is_invisible(tmp_path: Path) -> None:
    def die(aside: Path) -> None:
        aside.write_bytes(b"half")
        raise OSError(28, "No space left on device")

    with pytest.raises(RunError, match="No space left") as caught:
        write_atomically(tmp_path / "predictions" / "x.parquet", die)
    assert "resumes" in caught.value.mend
    assert RunFolder(tmp_path).new_predictions() == {}
    assert list((tmp_path / "predictions").iterdir()) == []


def test_a_file_where_a_folder_must_be_is_named(tmp_path: Path) -> None:
    (tmp_path / "run").write_text("")
    with pytest.raises(RunError) as caught:
        RunFolder(tmp_path / "run").write_status("running")
    assert "run/status.json" in caught.value.where


def test_a_broken_shard_is_named(tmp_path: Path) -> None:
    (tmp_path / "predictions").mkdir()
    (tmp_path / "predictions" / "1.parquet").write_bytes(b"garbage")
    with pytest.raises(RunError) as caught:
        RunFolder(tmp_path).new_predictions()
    assert "1.parquet" in caught.value.where


def test_a_final_row_is_never_replaced_by_a_failure() -> None:
    ok = Prediction("k", "pair", "ok", score=1.0)
    failed = Prediction("k", "pair", "model_error")
    for order in ([ok, failed], [failed, ok]):
        rows: dict[str, Prediction] = {}
        for row in order:
            merge(rows, row)
        assert rows["k"] is ok


def test_continuing_needs_the_same_settings(tmp_path: Path) -> None:
    config = {"sampler.num_frames": 8, "limit": None, "loader": 1}
    open_run(tmp_path / "run", config, same)
    open_run(tmp_path / "run", config | {"loader": 2}, same)  # cannot change a score
    with pytest.raises(RunError) as caught:
        open_run(tmp_path / "run", config | {"sampler.num_frames": 4}, same)
    assert "sampler.num_frames: 8 there, 4 now" in caught.value.why
    assert "limit" not in caught.value.why


def test_fresh_discards_the_old_run_but_nothing_else(tmp_path: Path) -> None:
    folder = open_run(tmp_path, {"a": 1}, same)
    folder.write_predictions([PAIR])
    (tmp_path / "notes.txt").write_text("mine")
    folder = open_run(tmp_path, {"a": 2}, same, fresh=True)
    assert folder.new_predictions() == {}
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_fresh_discards_what_a_killed_process_was_writing(tmp_path: Path) -> None:
    def die(aside: Path) -> None:
        aside.write_text("half")
        raise KeyboardInterrupt  # like a kill, it leaves the file

    open_run(tmp_path, {"a": 1}, same)
    for name in ("status.json", "predictions/1.parquet", "tables/tests.csv"):
        with pytest.raises(KeyboardInterrupt):
            write_atomically(tmp_path / name, die)
    (tmp_path / ".notes.txt.7.0123abcd.tmp").write_text("mine")
    assert len(list(tmp_path.rglob(".*.tmp"))) == 4
    open_run(tmp_path, {"a": 1}, same)  # another process may be writing
    assert len(list(tmp_path.rglob(".*.tmp"))) == 4
    open_run(tmp_path, {"a": 1}, same, fresh=True)
    assert [file.name for file in tmp_path.rglob(".*.tmp")] == [".notes.txt.7.0123abcd.tmp"]


def test_a_fresh_start_that_is_killed_leaves_a_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_run(tmp_path, {"a": 1}, same).write_predictions([PAIR])
    (tmp_path / "notes.txt").write_text("mine")
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr("shutil.rmtree", lambda folder: (_ for _ in ()).throw(KeyboardInterrupt))
        open_run(tmp_path, {"a": 1}, same, fresh=True)
    assert list(open_run(tmp_path, {"a": 1}, same).new_predictions()) == ["k2"]
    assert open_run(tmp_path, {"a": 2}, same, fresh=True).new_predictions() == {}


def test_a_run_that_another_process_writes_is_not_discarded(tmp_path: Path) -> None:
    from vbench.results.process import _started, this_process

    other = {"pid": os.getppid(), "started": _started(os.getppid())}
    for file, writer in (("status.json", {}), ("status/1.json", other)):
        folder = open_run(tmp_path, {"a": 1}, same)
        folder.write_predictions([PAIR])
        write_json(tmp_path / file, {"state": "running", "process": this_process() | writer})
    with pytest.raises(RunError, match="another process is writing this run") as caught:
        open_run(tmp_path, {"a": 1}, same, fresh=True)
    assert str(os.getppid()) in caught.value.why
    assert list(folder.new_predictions()) == ["k2"]
    for gone in ({"state": "failed", "process": other}, {"state": "running", "process": {}}):
        write_json(tmp_path / "status" / "1.json", gone)
        folder.write_predictions([PAIR])
        assert open_run(tmp_path, {"a": 1}, same, fresh=True).new_predictions() == {}


@pytest.mark.parametrize("call", ["exists", "iterdir"])
def test_two_processes_open_a_run_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    (tmp_path / "run").mkdir()
    real = getattr(Path, call)

    def before_another(path: Path) -> object:
        found = real(path)
        if path.name == "config.yaml" or call == "iterdir":
            monkeypatch.undo()
            open_run(tmp_path / "run", {"a": 1}, same).write_predictions([PAIR])
        return found

    monkeypatch.setattr(Path, call, before_another)
    folder = open_run(tmp_path / "run", {"a": 1}, same)
    assert list(folder.new_predictions()) == ["k2"]


def test_foreign_files_are_never_overwritten(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("mine")
    with pytest.raises(RunError, match="not a vbench run"):
        open_run(tmp_path, {"a": 1}, same, fresh=True)
    with pytest.raises(RunError, match="not a folder"):
        open_run(tmp_path / "thesis.tex", {"a": 1}, same)


def test_status_is_strict_json(tmp_path: Path) -> None:
    RunFolder(tmp_path).write_status("running", requests=3)
    status = json.loads((tmp_path / "status.json").read_text())
    assert (status["state"], status["requests"]) == ("running", 3)


def test_rows_are_looked_up_by_key(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    folder.write_predictions([PAIR, CLIP])
    folder.write_predictions([Prediction("k4", "pair", "oom"), BROKEN])
    folder.write_predictions([Prediction("k4", "pair", "ok", score=0.5)])
    found = folder.predictions(["k1", "k4", "unknown"])
    assert set(found) == {"k1", "k4"}
    np.testing.assert_array_equal(found["k1"].embedding, CLIP.embedding)
    assert found["k4"].score == 0.5
    assert folder.predictions([]) == {}


def test_each_shard_has_a_status_of_its_own(tmp_path: Path) -> None:
    for shard, state in ((0, "running"), (2, "waiting")):
        RunFolder(tmp_path, (shard, 3)).write_status(state)
    notes = {f.name: json.loads(f.read_text()) for f in (tmp_path / "status").iterdir()}
    assert {name: note["state"] for name, note in notes.items()} == {
        "0.json": "running", "2.json": "waiting",
    }  # fmt: skip
    last = json.loads((tmp_path / "status.json").read_text())
    assert (last["state"], last["shard"], last["shards"]) == ("waiting", 2, 3)
