"""One run over everything that can be wrong with videos, spans and captions.

Each case has its status and says what is wrong; good samples of the same run score as ever.
"""

from __future__ import annotations

import gzip
import os
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from vbench.results.run import Run

Make = Callable[[Path, Any], object]
"""Makes a file at a path from `Material`."""


def folder_of(*names: str) -> Make:
    def make(path: Path, _: Any) -> None:
        path.mkdir()
        for name in names:
            Image.new("RGB", (32, 32), "red").save(path / name)

    return make


def damaged_folder(path: Path, material: Any) -> None:
    folder_of("frame_006.jpg", "frame_018.jpg")(path, material)
    (path / "frame_018.jpg").write_bytes(b"\xff\xd8 no picture")


def locked(path: Path, material: Any) -> None:
    path.write_bytes(material.mp4)
    path.chmod(0)


def kept(share: float, kind: str = "mp4") -> Make:
    def make(path: Path, material: Any) -> None:
        data: bytes = getattr(material, kind)
        path.write_bytes(data[: int(len(data) * share)])

    return make


def content(data: bytes | str) -> Make:
    def make(path: Path, _: Any) -> None:
        path.write_bytes(data if isinstance(data, bytes) else data.encode())

    return make


def copy(path: Path, material: Any) -> None:
    path.write_bytes(material.mp4)


FILES: dict[str, tuple[Make, str]] = {
    "missing.mp4": (lambda path, _: None, "no such video file"),
    "missing\nwith a line break.mp4": (lambda path, _: None, "no such video file"),
    "no/such/folder.mp4": (lambda path, _: None, "no such video file"),
    "empty.mp4": (content(b""), "the file is empty"),
    "empty_too.mp4": (content(b""), "the file is empty"),
    "empty_link.mp4": (lambda p, _: p.symlink_to("empty.mp4"), "the file is empty"),
    "one_byte.mp4": (content(b"\0"), "cannot be read as video"),
    "garbage.mp4": (content(random.Random(1).randbytes(50_000)), "cannot be read as video"),
    "text.mp4": (content("no video\n" * 99), "cannot be read as video"),
    "error_page.mp4": (content("<!DOCTYPE html><title>404</title>"), "cannot be read as video"),
    "lfs_pointer.mp4": (
        content("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n"),
        "cannot be read as video",
    ),
    "zipped.mp4": (lambda p, m: p.write_bytes(gzip.compress(m.mp4)), "cannot be read as video"),
    "subtitles.srt": (content("1\n00:00:00,000 --> 00:00:01,000\nHi\n"), "no video"),
    "playlist.mp4": (content("ffconcat version 1.0\nfile good_0.mp4\n"), "is a playlist"),
    "stream.m3u8": (
        content("#EXTM3U\n#EXTINF:2,\nhttp://localhost/a.ts\n"),
        "cannot be read as video",
    ),
    "cut_at_8_bytes.mp4": (lambda p, m: p.write_bytes(m.mp4[:8]), "cannot be read as video"),
    "cut_in_the_index.mp4": (lambda p, m: p.write_bytes(m.mp4[:99]), "no video"),
    "cut_at_2_percent.mp4": (kept(0.02), "cut short"),
    "cut_at_30_percent.mp4": (kept(0.3), "cut short"),
    "cut_at_60_percent.mp4": (kept(0.6), "cut short"),
    "cut_at_99_percent.mp4": (kept(0.99), "cut short"),
    "cut.mkv": (kept(0.5, "mkv"), "cut short"),
    "cut.webm": (kept(0.5, "webm"), "cut short"),
    "head_lost.mp4": (lambda p, m: p.write_bytes(m.mp4[1000:]), "cannot be read as video"),
    "pictures_zeroed.mp4": (
        lambda p, m: m.pictures_zeroed(p),
        "no frame of the video can be decoded",
    ),
    "middle_overwritten.mp4": (lambda p, m: m.middle_overwritten(p), "cannot be decoded"),
    "sound_only.mp4": (lambda p, m: m.sound_only(p), "no video"),
    "no_frames.mp4": (lambda p, m: m.no_frames(p), "no video"),
    "link_to_itself.mp4": (lambda p, _: p.symlink_to(p), "Too many levels of symbolic links"),
    "link_to_nothing.mp4": (lambda p, _: p.symlink_to("nothing"), "no such video file"),
    "folder.mp4": (folder_of(), "holds no image"),
    "folder_without_times": (folder_of("a.jpg", "b.jpg"), "times"),
    "folder_with_damage": (damaged_folder, "an image cannot be decoded"),
    "locked.mp4": (locked, "no permission"),
    "pipe.mp4": (lambda p, _: os.mkfifo(p), "empty"),
    "device.mp4": (lambda p, _: p.symlink_to("/dev/zero"), "empty"),
    f"{'x' * 300}.mp4": (lambda path, _: None, "File name too long"),
}
"""Files that cannot be scored, and what is said of them."""

