"""What all tests share: no network, no threads beyond the workers, and where outside data lie."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest
from hypothesis import settings

# A loaded machine is no failure, and examples leave no folder behind.
settings.register_profile("vbench", deadline=None, database=None)
settings.load_profile("vbench")

# Before torch, transformers or wandb are imported by any test.
os.environ.update(WANDB_MODE="offline", HF_HUB_OFFLINE="1", TOKENIZERS_PARALLELISM="false")
os.environ.setdefault("OMP_NUM_THREADS", "1")
# Nothing that an earlier test or the user has computed may answer for what a test computes.
os.environ["VBENCH_CACHE"] = tempfile.mkdtemp(prefix="vbench-cache-")

REPOSITORY = Path(__file__).parents[1]


@pytest.fixture(scope="session")
def repository() -> Path:
    return REPOSITORY


@pytest.fixture(scope="session")
def shared() -> Path:
    """Published data that may not be copied into the repository; absent on most machines."""
    folder = Path(os.environ.get("VBENCH_SHARED", REPOSITORY.parent / "shared"))
    if not (folder / "data").is_dir():
        pytest.skip(f"no published data in {folder}; set VBENCH_SHARED to the folder with data/")
    return folder


PARTS = """
from typing import Literal
from vbench.errors import DataError

class Data:
    def __init__(self, root: str | None = None, num_videos: int = 10): ...
class Model:
    def __init__(self, checkpoint: str, pooling: Literal["mean", "max"] = "mean",
                 scale: float = 1.0, names: list[str] | None = None):
        self.checkpoint, self.names = checkpoint, names
class Metric: ...
class Missing:
    def __init__(self): raise DataError("no such file", where="a.csv", mend="write it")
class Buggy:
    def __init__(self): raise RuntimeError("boom")
"""

CONFIGS = {
    "dataset/mine": "defaults:\n  - override /metric@_global_.metric: accuracy\n\n"
    "_target_: own_parts.Data\nroot: ${paths.data}/mine\n",
    "model/mine": "_target_: own_parts.Model\ncheckpoint: ???\n",
    "model/missing": "_target_: own_parts.Missing\n",
    "model/buggy": "_target_: own_parts.Buggy\n",
    "model/empty": "checkpoint: x\n",
    "model/broken": "_target_: a: b\n",
    "model/relative": "defaults:\n  - hf/dual_encoder\n",
    "experiment/study": "# @package _global_\ndefaults:\n  - override /sampler: fps\n\nlimit: 3\n",
    "experiment/swept": "# @package _global_\nhydra:\n  mode: MULTIRUN\n  sweeper:\n    params:\n"
    "      seed: 1,2\n",
}


@pytest.fixture
def own_conf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user's folder with a ./conf and a module of theirs."""
    for name, text in CONFIGS.items():
        file = tmp_path / "conf" / f"{name}.yaml"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    (tmp_path / "own_parts.py").write_text(PARTS)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "own_parts", raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


HOSTILE = "a \x1b[2J\x1b[31mred\x9b0m [red]ball[/red]\r\nnew\u202e line \U0001f534"
"""Escapes, markup, line breaks and a bidi override: no terminal may obey it."""


@pytest.fixture(scope="session")
def hostile() -> str:
    return HOSTILE


@pytest.fixture(scope="session")
def evaluate_rows(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Evaluates rows of caption pairs as `dataset=table`, by chance unless told otherwise."""

    def evaluate(rows: Sequence[Mapping[str, object]], *more: str) -> Path:
        import vbench

        folder = tmp_path_factory.mktemp("rows")
        lines = [json.dumps({"video": "v.mp4", **row}) for row in rows]
        (folder / "rows.jsonl").write_text("\n".join(lines))
        fixed = [
            "dataset=table", f"dataset.file={folder}/rows.jsonl", "dataset.kind=pairs",
            "dataset.id=id", "dataset.question=null", "model=oracle/random", "trainer=cpu",
            "logger=none", "loader.num_workers=0", f"run_dir={folder}/run",
        ]  # fmt: skip
        names = [word.partition("=")[0] for word in more]
        kept = [word for word in fixed if word.partition("=")[0] not in names]
        run = vbench.evaluate(*kept, *more)
        return folder / "run" if run is None else run.path

    return evaluate


@pytest.fixture(scope="session")
def write_grey() -> Callable[..., None]:
    """Writes a real video: three seconds at ten frames a second, ever brighter."""

    def write(path: Path, first: int = 0) -> None:
        import av
        import numpy as np

        with av.open(path, "w") as output:
            stream = output.add_stream("mpeg4", rate=10, width=64, height=48)
            for i in range(30):
                pixels = np.full((48, 64, 3), first + 6 * i, np.uint8)
                output.mux(stream.encode(av.VideoFrame.from_ndarray(pixels)))
            output.mux(stream.encode())

    return write
