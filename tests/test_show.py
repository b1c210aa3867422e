"""`vbench show`: one sample, from the folder alone."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from vbench.errors import RunError
from vbench.results.lookup import sample
from vbench.show import print_sample

Evaluate = Callable[..., Path]


@pytest.fixture(scope="module")
def run(evaluate_rows: Evaluate, hostile: str) -> Path:
    rows = [
        {"id": "film/1", "positive": "a cat", "negative": hostile, "level": hostile},
        {"id": "film/2", "positive": "a cat", "negative": "a dog", "level": "easy"},
        {"id": "film/23", "positive": "a bird", "negative": "a dog", "level": "easy"},
        {"id": "own", "positive": "a fish", "negative": "a dog", "level": "easy"},
    ]
    return evaluate_rows(rows, "dataset.group_by=[level]")


@pytest.fixture(scope="module")
def clip_run(
    evaluate_rows: Evaluate,
    write_grey: Callable[[Path], None],
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    root = tmp_path_factory.mktemp("videos")
    write_grey(root / "whole.mp4")
    (root / "broken.mp4").write_bytes(b"garbage")
    texts = {"start": 1.0, "positive": "a cat", "negative": "a dog " * 99}
    rows = [{"id": "1", "video": "whole.mp4", **texts}, {"id": "2", "video": "broken.mp4", **texts}]
    return evaluate_rows(
        rows, "model=toy/clip", f"dataset.root={root}", "dataset.start=start",
        "sampler=uniform_midpoints", "sampler.num_frames=4",
    )  # fmt: skip


def record(folder: Path, sample_id: str) -> Any:
    records = pd.read_parquet(folder / "records.parquet")
    return records[records.sample_id == sample_id].iloc[0]


@pytest.mark.parametrize(
    ("name", "meant"),
    [("table/film/1", "film/1"), ("film/1", "film/1"), ("own", "own"), ("o", "own"),
     ("table/o", "own"), ("film/2", "film/2"), ("table/film/2", "film/2")],
)  # fmt: skip
def test_a_sample_is_named_in_full_or_by_its_beginning(run: Path, name: str, meant: str) -> None:
    assert sample(run, name)["sample_id"] == meant


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("film/", ["may mean 3 samples", "table/film/23", "test/sample_id"]),
        ("fim/23", ["no sample 'fim/23'", "did you mean 'film/23'"]),
        ("onw", ["did you mean 'own'"]),
        ("\x1b[2J", ["no sample '\\x1b[2J'"]),
        ("zzz", ["asks 4 samples, such as table/film/1", "one of: film/1, film/2"]),
    ],
)
def test_a_name_that_means_no_one_sample_is_explained(
    run: Path, name: str, parts: list[str]
) -> None:
    with pytest.raises(RunError) as caught:
        sample(run, name)
    said = caught.value.render()
    assert [part for part in parts if part not in said] == [], said
    assert "\x1b" not in said


def test_a_folder_that_is_no_run_is_explained(run: Path, tmp_path: Path) -> None:
    with pytest.raises(RunError, match="no such run folder") as caught:
        print_sample(str(run.with_name("rnu")), "own")
    assert caught.value.mend == "did you mean 'run'?"
    with pytest.raises(RunError, match="not a run folder") as caught:
        print_sample(str(run.parent), "own")
    assert str(run) in caught.value.mend
    with pytest.raises(RunError, match="not a run folder"):
        print_sample(str(tmp_path), "own")


def test_what_is_shown_is_what_is_stored(clip_run: Path) -> None:
    found, stored = sample(clip_run, "1"), record(clip_run, "1")
    assert found["scores"] == [pytest.approx(list(stored.scores), abs=0)]
    assert (found["outcome"], found["status"], found["state"]) == (stored.outcome, "ok", "done")
    assert found["truncated"] is bool(stored.truncated) is True
    assert [request["truncated"] for request in found["requests"]] == [False, True]
    (clip,) = found["clips"]
    assert clip["frame_indices"] == list(stored.frame_indices[0]) == [12, 17, 22, 27]
    assert clip["timestamps_s"] == list(stored.timestamps_s[0])
    assert clip["frames_wanted"] == 4
    assert (clip["start_s"], clip["end_s"], clip["key"]) == (1.0, None, stored.clip_keys[0])
    assert len(clip["content"]) == 64


def test_a_failed_sample_says_why(clip_run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = sample(clip_run, "2")
    assert (found["status"], found["outcome"], found["scores"]) == (
        "decode_error", "unscored", [[None, None]],
    )  # fmt: skip
    assert found["reason"] == record(clip_run, "2").reason
    print_sample(str(clip_run), "2")
    out = capsys.readouterr().out
    assert "decode_error" in out
    assert found["reason"] in out


def test_text_marks_the_right_pair_and_names_frames_and_strip(
    clip_run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (clip,) = sample(clip_run, "1")["clips"]
    strip = clip_run / "frames" / f"{clip['key']}.jpg"
    assert str(strip) not in shown(clip_run, "1", capsys)
    strip.parent.mkdir()
    strip.write_bytes(b"")
    try:
        out = shown(clip_run, "1", capsys)
    finally:
        shutil.rmtree(strip.parent)
    assert f"strip    {strip}" in out
    assert "4 of 4 wanted" in out
    assert "12 17 22 27" in out
    assert "longer than the model reads" in out
    row = next(line for line in out.splitlines() if line.startswith("  clip 1"))
    right, wrong = row.split()[2:]
    assert right.endswith("*")
    assert not wrong.endswith("*")
    assert float(right[:-1]) == pytest.approx(record(clip_run, "1").scores[0], rel=1e-5)


def shown(run: Path, name: str, capsys: pytest.CaptureFixture[str]) -> str:
    print_sample(str(run), name)
    return capsys.readouterr().out


def test_hostile_captions_are_spelled_out(
    run: Path, hostile: str, capsys: pytest.CaptureFixture[str]
) -> None:
    out = shown(run, "film/1", capsys)
    assert all(c.isprintable() for line in out.split("\n") for c in line)
    assert r"text 2: a \x1b[2J\x1b[31mred\x9b0m [red]ball[/red]\r\nnew\u202e line" in out
    assert r"level=a \x1b" in out


def test_json_is_strict_plain_and_complete(
    run: Path, hostile: str, capsys: pytest.CaptureFixture[str]
) -> None:
    print_sample(str(run), "film/1", as_json=True)
    out = capsys.readouterr().out
    assert out.isascii()
    assert "\x1b" not in out
    found = json.loads(out, parse_constant=pytest.fail)
    assert found["texts"] == ["a cat", hostile]
    assert found["groups"] == {"level": hostile}
    print_sample(str(run), "film/2", as_json=True)
    assert set(json.loads(capsys.readouterr().out)) == set(found)


def test_a_prompt_is_shown_where_it_changes_a_text(
    evaluate_rows: Evaluate, capsys: pytest.CaptureFixture[str]
) -> None:
    row = {"id": "1", "options": ["a cat", "a dog"], "answer": "a dog", "question": "Who barks?"}
    words = ["dataset.kind=mcq", "dataset.question=question", "prompt=question_option"]
    run = evaluate_rows([row], *words)
    assert "asked as  Who barks? a dog" in shown(run, "1", capsys)


def test_a_run_that_still_goes_on_shows_what_is_there(
    clip_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "run"
    shutil.copytree(clip_run, folder)
    for name in ("records.parquet", "summary.json", "status.json"):
        (folder / name).unlink()
    (file,) = (folder / "predictions").iterdir()
    rows = pd.read_parquet(file)
    texts = rows[rows.kind == "text"].key
    rows[rows.key != texts.iloc[1]].to_parquet(file)
    found = sample(folder, "1")
    assert (found["status"], found["outcome"]) == (None, None)
    assert found["scores"][0].count(None) == 1
    assert found["clips"][0]["frames_wanted"] == 4
    assert "not answered yet" in shown(folder, "1", capsys)
    rows.to_parquet(file)
    assert sample(folder, "1")["status"] == "ok"
    assert "not graded yet" in shown(folder, "1", capsys)
    shutil.rmtree(folder / "predictions")
    assert sample(folder, "1")["scores"] == [[None, None]]


@pytest.mark.parametrize(
    ("kind", "target", "marked"),
    [("match", None, ["1 1", "2 2"]), ("t2v", "1", ["2 1"]), ("v2t", "1", ["1 2"]),
     ("mcq", None, [])],
)  # fmt: skip
def test_every_kind_marks_its_right_pairs(kind: str, target: str | None, marked: list[str]) -> None:
    from vbench.show import _score_lines

    size = {"match": (2, 2), "t2v": (2, 1), "v2t": (1, 2), "mcq": (1, 3)}[kind]
    scores = [[0.5] * size[1]] * size[0]
    found = {"kind": kind, "target": target, "scores": scores, "texts": ["x"] * size[1]}
    rows = [line.split()[1:] for line in _score_lines(found)[2:]]
    assert marked == [
        f"{row[0]} {column + 1}"
        for row in rows
        for column, cell in enumerate(row[1:])
        if cell.endswith("*")
    ]