ODD: dict[str, Make] = {
    "one_frame.mp4": lambda p, m: m.film(p, 1),
    "two_pixels.mp4": lambda p, m: m.film(p, size=(2, 2)),
    "flat.mp4": lambda p, m: m.film(p, size=(1600, 2)),
    "moving.gif": lambda p, m: m.gif(p),
    "avi_called.gif": lambda p, m: m.film(p, codec="mpeg4", container="avi"),
    "wrong_extension.txt": copy,
    "wrong_extension.avi": copy,
    "no_extension": copy,
    "webm_called.mp4": lambda p, m: p.write_bytes(m.webm),
    "picture.mp4": lambda p, _: Image.new("RGB", (64, 64)).save(p, "PNG"),
    "frames_of_velociti": folder_of("frame_006.jpg", "frame_018.jpg", "frame_030.jpg"),
    "linked.mp4": lambda p, _: p.symlink_to("good_0.mp4"),
    "ünï–cødé 视频 🎬.mp4": copy,
    "שלום.mp4": copy,
    f"{'n' * 246}.mp4": copy,
    "-rf.mp4": copy,
    "http:a.mp4": copy,
    "with 'quotes\" and spaces .mp4": copy,
    "glob[*]?.mp4": copy,
    "100%d%%{name}$HOME.mp4": copy,
    "line\nbreak.mp4": copy,
    "junk_at_the_end.mp4": lambda p, m: p.write_bytes(m.mp4 + bytes(5000)),
}
"""Files that look odd and are none the less to be scored."""

SPANS: dict[tuple[float, float], str] = {
    (5, 9): "no frame",
    (2.5, 1e9): "no frame",
    (0.001, 0.002): "no frame",
    (0, 0.001): "",
    (1.5, 9): "",
    (0, 1e12): "",
}
"""Spans of a film of two seconds, and what is said of those without frames."""

CAPTIONS = {
    "one letter": "a",
    "500 words": "word " * 500,
    "one word of 5000 letters": "w" * 5000,
    "emoji": "🎬🏳️‍🌈👩‍👩‍👧 a dog 🐕",
    "right to left": "כלב רץ בפארק",
    "mixed directions": "the sign says \u202eسلام\u202c now",
    "chinese": "一只红色的球",
    "combining": "e\u0301" * 40,
    "invisible": "\u200b",
    "control": "a\x00b\x1b[31m",
    "line breaks": "a\nb\r\nc",
    "markup": "<|endoftext|> <b>a</b> {{x}} %s ${HOME}",
    "punctuation": "...!?",
    "a quote": "\"'`",
}


@dataclass
class Case:
    """A row of the table and what must become of it."""

    status: str
    says: str = ""
    row: dict[str, Any] = field(default_factory=dict)


def cases() -> dict[str, Case]:
    found = {f"file {name}": Case("decode_error", says, {"video": name}) for name, (_, says) in
             FILES.items()}  # fmt: skip
    found |= {f"odd {name}": Case("ok", "", {"video": name}) for name in ODD}
    for (start, end), says in SPANS.items():
        row = {"video": "good_0.mp4", "start": start, "end": end}
        found[f"span {start} {end}"] = Case("decode_error" if says else "ok", says, row)
    for name, text in CAPTIONS.items():
        found[f"caption {name}"] = Case("ok", "", {"video": "good_1.mp4", "positive": text})
    found["captions equal"] = Case(
        "ok", "", {"video": "good_1.mp4", "negative": "a red ball rolls"}
    )
    return found


