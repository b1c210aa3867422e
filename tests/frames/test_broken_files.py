"""Files that are damaged, cut short, or no video at all: each fails by name, none is guessed at."""

from __future__ import annotations

import os
import random
import shutil
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest

from vbench.errors import DecodeError
from vbench.frames.source import open_source
from vbench.frames.video import VideoFile

QUIET = {"x265-params": "log-level=none:keyint=12:bframes=3"}


def whole(studio: Any) -> str:
    """An ordinary file."""
    path: str = studio.video("b_frames.mp4", options={"g": "12", "bf": "3"})
    return path


DAMAGED = {
    "grainy.mp4": ("libx264", {"options": {"g": "12", "bf": "3"}, "grain": 90}),
    "grainy_hevc.mp4": ("libx265", {"options": QUIET, "grain": 90}),
    "grainy.webm": ("libvpx-vp9", {"options": {"g": "12", "cpu-used": "8"}, "grain": 90}),
    "grainy_mpeg4.mp4": ("mpeg4", {"options": {"g": "12", "bf": "2"}, "grain": 90}),
    "grainy.avi": ("mjpeg", {"pixel_format": "yuvj420p", "grain": 90}),
}


# Positions in file order, P and B pictures. FFmpeg notices noise inside an HEVC picture only where
# it breaks the syntax; what a decoder cannot notice, nobody can.
@pytest.mark.parametrize(
    ("name", "position"),
    [
        (name, position)
        for name in DAMAGED
        for position in ([30] if name == "grainy_hevc.mp4" else [13, 29, 30, 31])
    ],
)
def test_a_damaged_frame_fails_and_no_neighbour_takes_its_place(
    studio: Any, name: str, position: int, tmp_path: Path
) -> None:
    codec, settings = DAMAGED[name]
    good = VideoFile(studio.video(name, codec, **settings))
    target, bad = overwritten(good, position, tmp_path / name)
    source = VideoFile(str(target))
    assert source.timeline.timestamps_s == good.timeline.timestamps_s
    with pytest.raises(DecodeError, match=f"frame {bad} at .* cannot be decoded") as caught:
        source.read([2, bad])
    assert caught.value.where == str(target)
    # of the rest, what is delivered is right to the pixel: what builds on the damage is not
    right, delivered = good.read(range(48)), []
    for index in range(48):
        try:
            pixels = source.read([index])[index]
        except DecodeError:
            continue
        np.testing.assert_array_equal(pixels, right[index])
        delivered.append(index)
    assert set(delivered) >= {*range(bad - 6), *range(bad + 12, 48)}


def overwritten(good: VideoFile, position: int, target: Path) -> tuple[Path, int]:
    """Copies a video with one packet overwritten; returns it and the index of that frame."""
    with av.open(good.timeline.path) as container:
        packets = [(p.pos, p.size, p.pts) for p in container.demux(video=0) if p.size]
    start, size, pts = packets[position]
    data = bytearray(Path(good.timeline.path).read_bytes())
    data[start + 12 : start + size] = random.Random(1).randbytes(size - 12)
    target.write_bytes(data)
    assert good.probe.ticks is not None
    return target, good.probe.ticks.index(pts)


def test_damage_without_times_fails_the_file(studio: Any, tmp_path: Path) -> None:
    data = Path(studio.video("grainy.h264", container="h264", grain=90)).read_bytes()
    units = data.split(b"\0\0\1")
    noise = random.Random(0).randbytes
    for number in range(10, len(units), 2):  # many, for noise may pass for content here and there
        units[number] = units[number][:12] + noise(max(0, len(units[number]) - 12))
    (tmp_path / "bad.h264").write_bytes(b"\0\0\1".join(units))
    with pytest.raises(DecodeError, match="damaged"):
        VideoFile(str(tmp_path / "bad.h264"))


