"""`vbench plan` against counts made by hand and against what evaluating then does."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import vbench
from vbench.cli import main
from vbench.errors import ModelError, RunError
from vbench.frames.samplers import FixedSampler
from vbench.frames.source import open_source
from vbench.planning import forecast
from vbench.results.outlook import Amount, Outlook
from vbench.schema import compose

VIDEOS = 4

Words = Callable[..., list[str]]


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("toy") / "set"
    assert main(["build", f"dataset.root={root}", f"num_videos={VIDEOS}", "seed=3"]) == 0
    return root


@pytest.fixture
def words(toy: Path, tmp_path: Path) -> Words:
    def command(*more: str, root: Path = toy) -> list[str]:
        fixed = [f"dataset.root={root}", f"run_dir={tmp_path}/run", f"paths.cache={tmp_path}/cache"]
        quick = ["trainer=cpu", "logger=none", "loader.num_workers=0"]
        return [*fixed, *quick, f"paths.outputs={tmp_path}/outputs", *more]

    return command


def plan(words: list[str]) -> Outlook:
    return forecast(compose(words))


def test_counts_are_those_made_by_hand(toy: Path, words: Words) -> None:
    from vbench.datasets.toy.benchmark import ToyVelociti

    samples = ToyVelociti(str(toy)).samples()
    sampler = FixedSampler("velociti20")
    frames = {
        clip: open_source(clip.path).pick(clip, sampler).indices
        for sample in samples
        for clip in sample.clips
    }
    union: dict[str, set[int]] = {}
    for clip, indices in frames.items():
        union.setdefault(clip.path, set()).update(indices)
    found = plan(words())
    assert sum(found.samples.values()) == len(samples)
    assert found.requests == sum(len(s.clips) * len(s.texts) for s in samples)
    pairs = {(clip, text) for s in samples for clip in s.clips for text in s.texts}
    assert found.unique_requests == len(pairs)
    texts = {text for _, text in pairs}
    shown = sum(len(indices) for indices in union.values())
    assert found.planned == Amount(VIDEOS, len(frames), shown, len(texts))
    assert found.left == found.planned
    decodes = sum(len(s.clips) for s in samples)
    asked = sum(len(frames[clip]) for s in samples for clip in s.clips)
    told = sum(len(s.texts) for s in samples)
    assert found.per_sample == Amount(decodes, decodes, asked, told)
    assert found.bytes.videos == sum(file.stat().st_size for file in toy.rglob("*.mp4"))
    assert found.bytes.decoded == shown * 128 * 128 * 3
    assert found.bytes.prepared == shown * 64 * 64 * 3  # bytes; they become fp32 in small chunks
    assert found.bytes.embeddings == (len(frames) + len(texts)) * 128 * 4
    assert found.answers.total == len(frames) + len(texts)
    assert found.faults == {}


def test_no_weights_are_read(words: Words, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file of the weights is garbage, and what would load it fails the test."""
    toy_clip = Path(vbench.__file__).parent / "assets" / "toy_clip"
    folder = shutil.copytree(toy_clip, tmp_path / "checkpoint")
    (folder / "model.safetensors").write_bytes(b"no tensors here" * 100)
    command = words("model=hf/dual_encoder", f"model.checkpoint={folder}")
    with pytest.raises(ModelError, match="weights cannot be loaded"):
        vbench.evaluate(*command)
    shutil.rmtree(tmp_path / "run")

    def never(*_: object) -> None:
        raise AssertionError("weights were asked for")

    monkeypatch.setattr("vbench.models.dual_encoder.load_dual_encoder", never)
    found = plan(command)
    assert found.planned == plan(words()).planned
    assert found.bytes.embeddings == plan(words()).bytes.embeddings


def test_planning_leaves_no_run_behind(toy: Path, words: Words, tmp_path: Path) -> None:
    def files() -> dict[Path, int]:
        return {file: file.stat().st_mtime_ns for file in toy.rglob("*")}

    before = files()
    plan(words())
    assert files() == before
    assert not (tmp_path / "run").exists()
    assert not (tmp_path / "outputs").exists()


def test_what_is_answered_is_not_left(words: Words, tmp_path: Path) -> None:
    whole = plan(words())
    vbench.evaluate(*words("loader.flush_seconds=0", "loader.batch_size=1"))
    done = plan(words())
    assert (done.answers.stored, done.answers.cached) == (whole.answers.total, 0)
    assert done.left == Amount()
    assert done.planned == whole.planned
    # a fresh start still finds what other runs have computed, unless told not to
    fresh = plan(words("fresh=true"))
    assert (fresh.answers.stored, fresh.answers.cached) == (0, whole.answers.total)
    alone = plan(words("fresh=true", "loader.cache=false"))
    assert (alone.answers.cached, alone.left) == (0, whole.planned)
    # without one file of predictions, exactly its rows are left
    import pandas as pd

    lost = sorted((tmp_path / "run" / "predictions").iterdir())[-1]
    rows = pd.read_parquet(lost)
    lost.unlink()
    some = plan(words("loader.cache=false"))
    assert some.answers.stored == whole.answers.total - len(rows)
    assert some.left.clips + some.left.texts == len(rows)
    assert some.left.frames == len({i for row in rows.frame_indices for i in row})


