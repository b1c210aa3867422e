from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from hashlib import sha256
from io import BytesIO
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

import vbench
from vbench.cli import main
from vbench.errors import RunError
from vbench.results.wandb import WandbMirror, replay

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


def frames_of(tables: Path) -> dict[str, list[tuple[int, int, int] | None]]:
    """What W&B is sent to show: the colour of each clip's strip, by sample."""
    staged = [file.read_bytes() for file in tables.rglob("*") if file.is_file()]
    (full,) = {data for data in staged if data.startswith(b"{") and b'"frames"' in data}
    by_sha = {sha256(data).hexdigest(): data for data in staged}
    table = json.loads(full)
    heads = [k for k, name in enumerate(table["columns"]) if name.startswith("frames")]
    sample_id = table["columns"].index("sample_id")

    def colour(cell: dict[str, str] | None) -> tuple[int, int, int] | None:
        if cell is None:
            return None
        pixel = Image.open(BytesIO(by_sha[cell["sha256"]])).getpixel((1, 1))
        assert isinstance(pixel, tuple)
        return pixel[0], pixel[1], pixel[2]

    return {row[sample_id]: [colour(row[head]) for head in heads] for row in table["data"]}


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_each_clip_of_a_sample_is_shown_in_its_place(tmp_path: Path) -> None:
    for name, grey in (("a", 0), ("b", 255)):
        Image.new("RGB", (20, 10), (grey, grey, grey)).save(tmp_path / f"{name}.jpg")
    keys = [["a"], ["a", "b"], ["b", "a"], [None, "b"], ["gone", None]]
    mirror = WandbMirror()
    mirror.start(tmp_path / "run", "abc", "name", {})
    mirror.finish([{**a_record(k), "clip_keys": of} for k, of in enumerate(keys)], {}, tmp_path)
    assert not mirror.broken
    black, white = (0, 0, 0), (255, 255, 255)
    assert frames_of(tmp_path / "staging") == {
        "0": [black, None],
        "1": [black, white],
        "2": [white, black],
        "3": [None, white],
        "4": [None, None],
    }


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


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_replayed_run_is_the_live_one(
    evaluate_rows: Callable[..., Path], write_grey: Callable[..., None], tmp_path: Path
) -> None:
    rows = []
    for k in range(3):
        write_grey(tmp_path / f"{k}.mp4", 9 * k)
        named = {"id": str(k), "positive": f"a red ball {k}", "negative": "a blue cube"}
        rows.append({"video": str(tmp_path / f"{k}.mp4"), **named})
    words = [
        f"dataset.root={tmp_path}",
        "model=toy/clip",
        "logger=wandb",
        "logger.group=study",
        "logger.tags=[a,b]",
    ]
    run = evaluate_rows(rows, *words)
    (live,) = (run / "wandb").glob("offline-run-*")
    first = wandb_file.told(live)
    assert len(first["full"]) == len(first["live"]) == 3
    assert first["run"][2:] == ("vbench", "study", ["a", "b"])
    assert first["run"][0] == run_id(run)
    assert first["exit_code"] == 0
    assert first["config"]["sampler.name"] == "velociti20"
    tests = vbench.load_run(run).summary["tests"]
    for name in ("value", "ci_low", "ci_high"):
        assert first["summary"][f"table/{name}"] == tests["table"][name]

    live.rename(tmp_path / live.name)
    shutil.rmtree(tmp_path / "staging")
    assert main(["report", "--wandb", str(run)]) == 0
    (again,) = (run / "wandb").glob("offline-run-*")
    second = wandb_file.told(again)
    assert first == second
    assert all(json.loads(row)[0] == "Image" for row in second["full"])
    staged = [f.read_bytes() for f in (tmp_path / "staging").rglob("*") if f.is_file()]
    strips = list((run / "frames").glob("*.jpg"))
    assert len(strips) == 3
    assert all(strip.read_bytes() in staged for strip in strips)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_replay_shows_every_clip(evaluate_rows: Callable[..., Path], tmp_path: Path) -> None:
    run = evaluate_rows([{"id": "0", "positive": "a", "negative": "b"}])
    records = pq.read_table(run / "records.parquet")
    place = records.column_names.index("clip_keys")
    keys = pa.array([["b", "a"]], records.schema.field("clip_keys").type)
    pq.write_table(records.set_column(place, "clip_keys", keys), run / "records.parquet")
    (run / "frames").mkdir()
    for name, grey in (("a", 0), ("b", 255)):
        Image.new("RGB", (20, 10), (grey, grey, grey)).save(run / "frames" / f"{name}.jpg")
    (run.parent / "multirun.yaml").touch()  # as of a sweep that W&B did not watch
    replay(run)
    (again,) = (run / "wandb").glob("offline-run-*")
    assert wandb_file.told(again)["run"][3] == run.parent.name
    assert frames_of(tmp_path / "staging") == {"0": [(255, 255, 255), (0, 0, 0)]}