@pytest.mark.parametrize("suffix", ["mp4", "mkv", "webm"])
@pytest.mark.parametrize("kept", [0.02, 0.3, 0.6])
def test_a_file_cut_short_is_not_scored_as_a_shorter_video(
    studio: Any, suffix: str, kept: float, tmp_path: Path
) -> None:
    if suffix == "webm":
        complete = studio.video("vp9.webm", "libvpx-vp9", options={"cpu-used": "8"})
    else:
        name, options = f"index_first.{suffix}", {"movflags": "faststart"}
        path = whole(studio)
        complete = studio.remuxed(path, name, options=options if suffix == "mp4" else None)
        assert len(open_source(complete).timeline.timestamps_s) == 48
    data = Path(complete).read_bytes()
    (tmp_path / "cut").write_bytes(data[: int(len(data) * kept)])
    with pytest.raises(DecodeError) as caught:
        open_source(str(tmp_path / "cut"))
    if kept > 0.1:
        assert caught.value.what == "the file is cut short"


def test_a_slide_show_is_not_mistaken_for_a_cut_file(studio: Any) -> None:
    """Matroska stores no duration for the last frame, and the header counts it."""
    path = studio.video("slides.mkv", count=5, ticks=[0, 120, 240, 360, 480])
    assert len(open_source(path).timeline.timestamps_s) == 5


def test_sound_longer_than_the_picture_is_no_fault(studio: Any) -> None:
    short = studio.video("short.mp4", count=6)
    source = open_source(studio.remuxed(short, "with_sound.mp4", audio=True))
    assert len(source.timeline.timestamps_s) == 6


def broken(kind: str, studio: Any, folder: Path) -> Path:
    """Makes a file that cannot be read as video."""
    path = folder / f"{kind}.mp4"
    match kind:
        case "empty":
            path.touch()
        case "garbage":
            path.write_bytes(random.Random(0).randbytes(100_000))
        case "text":
            path.write_text("not a video\n" * 100)
        case "index_lost":  # an mp4 whose index was to come at the end
            data = Path(whole(studio)).read_bytes()
            path.write_bytes(data[: len(data) * 9 // 10])
        case "audio_only":
            with av.open(str(path), "w") as output:
                stream: Any = output.add_stream("aac", rate=8000)
                frame = av.AudioFrame.from_ndarray(np.zeros((1, 8000), np.float32), "fltp", "mono")
                frame.sample_rate = 8000
                output.mux([*stream.encode(frame), *stream.encode(None)])
        case "playlist":  # would have FFmpeg open another file
            other = whole(studio)
            path.write_text(f"ffconcat version 1.0\nfile {other}\n")
        case "link_loop":
            path.symlink_to(path)
        case "no_packets":  # a header without frames
            with av.open(str(path), "w") as output:
                empty: Any = output.add_stream("mpeg4", rate=24)
                empty.width, empty.height, empty.pix_fmt = 96, 64, "yuv420p"
                output.start_encoding()
        case "undecodable":
            data = bytearray(Path(whole(studio)).read_bytes())
            start, end = data.index(b"mdat") + 4, data.index(b"moov") - 4
            data[start:end] = bytes(end - start)
            path.write_bytes(data)
    return path


@pytest.mark.parametrize(
    "kind",
    [
        "missing",
        "empty",
        "garbage",
        "text",
        "index_lost",
        "audio_only",
        "playlist",
        "link_loop",
        "no_packets",
        "undecodable",
    ],
)
def test_what_is_no_video_says_so_in_few_lines(studio: Any, kind: str, tmp_path: Path) -> None:
    path = broken(kind, studio, tmp_path)
    with pytest.raises(DecodeError) as caught:
        open_source(str(path))
    error = caught.value
    assert error.where == str(path)
    assert error.mend
    assert "\n" not in error.what + error.why


@pytest.mark.parametrize("name", ["x" * 300, "a\0b.mp4", "not_utf8_\udcff.mp4", "no/such/folder"])
def test_names_that_cannot_be_opened(name: str, tmp_path: Path) -> None:
    with pytest.raises(DecodeError) as caught:
        open_source(str(tmp_path / name))
    assert caught.value.where == str(tmp_path / name)


def test_a_file_without_permission(studio: Any, tmp_path: Path) -> None:
    path = tmp_path / "locked.mp4"
    shutil.copy(whole(studio), path)
    path.chmod(0)
    root = os.geteuid() == 0
    if root:
        os.seteuid(65534)  # nobody: root may read everything
    try:
        with pytest.raises(DecodeError, match="permission"):
            open_source(str(path))
    finally:
        if root:
            os.seteuid(0)
