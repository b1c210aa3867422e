"""Runs are called by what tells them apart."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from vbench.results.naming import run_names
from vbench.results.run import Run


def run(folder: str, model: str = "toy/clip", **settings: Any) -> Run:
    frames = settings.pop("num_frames", 8)
    sampler = settings.pop("sampler", "nested")
    own = {key: settings.pop(key) for key in ("checkpoint", "pooling") if key in settings}
    config = {
        "model": own,
        "command": {
            "choices": {"model": model, "sampler": sampler, "dataset": "table", **settings}
        },
        "sampler": {"name": sampler, "num_frames": frames},
        "run_dir": folder,
    }
    return Run(Path(folder), config, {})


@pytest.mark.parametrize(
    ("runs", "names"),
    [
        ([run("a"), run("b", "oracle/random")], ["toy/clip", "oracle/random"]),
        ([run("a", entry="velociti/v1/x"), run("b")], ["velociti/v1/x", "toy/clip"]),
        ([run("a", num_frames=4), run("b")], ["toy/clip num_frames=4", "toy/clip num_frames=8"]),
        ([run("a", sampler="fps"), run("b")], ["toy/clip fps", "toy/clip nested"]),
        ([run("a", frame_order="none"), run("b")], ["toy/clip none", "toy/clip"]),
        (
            [run("a", num_frames=None), run("b")],
            ["toy/clip num_frames=null", "toy/clip num_frames=8"],
        ),
        ([run("x/a"), run("x/b")], ["toy/clip (a)", "toy/clip (b)"]),
        ([run("x/a"), run("y/a")], ["x/a", "y/a"]),
    ],
)
def test_names_are_short_and_differ(runs: list[Run], names: list[str]) -> None:
    assert run_names(runs) == names


def test_models_of_one_word_are_told_by_checkpoint_then_by_their_settings() -> None:
    ways = [("a/b", "mean"), ("a/b", "max"), ("c", "mean"), ("c", "max")]
    runs = [run(f"{k}", "hf/vlm", checkpoint=c, pooling=p) for k, (c, p) in enumerate(ways)]
    assert run_names(runs) == [f"hf/vlm checkpoint={c} pooling={p}" for c, p in ways]


def test_a_sweep_over_two_things_names_both() -> None:
    runs = [run(f"{s}{n}", sampler=s, num_frames=n) for s in ("fps", "nested") for n in (1, 2)]
    assert run_names(runs)[:2] == ["toy/clip fps num_frames=1", "toy/clip fps num_frames=2"]
