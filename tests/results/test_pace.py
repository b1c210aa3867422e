"""How fast earlier runs were, from files written at made-up times."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from vbench.records import Prediction
from vbench.results.pace import find_pace
from vbench.results.shards import PREDICTION_SCHEMA
from vbench.results.store import write_json

CONFIG = {
    "command": {},
    "model": {"checkpoint": "a"},
    "trainer": {"precision": "32-true", "accelerator": "cpu", "devices": 1},
}


def row(number: int, frames: int, status: Any = "ok") -> Prediction:
    vector = np.ones(2, np.float32)
    return Prediction(f"k{number}", "clip", status, vector, frame_indices=tuple(range(frames)))


def write(
    folder: Path, files: Mapping[str, list[Prediction]], config: Mapping[str, Any] = CONFIG
) -> None:
    """Writes a run folder; files are named by second, rank and shard: `5-0000-0000`."""
    (folder / "predictions").mkdir(parents=True)
    text = yaml.safe_dump({"run_dir": None, **config}, sort_keys=False)
    (folder / "config.yaml").write_text(text)
    for name, rows in files.items():
        second, writer = name.split("-", 1)
        columns = {key: [getattr(r, key) for r in rows] for key in PREDICTION_SCHEMA.names}
        file = folder / "predictions" / f"{int(second) * 10**9:019d}-{writer}-ab.parquet"
        pq.write_table(pa.table(columns, schema=PREDICTION_SCHEMA), file)


def text(number: int, status: Any = "ok") -> Prediction:
    return Prediction(f"t{number}", "text", status, np.ones(2, np.float32))


STEADY = {
    "100-0000-0000": [row(0, 90)],  # what came before the clock starts counts for nothing
    "105-0000-0000": [row(1, 20), row(2, 20)],
    "110-0000-0000": [row(3, 40), row(4, 0), row(5, 8, "decode_error")],
}


def test_frames_per_second_between_files(tmp_path: Path) -> None:
    write(tmp_path / "run", STEADY)
    write_json(tmp_path / "run" / "environment.json", {"gpu": "X1", "device": "cpu"})
    pace = find_pace(tmp_path / "none", tmp_path / "run", CONFIG)
    assert pace is not None
    assert (pace.frames_per_s, pace.device) == (8.0, "cpu")
    assert pace.run == str(tmp_path / "run")
    assert pace.texts_per_s is None
    assert pace.seconds(frames=16, texts=1000) == 2.0


def test_texts_per_second(tmp_path: Path) -> None:
    texts = {
        "80-0000-0000": [text(n) for n in range(50)],
        "90-0000-0000": [text(n) for n in range(100, 130)],
        "99-0000-0000": [text(99), row(9, 7)],  # neither one nor the other
    }
    write(tmp_path / "run", texts | STEADY)
    pace = find_pace(tmp_path, tmp_path / "run", CONFIG)
    assert pace is not None
    assert (pace.frames_per_s, pace.texts_per_s) == (8.0, 3.0)
    assert pace.seconds(frames=16, texts=30) == 12.0


def test_a_night_between_two_files_and_a_burst_from_the_cache_do_not_count(tmp_path: Path) -> None:
    night = {f"{900 + int(k[:3])}{k[3:]}": rows for k, rows in STEADY.items()}
    burst = {"111-0000-0000": [row(9, 5000)], "116-0000-0000": [row(10, 40)]}
    write(tmp_path / "run", STEADY | burst | night)
    pace = find_pace(tmp_path, tmp_path / "run", CONFIG)
    assert pace is not None
    assert pace.frames_per_s == 8.0


def test_ranks_add_up_and_shards_do_not(tmp_path: Path) -> None:
    both = {k.replace("-0000-", "-0001-", 1): rows for k, rows in STEADY.items()}
    write(tmp_path / "ranks", STEADY | both)
    later = {f"{key[:9]}0001": rows for key, rows in STEADY.items()}
    write(tmp_path / "shards", STEADY | later)
    rates = [find_pace(tmp_path / "x", tmp_path / name, CONFIG) for name in ("ranks", "shards")]
    assert [pace and pace.frames_per_s for pace in rates] == [16.0, 8.0]


def test_the_latest_run_of_the_same_model_stands_in(tmp_path: Path) -> None:
    import os

    outputs = tmp_path / "outputs"
    for name, second in (("old", 10), ("new", 20)):
        write(outputs / "runs" / name, STEADY)
        for file in (outputs / "runs" / name / "predictions").iterdir():
            os.utime(file, (second, second))
    other = CONFIG | {"model": {"checkpoint": "b"}}
    write(outputs / "runs" / "other", STEADY, other)
    pace = find_pace(outputs, tmp_path / "run", CONFIG)
    assert pace is not None
    assert Path(pace.run).name == "new"
    assert pace.device == "an unknown device"
    half = CONFIG | {"trainer": CONFIG["trainer"] | {"precision": "bf16-true"}}
    assert find_pace(outputs, tmp_path / "run", half) is None


@pytest.mark.parametrize(
    "files", [{}, {"100-0000-0000": [row(0, 9)]}, {"1-0000-0000": [], "9-0000-0000": [row(0, 0)]}]
)
def test_too_little_tells_nothing(tmp_path: Path, files: Mapping[str, list[Prediction]]) -> None:
    write(tmp_path / "run", files)
    (tmp_path / "run" / "predictions" / "5-0000-0000-x.parquet").write_bytes(b"damaged")
    assert find_pace(tmp_path, tmp_path / "run", CONFIG) is None