def test_other_settings_in_the_run_folder_are_refused(words: Words) -> None:
    vbench.evaluate(*words("model=oracle/random", "limit=1"))
    with pytest.raises(RunError, match="other settings"):
        plan(words("model=oracle/random", "limit=2"))


def test_shards_share_what_is_left(words: Words) -> None:
    whole = plan(words()).planned
    shares = [plan(words("shards=3", f"shard={shard}")) for shard in range(3)]
    assert {share.planned for share in shares} == {whole}
    for name in ("files", "clips", "frames", "texts"):
        assert sum(getattr(share.left, name) for share in shares) == getattr(whole, name)


def test_the_same_content_is_counted_once_and_faults_are_named(
    toy: Path, words: Words, tmp_path: Path
) -> None:
    root = shutil.copytree(toy, tmp_path / "set")
    videos = sorted(root.rglob("*.mp4"))
    videos[0].write_bytes(b"garbage")
    videos[1].unlink()
    shutil.copy(videos[2], videos[3])
    found = plan(words(root=root))
    assert found.faults == {
        str(videos[0]): "the file cannot be read as video",
        str(videos[1]): "no such video file",
    }
    assert found.planned.files == VIDEOS - 1
    assert found.planned.frames == 20
    # each sample would have decoded it by its own path
    assert found.per_sample.files == plan(words()).per_sample.files


def test_a_scorer_of_pairs_opens_nothing(toy: Path, words: Words, tmp_path: Path) -> None:
    root = shutil.copytree(toy, tmp_path / "set", ignore=shutil.ignore_patterns("*.mp4"))
    found = plan(words("model=oracle/constant", root=root))
    assert found.planned == Amount(pairs=found.unique_requests)
    assert found.per_sample == Amount(pairs=found.requests)
    assert found.time.decode_cpu_s is None
    assert (found.bytes.videos, found.faults) == (0, {})


def test_time_is_measured_or_not_told(words: Words) -> None:
    time = plan(words()).time
    assert time.decode_cpu_s is not None
    assert time.decode_cpu_s > 0
    assert len(time.measured_on) == 2
    assert (time.total_s, time.pace) == (None, None)


def refuse(constant: str) -> float:
    raise ValueError(f"{constant} is no JSON")


def test_json_is_strict_and_its_keys_are_these(
    words: Words, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["plan", "--json", *words()]) == 0
    said = json.loads(capsys.readouterr().out, parse_constant=refuse)
    assert {key: list(value) for key, value in said.items() if isinstance(value, dict)} == {
        "samples": list(said["samples"]),
        "per_sample": ["files", "clips", "frames", "texts", "pairs", "replies"],
        "planned": ["files", "clips", "frames", "texts", "pairs", "replies"],
        "answers": ["total", "stored", "cached"],
        "left": ["files", "clips", "frames", "texts", "pairs", "replies"],
        "bytes": ["videos", "decoded", "prepared", "embeddings"],
        "time": ["decode_cpu_s", "decode_workers", "measured_on", "total_s", "pace"],
        "faults": [],
        "reuse": ["files", "clips", "frames", "texts", "pairs", "replies"],
    }
    others = ["version", "name", "run_dir", "requests", "unique_requests"]
    assert [key for key, value in said.items() if not isinstance(value, dict)] == others
    assert said["version"] == 1
    assert said["reuse"]["frames"] > 2
    assert said["reuse"]["pairs"] is None


def test_the_terminal_is_told_the_same(
    toy: Path, words: Words, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = shutil.copytree(toy, tmp_path / "set")
    sorted(root.rglob("*.mp4"))[0].unlink()
    assert main(["plan", *words(root=root)]) == 0
    out = capsys.readouterr().out
    assert re.search(rf"^  planned +{VIDEOS} ", out, re.M)
    assert re.search(r"^  saved +\d+\.\dx ", out, re.M)
    assert "answers  0 of " in out
    assert "not estimated" in out
    assert "1 file cannot be read as wanted" in out
    assert main(["plan", "limit=0"]) == 1
    assert main(["plan", "model=toy/clpi"]) == 1
    assert "did you mean 'toy/clip' or" in capsys.readouterr().err
    assert main(["plan", "--help"]) == 0
    assert "vbench plan [--json]" in capsys.readouterr().out
