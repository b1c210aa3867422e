from __future__ import annotations

import importlib.util
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from PIL import Image

from vbench.results.wandb import WandbMirror

_spec = importlib.util.spec_from_file_location(
    "wandb_file", Path(__file__).parent / "wandb_file.py"
)
assert _spec is not None
assert _spec.loader is not None
wandb_file = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(wandb_file)


@pytest.fixture(autouse=True)
def _no_key(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    monkeypatch.delenv("WANDB_API_KEY", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("WANDB_DATA_DIR", str(tmp_path / "staging"))
    yield


def a_record(number: int, outcome: str = "right") -> dict[str, object]:
    return {
        "test": "chrono", "sample_id": str(number), "video_id": f"v{number}", "cluster": "c",
        "texts": ["first <b>a</b>", "zweite ä"], "target": "0", "scores": [0.25, 1 / 3],
        "outcome": outcome, "status": "ok", "reason": "", "response": "", "rule": "",
        "clip_keys": ["k"],
    }  # fmt: skip


ESTIMATES = {"chrono": {"value": 0.5, "ci_low": 0.25, "ci_high": 0.75, "n": 3}}


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_offline_run_holds_every_row_and_the_estimates(tmp_path: Path) -> None:
    Image.new("RGB", (20, 10)).save(tmp_path / "k.jpg")
    mirror = WandbMirror()
    mirror.start(tmp_path / "run", "abc123", "toy/clip", {"sampler.num_frames": 8})
    mirror.add([a_record(0)])
    mirror.add([a_record(1), a_record(2, "tie")])
    mirror.finish([a_record(i) for i in range(3)], ESTIMATES, tmp_path)
    assert not mirror.broken

    (run,) = (tmp_path / "run" / "wandb").glob("offline-run-*")
    assert run.name.endswith("abc123")
    found = wandb_file.summary(run)
    assert found["chrono/value"] == 0.5
    assert found["chrono/n"] == 3
    assert wandb_file.config(run)["sampler.num_frames"] == 8

    tables = [json.loads(f.read_text()) for f in run.glob("files/media/table/*.table.json")]
    live = [t for t in tables if "frames" not in t["columns"]]
    (full,) = [t for t in tables if "frames" in t["columns"]]
    sample_id = live[0]["columns"].index("sample_id")
    assert sorted(row[sample_id] for table in live for row in table["data"]) == ["0", "1", "2"]
    assert len(full["data"]) == 3
    assert full["data"][0][full["columns"].index("frames")] == "Image"
    staged = [f.read_bytes() for f in (tmp_path / "staging").rglob("*") if f.is_file()]
    assert (tmp_path / "k.jpg").read_bytes() in staged
    assert full["data"][0][full["columns"].index("texts")] == "first <b>a</b> | zweite ä"


def test_a_failure_is_told_once_and_ends_the_mirroring_only(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    mirror = WandbMirror()
    mirror.start(blocked / "run", "abc", "name", {})
    mirror.add([a_record(0)])
    mirror.finish([a_record(0)], ESTIMATES, tmp_path)
    assert mirror.broken
    lines = capsys.readouterr().err.strip().splitlines()
    assert len(lines) == 1
    assert "the run goes on" in lines[0]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_max_rows_is_announced(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mirror = WandbMirror(max_rows=2)
    mirror.start(tmp_path / "run", "abc", "name", {})
    mirror.finish([a_record(i) for i in range(3)], {}, tmp_path)
    assert not mirror.broken
    assert "2 of 3 rows" in capsys.readouterr().err


def test_online_needs_a_key(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    mirror = WandbMirror()
    assert mirror._mode() == "offline"
    (tmp_path / "home").mkdir()
    netrc = tmp_path / "home" / ".netrc"
    netrc.write_text("machine api.wandb.ai login user password secret\n")
    netrc.chmod(0o600)
    assert mirror._mode() == "online"
    netrc.unlink()
    monkeypatch.setenv("WANDB_API_KEY", "secret")
    assert mirror._mode() == "online"
    assert WandbMirror(mode="offline")._mode() == "offline"