def run_id(run: Path) -> str:
    from omegaconf import OmegaConf

    from vbench.schema import config_digest

    return config_digest(OmegaConf.create(vbench.load_run(run).config))


def test_what_cannot_be_replayed_is_explained(
    evaluate_rows: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = evaluate_rows([{"id": "0", "positive": "a", "negative": "b"}])

    def refuse(**given: object) -> None:
        raise OSError("no room")

    monkeypatch.setattr("wandb.init", refuse)
    with pytest.raises(RunError, match="could not be mirrored") as caught:
        replay(run)
    assert "no room" in caught.value.why
    (run / "records.parquet").write_bytes(b"damaged")
    with pytest.raises(RunError, match="records cannot be read"):
        replay(run)
    (run / "summary.json").unlink()
    with pytest.raises(RunError, match="not finished"):
        replay(run)


PLANTED = "s3cr3t-planted"


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_nothing_secret_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys in the environment, the command, a git remote, ~/.netrc and an address stay here."""
    project = tmp_path / "project"
    project.mkdir()
    for words in (["init", "-q"], ["remote", "add", "origin", f"https://me:{PLANTED}@host/x.git"]):
        subprocess.run(["git", *words], cwd=project, check=True)
    monkeypatch.chdir(project)
    for name in ("OPENAI_API_KEY", "HF_TOKEN", "WANDB_API_KEY", "VBENCH_SOMETHING"):
        monkeypatch.setenv(name, PLANTED)
    home = Path(os.environ["HOME"])
    home.mkdir()
    (home / ".netrc").write_text(f"machine host login me password {PLANTED}\n")
    monkeypatch.setattr(sys, "argv", ["vbench", f"model.base_url=https://me:{PLANTED}@host/v1"])
    mirror = WandbMirror(mode="offline")
    config = {
        "model.base_url": f"https://me:{PLANTED}@host/v1",
        "dataset.files": [f"http://{PLANTED}@host/a.csv"],
        "prompt.text": "Is it 5 o'clock @ home? a/b@c",
        "model.extra_body.api_key": PLANTED,
        "model.extra_body.headers": [{"Authorization": f"Bearer {PLANTED}"}],
        "model.url": f"http://host/?access_token={PLANTED}&n=1",
    }
    mirror.start(tmp_path / "run", "abc", "name", config)
    mirror.add([a_record(0)])
    mirror.finish([a_record(0)], ESTIMATES, tmp_path)
    assert not mirror.broken
    (run,) = (tmp_path / "run" / "wandb").glob("offline-run-*")
    found = wandb_file.config(run)
    assert found["model.base_url"] == "https://host/v1"
    assert found["prompt.text"] == config["prompt.text"]
    files = [f for place in ("run", "staging") for f in (tmp_path / place).rglob("*")]
    read = [file.read_bytes() for file in files if file.is_file()]
    assert len(read) > 3
    assert not any(PLANTED.encode() in content for content in read)
