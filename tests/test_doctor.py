"""`vbench doctor` on real files: each kind of fault is found by its name, and nothing else is."""

from __future__ import annotations

import csv
import json
import os
import random
import shutil
import signal
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest

import vbench
from vbench.cli import main
from vbench.diagnosis.findings import KINDS, ordered
from vbench.diagnosis.report import Report
from vbench.doctor import examine
from vbench.schema import compose

COLUMNS = ("video", "start", "end", "positive", "negative")


def film(
    path: Path,
    codec: str = "libx264",
    *,
    seed: int = 0,
    ticks: Sequence[int] = range(24),
    still: int = 0,
    container: str | None = None,
) -> Path:
    """Writes a video of grain at 12 ticks a second; its first `still` pictures are one picture."""
    dice = np.random.default_rng(seed)
    quiet = {"preset": "ultrafast", "qp": "0", "g": "8"} if codec == "libx264" else {}
    with av.open(str(path), "w", format=container) as output:
        stream: Any = output.add_stream(codec, rate=12, options=quiet)
        stream.width, stream.height, stream.thread_count = 48, 32, 1
        stream.pix_fmt = "yuvj420p" if codec == "mjpeg" else "yuv420p"
        for number, tick in enumerate(ticks):
            if number == 0 or number >= still:
                pixels = dice.integers(0, 256, (32, 48, 3), dtype=np.uint8)
            frame = av.VideoFrame.from_ndarray(pixels, format="rgb24")
            frame.pts, frame.time_base = tick, Fraction(1, 12)
            output.mux(stream.encode(frame))
        output.mux(stream.encode(None))
    return path


def sound(path: Path) -> None:
    with av.open(str(path), "w") as output:
        stream: Any = output.add_stream("aac", rate=8000)
        frame = av.AudioFrame.from_ndarray(np.zeros((1, 8000), np.float32), "fltp", "mono")
        frame.sample_rate = 8000
        output.mux([*stream.encode(frame), *stream.encode(None)])


def damage(path: Path, position: int) -> None:
    """Overwrites a packet of a video."""
    with av.open(str(path)) as container:
        packets = [(p.pos, p.size) for p in container.demux(video=0) if p.size]
    start, size = packets[position]
    data = bytearray(path.read_bytes())
    data[start + 12 : start + size] = random.Random(1).randbytes(size - 12)
    path.write_bytes(data)


