"""What all tests share: no network, no threads beyond the workers, and where outside data lie."""

from __future__ import annotations

import os
import sys
import tempfile
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
