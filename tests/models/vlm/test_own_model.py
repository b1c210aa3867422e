"""A video-language model of one's own: one .py and one .yaml, in another package."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

import vbench

MODEL = '''
import hashlib, math
from vbench.records import Reply

class Brightness:
    """Says Yes to a caption that names the video's brightness."""
    needs = frozenset({"frames", "text"})
    tasks = frozenset({"score"})
    module = None

    def __init__(self, threshold: float = 100.0) -> None:
        self.preprocess = Mean()
        self.threshold = threshold

    def identity(self) -> str:
        return f"brightness above {self.threshold}"

    def answer(self, asked):
        return [[self._reply(view, one) for one in requests] for view, requests in asked]

    def _reply(self, view, request):
        word = "bright" if view.inputs["mean"] > self.threshold else "dark"
        sure = 0.9 if word in request.message.text else 0.1
        return Reply(log_probs=(math.log(sure), math.log(1 - sure)), prompt=request.message.text)

class Mean:
    def view(self, frames, timing):
        return {"mean": float(sum(frame.mean() for frame in frames) / len(frames))}

    def digest(self) -> str:
        return "mean"
'''

CONFIG = """# Ours.
defaults:
  - override /scorer@_global_.scorer: entailment

_target_: own_brightness.models.Brightness
threshold: 100.0
"""


@pytest.fixture
def own_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    package = tmp_path / "site" / "own_brightness"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "models.py").write_text(MODEL)
    word = tmp_path / "conf" / "model" / "brightness.yaml"
    word.parent.mkdir(parents=True)
    word.write_text(CONFIG)
    monkeypatch.syspath_prepend(tmp_path / "site")
    monkeypatch.delitem(sys.modules, "own_brightness", raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_it_is_run_like_any_other(own_package: Path, write_grey: Callable[..., None]) -> None:
    rows = []
    for name, first in (("night", 0), ("noon", 70)):
        write_grey(own_package / f"{name}.mp4", first)
        right, wrong = ("a dark video", "a bright video")[:: 1 if name == "night" else -1]
        rows.append({"id": name, "video": f"{name}.mp4", "positive": right, "negative": wrong})
    (own_package / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)))
    run = vbench.evaluate(
        "dataset=table", "dataset.file=rows.jsonl", "dataset.kind=pairs", "dataset.id=id",
        "dataset.question=null", "model=brightness", "trainer=cpu", "logger=none",
        "loader.num_workers=0", "run_dir=run", "sampler=uniform_midpoints",
    )  # fmt: skip
    assert run is not None
    records = pq.read_table("run/records.parquet").to_pylist()
    assert [row["outcome"] for row in records] == ["right", "right"]
    assert np.allclose([row["scores"] for row in records], [[0.9, 0.1]] * 2)