class Bench:
    """A table of caption pairs in a folder, all well until a test spoils it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        self.rows = [
            {"video": "a.mp4", "start": "0", "end": "2", "positive": "a", "negative": "b"},
            {"video": "b.mp4", "start": "0.5", "end": "1", "positive": "c", "negative": "d"},
        ]
        film(folder / "a.mp4", seed=1)
        film(folder / "b.mp4", seed=2)
        self.settings: list[str] = []

    def add(self, video: str, **cells: str) -> None:
        row = {"start": "0", "end": "1", "positive": "p", "negative": "n"}
        self.rows.append({"video": video, **row, **cells})

    def command(self) -> list[str]:
        with (self.folder / "qa.csv").open("w", newline="") as file:
            writer = csv.DictWriter(file, COLUMNS)
            writer.writeheader()
            writer.writerows(self.rows)
        return [
            "dataset=table", "dataset.kind=pairs", f"dataset.file={self.folder}/qa.csv",
            "dataset.start=start", "dataset.end=end", "loader.num_workers=0", *self.settings,
        ]  # fmt: skip

    def report(self) -> Report:
        return examine(compose(self.command(), "doctor"))


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path / "set")


def test_a_clean_table_gives_no_finding(bench: Bench) -> None:
    report = bench.report()
    assert (list(report.findings), report.exit_code) == ([], 0)
    assert (report.samples, len(report.files)) == (2, 2)


def empty(bench: Bench) -> None:
    bench.add("c.mp4")
    (bench.folder / "c.mp4").touch()


def garbage(bench: Bench) -> None:
    bench.add("c.mp4")
    (bench.folder / "c.mp4").write_bytes(random.Random(0).randbytes(10_000))


def cut(bench: Bench) -> None:
    bench.add("c.mp4")
    whole = film(bench.folder / "c.mp4", seed=3).read_bytes()
    (bench.folder / "c.mp4").write_bytes(whole[: len(whole) // 2])


def audio_only(bench: Bench) -> None:
    bench.add("c.mp4")
    sound(bench.folder / "c.mp4")


def a_folder(bench: Bench) -> None:
    bench.add("c.mp4")
    (bench.folder / "c.mp4").mkdir()


def last_frame(bench: Bench) -> None:
    bench.add("c.mp4")
    damage(film(bench.folder / "c.mp4", seed=3), 23)


def some_frame(bench: Bench) -> None:
    bench.add("c.mp4")
    damage(film(bench.folder / "c.mp4", seed=3), 3)
    bench.settings.append("decode=all")


def picture(bench: Bench) -> None:
    from PIL import Image

    bench.add("c.mp4", end="0.04")
    image = np.random.default_rng(3).integers(0, 256, (32, 48, 3), dtype=np.uint8)
    Image.fromarray(image).save(bench.folder / "c.mp4", "PNG")


def matroska(bench: Bench) -> None:
    bench.add("c.mp4")
    film(bench.folder / "c.mp4", seed=3, container="matroska")


def webm_of_h264(bench: Bench) -> None:
    bench.add("c.webm")
    film(bench.folder / "c.webm", seed=3, container="matroska")


def avi(bench: Bench) -> None:
    bench.add("c.mov")
    film(bench.folder / "c.mov", "mjpeg", seed=3, container="avi")


def png_as_jpg(bench: Bench) -> None:
    from PIL import Image

    bench.add("c")
    (bench.folder / "c").mkdir()
    for number in (6, 18):  # VELOCITI's frames at 0.25 and 0.75 s of 24 a second
        image = np.full((32, 48, 3), number, np.uint8)
        Image.fromarray(image).save(bench.folder / "c" / f"frame_{number:03d}.jpg", "PNG")


def uneven(bench: Bench) -> None:
    bench.add("c.mp4")
    film(bench.folder / "c.mp4", seed=3, ticks=[0, 1, 2, 5, 6, 7, 12, 13, 14, 15])


def frozen(bench: Bench) -> None:
    bench.add("c.mp4")
    film(bench.folder / "c.mp4", seed=3, still=24)


def stutter(bench: Bench) -> None:
    bench.add("c.mp4")
    film(bench.folder / "c.mp4", seed=3, still=9)
    bench.settings.append("decode=all")


def renamed_copy(bench: Bench) -> None:
    bench.add("c.mp4")
    shutil.copy(bench.folder / "a.mp4", bench.folder / "c.mp4")


def mistyped_column(bench: Bench) -> None:
    bench.settings.append("dataset.video=vidoe")


def one_frame(bench: Bench) -> None:
    bench.add("c.mp4", end="0.05")
    film(bench.folder / "c.mp4", seed=3, ticks=[0])


def wordy(bench: Bench) -> None:
    bench.add("a.mp4", positive="word " * 200)
    bench.settings.append("model=toy/clip")


CASES: dict[str, tuple[str, Callable[[Bench], None], str]] = {
    "missing": ("missing", lambda b: b.add("c.mp4"), "c.mp4: no such video file"),
    "empty": ("undecodable", empty, "the file is empty"),
    "garbage": ("undecodable", garbage, "cannot be read as video: InvalidDataError"),
    "cut short": ("undecodable", cut, "cannot be read as video"),
    "audio only": ("undecodable", audio_only, "no video that can be decoded: it holds audio"),
    "folder": ("undecodable", a_folder, "the folder holds no image"),
    "last frame": ("damaged", last_frame, "frame 23 at 1.917 s cannot be decoded"),
    "some frame": ("damaged", some_frame, "frame 3 at 0.250 s cannot be decoded"),
    "late span": (
        "empty_span",
        lambda b: b.add("a.mp4", start="7", end="9"),
        "no frame is shown between 7.0 s and 9.0 s: the last frame is shown at 1.917 s",
    ),
    "short": (
        "short",
        lambda b: b.add("a.mp4", start="1", end="4"),
        "a clip asks for 1 s to 4 s, it ends at 2 s",
    ),
    "one frame": ("single_frame", one_frame, "it has one frame"),
    "frozen": ("frozen", frozen, "all of 3 decoded frames show the same picture"),
    "stutter": ("repeated_frames", stutter, "8 of 24 frames show the picture of the frame before"),
    "uneven": ("variable_rate", uneven, "10 frames in 1.333 s are not evenly spaced"),
    "matroska": ("mislabelled", matroska, "it is a matroska container with h264"),
    "webm of h264": ("mislabelled", webm_of_h264, "h264, which WebM may not hold"),
    "avi": ("mislabelled", avi, "it is an avi container with mjpeg"),
    "images": ("mislabelled", png_as_jpg, "frame_006.jpg is PNG and 1 more"),
    "copy": ("duplicate_content", renamed_copy, "the same content is called a.mp4 and c.mp4"),
    "repeated row": (
        "duplicate_sample",
        lambda b: b.rows.append(b.rows[0]),
        "table 3: asks the same as table 1",
    ),
    "contradiction": (
        "contradiction",
        lambda b: b.rows.append({**b.rows[0], "positive": "b", "negative": "a"}),
        "table 3: asks what table 1 asks, with another right answer",
    ),
    "same texts": (
        "same_choices",
        lambda b: b.add("a.mp4", negative="p"),
        "table 3: two of its texts are the same",
    ),
    "long text": ("long_text", wordy, "table 3: text 1 of 2 is longer than the 48 tokens"),
    "no rows": ("unreadable_dataset", lambda b: b.rows.clear(), "the table has no rows"),
    "column": ("unreadable_dataset", mistyped_column, "there is no column 'vidoe'"),
}


@pytest.mark.parametrize("case", CASES)
def test_each_fault_is_found_and_no_other(case: str, bench: Bench) -> None:
    kind, spoil, said = CASES[case]
    spoil(bench)
    report = bench.report()
    assert [finding.kind for finding in report.findings] == [kind]
    (finding,) = report.findings
    assert said in f"{finding.where}: {finding.what}"
    assert finding.severity == KINDS[kind][0]
    assert finding.mend or finding.severity == "note" or kind == "unreadable_dataset"
    assert report.exit_code == (0 if finding.severity == "note" else 3)
    assert "\n" not in finding.where + finding.what + finding.mend


def test_a_still_scene_is_no_stutter(bench: Bench) -> None:
    bench.add("c.mp4")
    film(bench.folder / "c.mp4", seed=3, still=5)
    bench.settings.append("decode=all")
    assert list(bench.report().findings) == []


def test_a_picture_in_a_videos_clothes(bench: Bench) -> None:
    picture(bench)
    single, mislabelled = ordered(bench.report().findings)
    assert mislabelled.what == "it is a single png picture"
    assert single.kind == "single_frame"


def test_the_table_knows_at_least_twelve_kinds() -> None:
    assert len({kind for kind, *_ in CASES.values()}) >= 12
    elsewhere = {
        "irregular",
        "contradictory_group",
        "shortcut",
        "no_samples",
        "duplicate_id",
        "empty_text",
        "video_mark",
        "bad_target",
        "decoder_lost",
        "other_count",
        "limit_unknown",
    }
    assert {kind for kind, *_ in CASES.values()} | elsewhere == set(KINDS)


def test_a_decoder_that_dies_costs_one_file(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    import vbench.doctor

    facts_of = vbench.doctor.facts_of

    def crash_on_b(path: str, *more: Any) -> Any:
        if path.endswith("b.mp4"):
            os.kill(os.getpid(), signal.SIGKILL)
        return facts_of(path, *more)

    monkeypatch.setattr(vbench.doctor, "facts_of", crash_on_b)
    bench.settings.append("loader.num_workers=2")
    report = bench.report()
    assert [(f.kind, Path(f.where).name) for f in report.findings] == [("decoder_lost", "b.mp4")]
    assert "SIGKILL" in report.findings[0].what
    assert [file.facts.frames for file in report.files] == [24, 0]


def test_a_model_without_a_limit_is_a_note(bench: Bench) -> None:
    bench.settings.append("model=oracle/constant")
    report = bench.report()
    assert [finding.kind for finding in report.findings] == ["limit_unknown"]
    assert report.exit_code == 0


def test_no_weights_are_read(bench: Bench, tmp_path: Path) -> None:
    toy = Path(vbench.__file__).parent / "assets" / "toy_clip"
    folder = shutil.copytree(toy, tmp_path / "checkpoint")
    (folder / "model.safetensors").unlink()
    bench.settings += ["model=hf/dual_encoder", f"model.checkpoint={folder}"]
    bench.add("a.mp4", positive="word " * 200)
    assert [finding.kind for finding in bench.report().findings] == ["long_text"]


def test_a_toy_set_that_is_not_built_is_left_alone(tmp_path: Path) -> None:
    words = ["dataset=velociti/toy", f"dataset.root={tmp_path}/toy"]
    report = examine(compose(words, "doctor"))
    assert [(f.kind, f.what) for f in report.findings] == [
        ("unreadable_dataset", "it is not built yet")
    ]
    assert list(tmp_path.iterdir()) == []


def test_a_toy_set_is_clean_as_videos_and_as_frames(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = f"dataset.root={tmp_path}/toy"
    assert main(["build", root, "num_videos=3", "dataset.source=frames"]) == 0
    before = snapshot(tmp_path)
    capsys.readouterr()
    for source in ("video", "frames"):
        assert main(["doctor", root, f"dataset.source={source}", "model=toy/clip"]) == 0
        out = capsys.readouterr().out
        assert out.startswith("velociti/toy: ")
        assert " 3 files, " in out
        assert out.endswith("\nno problems\n")
    assert snapshot(tmp_path) == before


def snapshot(folder: Path) -> dict[str, tuple[int, int]]:
    return {str(file): (file.stat().st_size, file.stat().st_mtime_ns) for file in folder.rglob("*")}


def refuse(constant: str) -> float:
    raise ValueError(f"{constant} is no JSON")


def test_json_is_strict_and_its_keys_are_these(
    bench: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    garbage(bench)
    uneven_name = "über [b]\x1b[31m.mp4"
    bench.add(uneven_name)
    film(bench.folder / uneven_name, seed=4, ticks=[0, 1, 2, 9, 10])
    assert main(["doctor", *bench.command(), "--json"]) == 3
    said = json.loads(capsys.readouterr().out, parse_constant=refuse)
    assert list(said) == [
        "version", "dataset", "model", "samples", "problems", "counts", "findings", "files",
    ]  # fmt: skip
    assert said["version"] == 1
    assert said["counts"] == {"undecodable": 1, "variable_rate": 1}
    assert (said["samples"], said["problems"]) == (4, 1)
    assert [list(finding) for finding in said["findings"]] == [
        ["severity", "kind", "where", "what", "mend", "samples"]
    ] * 2
    assert [list(file) for file in said["files"]] == [
        [
            "path", "bytes", "content", "container", "codec", "frames", "duration_s", "fps",
            "width", "height", "variable_rate",
        ]
    ] * 4  # fmt: skip
    whole, *_, broken, uneven_file = said["files"]
    assert (whole["frames"], whole["duration_s"], whole["fps"]) == (24, 2.0, 12.0)
    assert (whole["width"], whole["height"], whole["codec"]) == (48, 32, "h264")
    assert len(whole["content"]) == 64
    assert (broken["frames"], broken["content"], broken["bytes"]) == (0, None, 10_000)
    assert Path(uneven_file["path"]).name == uneven_name


def test_findings_are_one_safe_line_each(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    bench.add("new\nline \x1b[31m.mp4")
    bench.add("c.mp4")
    assert main(["doctor", *bench.command()]) == 3
    head, counted, *lines, last = capsys.readouterr().out.splitlines()
    assert head.startswith("table: 4 samples, 4 files, ")
    assert counted.split() == ["2", "error", "missing", "no", "such", "file"]
    assert len(lines) == 2
    assert all(text.startswith("error    missing ") and text.isprintable() for text in lines)
    assert last == "2 problems"


def test_a_doctor_that_fails_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "dataset=tabel"]) == 1
    assert "did you mean 'table'?" in capsys.readouterr().err
    assert main(["doctor", "decode=some"]) == 1
    assert "'ends' or 'all'" in capsys.readouterr().err
    assert main(["doctor", "--jsno"]) == 1
    assert "--json" in capsys.readouterr().err
    assert main(["doctor", "--help"]) == 0
    assert "vbench doctor [--json]" in capsys.readouterr().out
