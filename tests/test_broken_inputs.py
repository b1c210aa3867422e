"""One run over everything that can be wrong with videos, spans and captions, then with tables.

Each case has its status and says what is wrong; good samples of the same run score as ever.
"""

from __future__ import annotations

import ctypes
import gzip
import json
import os
import random
import resource
import struct
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import av
import numpy as np
import pandas as pd
import pytest
from PIL import Image

import vbench
from vbench.cli import main
from vbench.errors import ConfigError, DataError, RunError, VbenchError
from vbench.results.run import Run

MODEL = ["model=toy/clip", "sampler=uniform_midpoints", "sampler.num_frames=4"]
PLACE = ["trainer=cpu", "logger=none", "loader.cache=false"]
GOOD = {"positive": "a red ball rolls", "negative": "a blue ball rolls", "start": 0, "end": 2}


def film(path: Path, count: int = 48, codec: str = "libx264", **more: Any) -> bytes:
    """Encodes two seconds of moving noise."""
    size, form = more.get("size", (96, 64)), more.get("container")
    options = {"movflags": "faststart"} if path.suffix == ".mp4" else {}
    with av.open(str(path), "w", format=form, options=options) as output:
        stream: Any = output.add_stream(codec, rate=24, options={"g": "12"})
        stream.width, stream.height, stream.pix_fmt = *size, "yuv420p"
        dice = np.random.default_rng(0)
        for _ in range(count):
            pixels = dice.integers(0, 255, (size[1], size[0], 3), dtype=np.uint8)
            output.mux(stream.encode(av.VideoFrame.from_ndarray(pixels, format="rgb24")))
        output.mux(stream.encode(None))
    return path.read_bytes()


@dataclass
class Material:
    """What broken files are made of."""

    mp4: bytes
    mkv: bytes
    webm: bytes


Make = Callable[[Path, Material], object]


def sound_only(path: Path, _: Material) -> None:
    with av.open(str(path), "w") as output:
        stream: Any = output.add_stream("aac", rate=8000)
        frame = av.AudioFrame.from_ndarray(np.zeros((1, 8000), np.float32), "fltp", "mono")
        frame.sample_rate = 8000
        output.mux([*stream.encode(frame), *stream.encode(None)])


def no_frames(path: Path, _: Material) -> None:
    with av.open(str(path), "w") as output:
        stream: Any = output.add_stream("mpeg4", rate=24)
        stream.width, stream.height, stream.pix_fmt = 96, 64, "yuv420p"
        output.start_encoding()


def pictures_zeroed(path: Path, material: Material) -> None:
    data = bytearray(material.mp4)
    start = data.index(b"mdat") + 4
    data[start:] = bytes(len(data) - start)
    path.write_bytes(data)


def middle_overwritten(path: Path, material: Material) -> None:
    data = bytearray(material.mp4)
    start = data.index(b"mdat")
    third = (len(data) - start) // 3
    data[start + third : start + 2 * third] = random.Random(0).randbytes(third)
    path.write_bytes(data)


def folder_of(*names: str) -> Make:
    def make(path: Path, _: Material) -> None:
        path.mkdir()
        for name in names:
            Image.new("RGB", (32, 32), "red").save(path / name)

    return make


def damaged_folder(path: Path, material: Material) -> None:
    folder_of("frame_006.jpg", "frame_018.jpg")(path, material)
    (path / "frame_018.jpg").write_bytes(b"\xff\xd8 no picture")


def locked(path: Path, material: Material) -> None:
    path.write_bytes(material.mp4)
    path.chmod(0)


def kept(share: float, kind: str = "mp4") -> Make:
    def make(path: Path, material: Material) -> None:
        data: bytes = getattr(material, kind)
        path.write_bytes(data[: int(len(data) * share)])

    return make


def content(data: bytes | str) -> Make:
    def make(path: Path, _: Material) -> None:
        path.write_bytes(data if isinstance(data, bytes) else data.encode())

    return make