@pytest.fixture(scope="session")
def broken(videos: Path, material: Any) -> Path:
    """The folder of good videos, with all the others in it."""
    for name, make in ({name: make for name, (make, _) in FILES.items()} | ODD).items():
        make(videos / name, material)
    return videos


@pytest.fixture(scope="session")
def broken_run(broken: Path, tools: Any, tmp_path_factory: pytest.TempPathFactory) -> Run:
    rows: dict[str, dict[str, Any]] = {key: case.row for key, case in cases().items()}
    items = list(rows.items())
    for place, control in enumerate(tools.controls.items()):
        items.insert(15 * place, control)
    tools.write_table(broken / "everything.jsonl", dict(items))
    run_dir = tmp_path_factory.mktemp("runs") / "broken"
    with tools.subject_to_permissions():
        run: Run = tools.evaluate(broken / "everything.jsonl", run_dir, "loader.num_workers=1")
    return run


@pytest.fixture(scope="session")
def told(broken_run: Run) -> pd.DataFrame:
    return broken_run.records.set_index("sample_id")


def test_there_are_many_kinds() -> None:
    assert len([case for case in cases().values() if case.status != "ok"]) >= 40


@pytest.mark.parametrize("name", cases())
def test_each_case_has_its_status_and_says_why(name: str, told: pd.DataFrame) -> None:
    case, row = cases()[name], told.loc[name]
    assert row.status == case.status, row.reason
    if case.status == "ok":
        assert np.isfinite(row.scores).all()
        assert row.outcome == ("tie" if name == "captions equal" else row.outcome)
        return
    assert row.outcome == "unscored"
    assert case.says in row.reason
    assert row.reason.strip()
    assert "\n" not in row.reason


def test_good_samples_of_the_same_run_score_as_ever(
    clean_run: Run, told: pd.DataFrame, tools: Any
) -> None:
    assert clean_run.exit_code == 0
    clean = clean_run.records.set_index("sample_id")
    assert set(clean.index) == set(tools.controls)
    for name, row in clean.iterrows():
        np.testing.assert_allclose(told.loc[name].scores, row.scores, atol=1e-6)
        assert told.loc[name].frame_indices[0].tolist() == row.frame_indices[0].tolist()


def test_only_long_captions_are_marked_as_truncated(told: pd.DataFrame) -> None:
    long = {f"caption {name}" for name, text in CAPTIONS.items() if len(text) > 1000}
    assert "caption 500 words" in set(told.index[told.truncated]) <= long


def test_coverage_names_each_file_and_reason_once(
    broken_run: Run, videos: Path, tools: Any
) -> None:
    assert broken_run.exit_code == 3
    coverage = broken_run.summary["coverage"]
    lost = [case for case in cases().values() if case.status != "ok"]
    assert coverage["n"] == len(cases()) + len(tools.controls)
    assert coverage["answered"] == coverage["n"] - len(lost)
    failed = [(Path(entry["path"]), entry["reason"]) for entry in coverage["failed"]]
    assert {path for path, _ in failed} == {videos / case.row["video"] for case in lost}
    assert len(set(failed)) == len(failed) == len(lost)
    table = (broken_run.path / "tables").glob("*.md")
    assert any(f"{coverage['answered']}" in file.read_text() for file in table)


def test_each_failure_is_one_line_on_stderr(
    broken: Path, tools: Any, tmp_path: Path, capfd: Any
) -> None:
    rows = {key: case.row for key, case in cases().items() if "missing" in key or "cut" in key}
    tools.write_table(broken / "some.jsonl", rows)
    tools.evaluate(broken / "some.jsonl", tmp_path / "run")
    lines = capfd.readouterr().err.splitlines()
    failures = [line for line in lines if line.startswith("decode_error: ")]
    assert len(failures) == len(rows) == len({*failures})
    assert all(f"decode_error: {broken}/" in line for line in failures)
    assert any("missing\\nwith a line break.mp4: no such video file" in line for line in failures)
