from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from vbench.errors import RunError
from vbench.records import Clip, Request, Sample
from vbench.results.samples import dataset_hashes, read_samples, write_samples

LEFT, RIGHT = Clip("a", "a.mp4", 0.0, 2.0), Clip("b", "b.mp4")
MATCH = Sample("ivat", "s1", "match", "src", (LEFT, RIGHT), ("x", "y"), groups={"level": "hard"})
ASKED = [(MATCH, [Request((clip,), f"Q? {text}") for clip in MATCH.clips for text in "xy"])]
KEYS = {request: (f"k-{request.clips[0].path}", request.text) for request in ASKED[0][1]}


def test_what_is_asked_can_be_looked_up(tmp_path: Path) -> None:
    write_samples(tmp_path, ASKED, KEYS, {"k-a.mp4": "hash of a"})
    (row,) = read_samples(tmp_path).to_pylist()
    assert (row["test"], row["sample_id"], row["target"], row["groups"]) == (
        "ivat", "s1", None, [("level", "hard")],
    )  # fmt: skip
    assert [clip["content"] for clip in row["clips"]] == ["hash of a", None]
    assert (row["clips"][0]["end_s"], row["clips"][1]["end_s"]) == (2.0, None)
    asked = [(r["clips"], r["text"], r["keys"][0]) for r in row["requests"]]
    assert asked == [
        ([0], "Q? x", "k-a.mp4"), ([0], "Q? y", "k-a.mp4"),
        ([1], "Q? x", "k-b.mp4"), ([1], "Q? y", "k-b.mp4"),
    ]  # fmt: skip


def test_pandas_reads_it_alone(tmp_path: Path) -> None:
    write_samples(tmp_path, ASKED, KEYS, {})
    frame = pd.read_parquet(tmp_path / "samples.parquet")
    assert list(frame.requests[0][0]["keys"]) == ["k-a.mp4", "Q? x"]


def test_a_missing_or_damaged_file_is_named(tmp_path: Path) -> None:
    for damage in (None, b"garbage"):
        if damage:
            (tmp_path / "samples.parquet").write_bytes(damage)
        with pytest.raises(RunError) as caught:
            read_samples(tmp_path)
        assert "samples.parquet" in caught.value.where
        assert "again" in caught.value.mend


def hashes(
    folder: Path, root: str = "", content: str = "h", text: str = "x"
) -> dict[str, str | None]:
    clip = Clip("a", f"{root}a.mp4", 0.0, 2.0)
    sample = Sample("chrono", "s1", "v2t", "src", (clip,), (text, "y"), 0)
    request = Request((clip,), text)
    contents = {"k": content} if content else {}
    write_samples(folder, [(sample, [request])], {request: ("k", "t")}, contents)
    return dataset_hashes(folder)


def test_hashes_follow_the_data_and_not_where_it_lies(tmp_path: Path) -> None:
    first = hashes(tmp_path)
    assert hashes(tmp_path, root="/elsewhere/") == first
    recoded = hashes(tmp_path, content="other bytes")
    assert recoded["annotations"] == first["annotations"]
    assert recoded["files"] != first["files"]
    reworded = hashes(tmp_path, text="z")
    assert reworded["annotations"] != first["annotations"]
    assert reworded["files"] == first["files"]
    assert hashes(tmp_path, content="")["files"] is None  # the model opened none


def test_a_run_of_an_earlier_version_has_no_letters(tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    write_samples(tmp_path, ASKED, KEYS, {})
    file = tmp_path / "samples.parquet"
    pq.write_table(pq.read_table(file).drop_columns(["letters"]), file)
    table = read_samples(tmp_path)
    assert table["letters"].to_pylist() == [[]]
    assert "letters" not in read_samples(tmp_path, ("test",)).column_names