def gif(path: Path, _: Material) -> None:
    pages = [Image.new("RGB", (64, 48), (i * 20, 0, 0)) for i in range(10)]
    pages[0].save(path, save_all=True, append_images=pages[1:], duration=100)


def copy(path: Path, material: Material) -> None:
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
    "pictures_zeroed.mp4": (pictures_zeroed, "no frame of the video can be decoded"),
    "middle_overwritten.mp4": (middle_overwritten, "cannot be decoded"),
    "sound_only.mp4": (sound_only, "no video"),
    "no_frames.mp4": (no_frames, "no video"),
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
    "one_frame.mp4": lambda p, _: film(p, 1),
    "two_pixels.mp4": lambda p, _: film(p, size=(2, 2)),
    "flat.mp4": lambda p, _: film(p, size=(1600, 2)),
    "moving.gif": gif,
    "avi_called.gif": lambda p, _: film(p, codec="mpeg4", container="avi"),
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
    found["captions equal"] = Case("ok", "", {"video": "good_1.mp4", "negative": GOOD["positive"]})
    return found


CONTROLS = {
    f"control {i} {start}": {"video": f"good_{i}.mp4", "start": start, "end": start + 1}
    for i in range(3)
    for start in (0, 1)
}


@pytest.fixture(scope="session")
def videos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with all of them."""
    folder = tmp_path_factory.mktemp("broken")
    made = {end: film(folder / f"source.{end}", codec=codec) for end, codec in
            (("mp4", "libx264"), ("mkv", "libx264"), ("webm", "libvpx"))}  # fmt: skip
    material = Material(**made)
    for i in range(3):
        film(folder / f"good_{i}.mp4", 48 + i)
    for name, make in ({name: make for name, (make, _) in FILES.items()} | ODD).items():
        make(folder / name, material)
    return folder


def write_table(file: Path, rows: dict[str, dict[str, Any]]) -> None:
    lines = [json.dumps({"key": key, **GOOD, **row}) for key, row in rows.items()]
    file.write_text("\n".join(lines), encoding="utf-8")


def evaluate(table: Path, run_dir: Path, *more: str) -> Run:
    columns = ["dataset.start=start", "dataset.end=end", "dataset.id=key", "dataset.kind=pairs"]
    where = ["dataset=table", f"dataset.file={table}", f"run_dir={run_dir}"]
    run = vbench.evaluate(*where, *columns, *MODEL, *PLACE, "loader.num_workers=0", *more)
    assert run is not None
    return run


@pytest.fixture(scope="session")
def clean_run(videos: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    write_table(videos / "controls.jsonl", CONTROLS)
    return evaluate(videos / "controls.jsonl", tmp_path_factory.mktemp("runs") / "clean")


@contextmanager
def subject_to_permissions() -> Iterator[None]:
    """Takes from root, where that is who runs the tests, the right to read and write everything."""
    if os.geteuid():
        yield
        return
    libc = ctypes.CDLL(None, use_errno=True)
    header = struct.pack("Ii", 0x20080522, 0)  # _LINUX_CAPABILITY_VERSION_3, this thread
    before = ctypes.create_string_buffer(24)  # effective, permitted, inheritable, twice
    assert libc.capget(header, before) == 0
    effective, *rest = struct.unpack("6I", before.raw)
    assert libc.capset(header, struct.pack("6I", effective & ~0b111, *rest)) == 0
    try:
        yield  # without CAP_CHOWN, CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
    finally:
        assert libc.capset(header, before) == 0


@pytest.fixture(scope="session")
def broken_run(videos: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    rows: dict[str, dict[str, Any]] = {key: case.row for key, case in cases().items()}
    for place, (key, row) in zip(range(0, 10**6, 15), CONTROLS.items(), strict=False):
        items = list(rows.items())
        rows = dict([*items[:place], (key, row), *items[place:]])
    write_table(videos / "everything.jsonl", rows)
    run_dir = tmp_path_factory.mktemp("runs") / "broken"
    with subject_to_permissions():
        return evaluate(videos / "everything.jsonl", run_dir, "loader.num_workers=1")


def test_each_failure_is_one_line_on_stderr(videos: Path, tmp_path: Path, capfd: Any) -> None:
    rows = {key: case.row for key, case in cases().items() if "missing" in key or "cut" in key}
    write_table(videos / "some.jsonl", rows)
    evaluate(videos / "some.jsonl", tmp_path / "run")
    lines = capfd.readouterr().err.splitlines()
    failures = [line for line in lines if line.startswith("decode_error: ")]
    assert len(failures) == len(rows) == len({*failures})
    assert all(f"decode_error: {videos}/" in line for line in failures)
    assert any("missing\\nwith a line break.mp4: no such video file" in line for line in failures)


@pytest.fixture(scope="session")
def told(broken_run: Run) -> pd.DataFrame:
    return broken_run.records.set_index("sample_id")


def test_there_are_many_kinds() -> None:
    assert len(cases()) + len(TABLES) + len(ROWS) >= 100


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


def test_good_samples_of_the_same_run_score_as_ever(clean_run: Run, told: pd.DataFrame) -> None:
    assert clean_run.exit_code == 0
    clean = clean_run.records.set_index("sample_id")
    assert set(clean.index) == set(CONTROLS)
    for name, row in clean.iterrows():
        np.testing.assert_allclose(told.loc[name].scores, row.scores, atol=1e-6)
        assert told.loc[name].frame_indices[0].tolist() == row.frame_indices[0].tolist()


def test_only_long_captions_are_marked_as_truncated(told: pd.DataFrame) -> None:
    long = {f"caption {name}" for name, text in CAPTIONS.items() if len(text) > 1000}
    assert "caption 500 words" in set(told.index[told.truncated]) <= long


def test_coverage_names_each_file_and_reason_once(broken_run: Run, videos: Path) -> None:
    assert broken_run.exit_code == 3
    coverage = broken_run.summary["coverage"]
    lost = [case for case in cases().values() if case.status != "ok"]
    assert coverage["n"] == len(cases()) + len(CONTROLS)
    assert coverage["answered"] == coverage["n"] - len(lost)
    failed = [(Path(entry["path"]), entry["reason"]) for entry in coverage["failed"]]
    assert {path for path, _ in failed} == {videos / case.row["video"] for case in lost}
    assert len(set(failed)) == len(failed) == len(lost)
    table = (broken_run.path / "tables").glob("*.md")
    assert any(f"{coverage['answered']}" in file.read_text() for file in table)


def table_of(*rows: dict[str, Any], **change: Any) -> str:
    good = {"key": "k", "video": "good_0.mp4", **GOOD}
    return "\n".join(json.dumps(good | row | change) for row in rows or ({},))


TABLES: dict[str, tuple[str | bytes, str]] = {
    "nothing.jsonl": ("", "has no rows"),
    "blank_lines.jsonl": ("\n \n", "has no rows"),
    "cut_line.jsonl": (table_of()[:-5], "row 1: not valid JSON"),
    "python.jsonl": ("{'key': 'k'}", "not valid JSON"),
    "one_array.jsonl": (f"[{table_of()}]", "not an object"),
    "deep.jsonl": ("[" * 100_000, "not valid JSON"),
    "latin1.jsonl": (table_of(positive="x").replace("x", "é").encode("latin-1"), "not UTF-8"),
    "utf16.jsonl": (table_of().encode("utf-16"), "not UTF-8"),
    "binary.jsonl": (random.Random(2).randbytes(500), "not UTF-8"),
    "duplicate_ids.jsonl": (table_of({}, {}), "'k' occurs twice"),
    "nothing.csv": ("", "is empty"),
    "two_columns.csv": ("key,key\n1,2\n", "two columns are called 'key'"),
    "ragged.csv": ("key,video,positive\nk,good_0.mp4\n", "2 cells, but 3 columns"),
    "open_quote.csv": ('key,video\nk,"good_0.mp4\n', "malformed"),
    "other_names.csv": ("id,clip,right,wrong\nk,a,b,c\n", "there is no column"),
    "garbage.parquet": (random.Random(3).randbytes(500), "no Parquet file"),
    "table.xlsx": (b"PK\3\4", "none of the formats"),
}
"""Tables that cannot be read, and what is said of them."""

ROWS: dict[str, tuple[dict[str, Any], str]] = {
    "path escaping the root": ({"video": "../elsewhere.mp4"}, "lies outside"),
    "path escaping in the middle": ({"video": "a/../../elsewhere.mp4"}, "lies outside"),
    "absolute path": ({"video": "/etc/passwd"}, "lies outside"),
    "the root itself": ({"video": "."}, "lies outside"),
    "NUL in a path": ({"video": "a\0.mp4"}, "lies outside"),
    "half a character in a path": ({"video": "a\udcff.mp4"}, "no valid text"),
    "no video": ({"video": None}, "it is empty"),
    "video is a list": ({"video": ["a.mp4"]}, "is no text"),
    "NaN start": ({"start": float("nan")}, "it is empty"),
    "NaN end": ({"end": float("nan")}, "it is empty"),
    "NaN in words": ({"start": "nan"}, "is no time"),
    "infinite end": ({"end": float("inf")}, "is no time"),
    "negative start": ({"start": -1}, "is no time"),
    "minutes": ({"end": "1:30"}, "is no time"),
    "reversed span": ({"start": 2, "end": 1}, "starts at 2 s and ends at 1 s"),
    "empty span": ({"start": 1, "end": 1}, "starts at 1 s and ends at 1 s"),
    "empty caption": ({"positive": ""}, "it is empty"),
    "blank caption": ({"negative": " \t\n"}, "it is empty"),
    "null caption": ({"negative": None}, "it is empty"),
    "half a character in a caption": ({"positive": "a \ud83c"}, "no valid text"),
    "caption is a list": ({"positive": ["a"]}, "is no text"),
    "caption is true": ({"positive": True}, "is no text"),
}
"""Rows that cannot be used, and what is said of them."""


def refused(file: Path, tmp_path: Path, kind: type[VbenchError] = DataError) -> VbenchError:
    with pytest.raises(kind) as caught:
        evaluate(file, tmp_path / "run")
    assert caught.value.what
    assert caught.value.where
    assert caught.value.mend
    assert not (tmp_path / "run").exists()  # before anything is made
    return caught.value


@pytest.mark.parametrize("name", TABLES)
def test_tables_that_cannot_be_read_are_refused(name: str, tmp_path: Path) -> None:
    data, says = TABLES[name]
    (tmp_path / name).write_bytes(data if isinstance(data, bytes) else data.encode())
    kind = ConfigError if name.endswith("xlsx") else DataError
    error = refused(tmp_path / name, tmp_path, kind)
    assert says in error.render()
    assert name in error.render()


@pytest.mark.parametrize("name", ROWS)
def test_rows_that_cannot_be_used_are_refused_by_number(name: str, tmp_path: Path) -> None:
    row, says = ROWS[name]
    (tmp_path / "t.jsonl").write_text(table_of({"key": "good"}, row))
    error = refused(tmp_path / "t.jsonl", tmp_path)
    assert "row 2, column" in error.why
    assert says in error.why


def test_a_byte_order_mark_is_no_fault(videos: Path, tmp_path: Path) -> None:
    text = table_of(video="good_0.mp4", start=0, end=1)
    (videos / "bom.jsonl").write_text("\ufeff" + text, encoding="utf-8")
    assert evaluate(videos / "bom.jsonl", tmp_path / "run").exit_code == 0


@pytest.mark.parametrize("kind", ["missing", "folder", "loop", "locked"])
def test_table_files_that_are_not_there(kind: str, tmp_path: Path) -> None:
    file = tmp_path / "t.jsonl"
    match kind:
        case "folder":
            file.mkdir()
        case "loop":
            file.symlink_to(file)
        case "locked":
            file.write_text(table_of())
            file.chmod(0)
    with subject_to_permissions():
        assert "'t.jsonl' cannot be read" in refused(file, tmp_path).what


@pytest.mark.parametrize("kind", ["a file", "under a file", "locked", "something else"])
def test_run_folders_that_cannot_be_used(
    kind: str, videos: Path, tmp_path: Path, clean_run: Run
) -> None:
    run_dir = tmp_path / "run"
    match kind:
        case "a file":
            run_dir.write_text("mine")
        case "under a file":
            (tmp_path / "file").write_text("mine")
            run_dir = tmp_path / "file" / "run"
        case "locked":
            run_dir.mkdir(mode=0o500)
        case "something else":
            run_dir.mkdir()
            (run_dir / "thesis.tex").write_text("mine")
    with pytest.raises(RunError) as caught, subject_to_permissions():
        evaluate(videos / "controls.jsonl", run_dir)
    assert str(run_dir) in caught.value.where
    assert caught.value.mend
    left = [path.name for path in tmp_path.rglob("*") if path.is_file()]
    assert left in ([], ["run"], ["file"], ["thesis.tex"])


@contextmanager
def full_disk(folder: Path, share: float, needed: Sequence[int]) -> Iterator[Callable[[], None]]:
    """Makes a folder a disk that is too small; what it gives makes room on it.

    Only root may mount; where that is not allowed, it is files that may not become so large.

    Args:
        folder: Does not exist.
        share: Of the room that is needed.
        needed: Sizes of the files to come.
    """
    folder.mkdir()
    size = int(share * sum(size // 4096 + 1 for size in needed)) * 4096
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size},mode=777", "none", str(folder)]
    if not subprocess.run(mount, capture_output=True, check=False).returncode:
        grow = ["mount", "-o", "remount,size=64m", str(folder)]
        try:
            yield lambda: subprocess.run(grow, check=True)
        finally:
            subprocess.run(["umount", "-l", str(folder)], check=True)
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(share * max(needed)), hard))
    try:
        yield lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize("share", [0.1, 0.4, 0.7, 0.95])
def test_a_full_disk_stops_the_run_and_room_on_it_resumes(
    share: float, videos: Path, tmp_path: Path, clean_run: Run, capfd: Any
) -> None:
    needed = [path.stat().st_size for path in clean_run.path.rglob("*") if path.is_file()]
    run_dir = tmp_path / "disk" / "run"
    columns = ["start=start", "end=end", "id=key", "kind=pairs", f"file={videos}/controls.jsonl"]
    words = ["dataset=table", *(f"dataset.{word}" for word in columns), *MODEL, *PLACE]
    words += [f"run_dir={run_dir}", "loader.batch_size=1", "loader.flush_seconds=0"]
    with full_disk(tmp_path / "disk", share, needed) as make_room:
        assert main(words) == 1
        said = capfd.readouterr().err
        assert "vbench: cannot write to the run folder\n  where: " + str(run_dir) in said
        assert "free space" in said
        assert "Traceback" not in said
        assert not list(run_dir.rglob(".*.tmp"))
        for file in run_dir.rglob("*.parquet"):
            pd.read_parquet(file)
        make_room()
        assert main(words) == 0
        records = vbench.load_run(run_dir).records
        clean = clean_run.records
        pd.testing.assert_frame_equal(records.drop(columns="scores"), clean.drop(columns="scores"))
        np.testing.assert_allclose(np.stack(records.scores), np.stack(clean.scores), atol=1e-6)
