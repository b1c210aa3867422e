"""Decoding real files: exact frames by content, and honest failures."""

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
from vbench.frames.samplers import CountSampler, FixedSampler
from vbench.frames.source import Source, open_source
from vbench.frames.video import VideoFile
from vbench.records import Clip

QUIET = {"x265-params": "log-level=none:keyint=12:bframes=3"}
VFR = [0, 1, 2, 5, 12, 14, 15, 16, 20, 27, 28, 29, 33, 40, 41, 47, 48, 49, 60, 61, 62, 63, 70, 96]

# name: (codec, settings)
KINDS: dict[str, tuple[str, dict[str, Any]]] = {
    "b_frames.mp4": ("libx264", {"options": {"g": "12", "bf": "3"}}),
    "one_keyframe.mp4": ("libx264", {"options": {"g": "999", "bf": "3"}}),
    "open_gop.mp4": ("libx264", {"options": {"g": "12", "bf": "3", "x264-params": "open-gop=1"}}),
    "hevc.mp4": ("libx265", {"options": QUIET}),
    "ten_bit.mkv": ("libx264", {"pixel_format": "yuv420p10le"}),
    "full_range.mp4": ("libx264", {"pixel_format": "yuvj420p"}),
    "vp9.webm": ("libvpx-vp9", {"options": {"cpu-used": "8"}}),
    "vp8_hidden_frames.webm": ("libvpx", {"options": {"auto-alt-ref": "1", "lag-in-frames": "16"}}),
    "av1.mp4": ("libsvtav1", {"options": {"preset": "12", "svtav1-params": "lp=1"}}),
    "mpeg4.mp4": ("mpeg4", {"options": {"bf": "2"}}),
    "mpeg4.avi": ("mpeg4", {"options": {"bf": "2"}}),
    "no_times.avi": ("libx264", {"options": {"bf": "2"}}),
    "no_times.h264": ("libx264", {"container": "h264"}),
    "mjpeg.avi": ("mjpeg", {"pixel_format": "yuvj420p"}),
    "picture.gif": ("gif", {"pixel_format": "rgb8"}),
    "starts_late.ts": ("libx264", {"start": 240}),
    "starts_late.mp4": ("libx264", {"start": 240}),
    "odd_size.mp4": ("libx264", {"pixel_format": "yuv444p", "size": (97, 63)}),
    "one_frame.mp4": ("libx264", {"count": 1}),
    "two_frames.webm": ("libvpx-vp9", {"count": 2}),
    "variable.mp4": ("libx264", {"ticks": VFR, "count": len(VFR)}),
    "variable.mkv": ("libx264", {"ticks": VFR, "count": len(VFR), "start": 24}),
    "a name: with colon, ünïcode 🎬.mp4": ("libx264", {}),
}


def opened(studio: Any, name: str) -> VideoFile:
    codec, settings = KINDS[name]
    source = open_source(studio.video(name, codec, **settings))
    assert isinstance(source, VideoFile)
    return source


def numbers(studio: Any, source: Source, indices: list[int]) -> dict[int, int]:
    return {index: studio.number_in(pixels) for index, pixels in source.read(indices).items()}


@pytest.mark.parametrize("name", KINDS)
def test_every_frame_is_the_frame_it_says(studio: Any, name: str) -> None:
    source = opened(studio, name)
    settings = KINDS[name][1]
    count = settings.get("count", 48)
    width, height = settings.get("size", (96, 64))
    ticks = settings.get("ticks", range(count))
    rate = 25 if name == "no_times.h264" else 24  # a raw stream has no times but FFmpeg's guess
    timeline = source.timeline
    # containers count time in ticks of up to 10 ms (GIF)
    np.testing.assert_allclose(timeline.timestamps_s, [t / rate for t in ticks], atol=0.0101)
    assert (timeline.width, timeline.height, timeline.rotation) == (width, height, 0)
    assert numbers(studio, source, list(range(count))) == {i: i for i in range(count)}
    some = random.Random(name).sample(range(count), min(5, count))
    assert numbers(studio, source, some) == {i: i for i in some}
    for frame in source.frames([count - 1, 0]):
        assert frame.pixels.shape == (height, width, 3)
        assert frame.pixels.dtype == np.uint8
        assert frame.timestamp_s == timeline.timestamps_s[frame.index]


@pytest.mark.parametrize("name", ["b_frames.mp4", "hevc.mp4", "vp9.webm", "ten_bit.mkv"])
def test_pixels_equal_plain_sequential_decoding(studio: Any, name: str) -> None:
    source = opened(studio, name)
    with av.open(source.timeline.path) as container:
        plain = [frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)]
    for index, pixels in source.read([0, 7, 30, 47]).items():
        np.testing.assert_array_equal(pixels, plain[index])


def test_constant_rate_is_exact(studio: Any) -> None:
    timeline = opened(studio, "b_frames.mp4").timeline
    assert timeline.timestamps_s == tuple(i / 24 for i in range(48))
    assert (timeline.end_s, timeline.source_fps, timeline.codec) == (2.0, 24.0, "h264")


def test_variable_rate_follows_presentation_times_not_an_average(studio: Any) -> None:
    for name in ("variable.mp4", "variable.mkv"):
        source = opened(studio, name)
        assert source.timeline.source_fps == pytest.approx(24 / (97 / 24), rel=0.01)
        picked = source.pick(Clip("v", "", 1.0, 2.0), CountSampler("uniform_midpoints"))
        inside = [i for i, tick in enumerate(VFR) if 24 <= tick < 48]
        assert list(picked.indices) == inside
        assert numbers(studio, source, inside) == {i: i for i in inside}
        middles = source.pick(Clip("v", ""), FixedSampler("mid_second"))
        # on screen at 0.5, 1.5, 2.5, 3.5 s, that is at ticks 12, 36, 60, 84
        assert [VFR[i] for i in middles.indices] == [12, 33, 60, 70]


@pytest.mark.parametrize("mirrored", [False, True])
@pytest.mark.parametrize("degrees", [0, 90, 180, 270])
def test_rotation_and_mirroring_are_honoured(studio: Any, degrees: int, mirrored: bool) -> None:
    name = f"turned_{degrees}_{mirrored}.mp4"
    path = studio.video(name, count=6, rotation=(degrees, mirrored))
    source = open_source(path)
    assert (source.timeline.width, source.timeline.height) == (96, 64)
    assert numbers(studio, source, [0, 3, 5]) == {0: 0, 3: 3, 5: 5}
    if not mirrored:
        assert source.timeline.rotation % 360 == degrees


def test_an_edit_list_hides_frames_as_it_does_from_players(studio: Any) -> None:
    whole = opened(studio, "b_frames.mp4").timeline.path
    source = open_source(studio.remuxed(whole, "edited.mp4", shift=-10 * 512))
    assert len(source.timeline.timestamps_s) == 38
    assert source.timeline.timestamps_s[1] == 1 / 24
    assert numbers(studio, source, list(range(38))) == {i: i + 10 for i in range(38)}


def test_a_stream_cut_before_its_keyframe_has_only_the_frames_that_decode(studio: Any) -> None:
    whole = opened(studio, "b_frames.mp4").timeline.path
    source = open_source(studio.remuxed(whole, "late_keyframe.mp4", skip=5))
    count = len(source.timeline.timestamps_s)
    found = numbers(studio, source, list(range(count)))
    assert count < 43
    assert found == {i: i + 48 - count for i in range(count)}


def test_one_pass_stops_after_the_last_wanted_frame(
    studio: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = opened(studio, "b_frames.mp4")
    opens = []
    whole = av.open
    monkeypatch.setattr(av, "open", lambda *a, **k: opens.append(a) or whole(*a, **k))
    threads = Path("/proc/self/task")  # Linux only
    before = len([*threads.iterdir()]) if threads.exists() else 0
    frames = source.frames([20, 3, 3, 11])
    assert [next(frames).index for _ in range(2)] == [3, 11]
    if before:
        assert len([*threads.iterdir()]) == before, "decoding or converting started threads"
    assert [frame.index for frame in frames] == [20]
    assert len(opens) == 1
    assert source.read([]) == {}
    assert len(opens) == 1
    assert av.logging.get_level() is None, "PyAV's log callback can deadlock"


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
    whole, delivered = good.read(range(48)), []
    for index in range(48):
        try:
            pixels = source.read([index])[index]
        except DecodeError:
            continue
        np.testing.assert_array_equal(pixels, whole[index])
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
    assert good._index_of is not None
    return target, good._index_of[pts]


def test_damage_without_times_fails_the_file(studio: Any, tmp_path: Path) -> None:
    data = bytearray(Path(studio.video("grainy.h264", container="h264", grain=90)).read_bytes())
    third = len(data) // 3
    data[third : 2 * third] = random.Random(0).randbytes(third)
    (tmp_path / "bad.h264").write_bytes(data)
    with pytest.raises(DecodeError, match="damaged"):
        VideoFile(str(tmp_path / "bad.h264"))


@pytest.mark.parametrize("suffix", ["mp4", "mkv", "webm"])
@pytest.mark.parametrize("kept", [0.02, 0.3, 0.6])
def test_a_file_cut_short_is_not_scored_as_a_shorter_video(
    studio: Any, suffix: str, kept: float, tmp_path: Path
) -> None:
    if suffix == "webm":
        whole = opened(studio, "vp9.webm").timeline.path
    else:
        name, options = f"index_first.{suffix}", {"movflags": "faststart"}
        path = opened(studio, "b_frames.mp4").timeline.path
        whole = studio.remuxed(path, name, options=options if suffix == "mp4" else None)
        assert len(open_source(whole).timeline.timestamps_s) == 48
    data = Path(whole).read_bytes()
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
            data = Path(opened(studio, "b_frames.mp4").timeline.path).read_bytes()
            path.write_bytes(data[: len(data) * 9 // 10])
        case "audio_only":
            with av.open(str(path), "w") as output:
                stream: Any = output.add_stream("aac", rate=8000)
                frame = av.AudioFrame.from_ndarray(np.zeros((1, 8000), np.float32), "fltp", "mono")
                frame.sample_rate = 8000
                output.mux([*stream.encode(frame), *stream.encode(None)])
        case "playlist":  # would have FFmpeg open another file
            other = opened(studio, "b_frames.mp4").timeline.path
            path.write_text(f"ffconcat version 1.0\nfile {other}\n")
        case "link_loop":
            path.symlink_to(path)
        case "no_packets":  # a header without frames
            with av.open(str(path), "w") as output:
                empty: Any = output.add_stream("mpeg4", rate=24)
                empty.width, empty.height, empty.pix_fmt = 96, 64, "yuv420p"
                output.start_encoding()
        case "undecodable":
            data = bytearray(Path(opened(studio, "b_frames.mp4").timeline.path).read_bytes())
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


def test_a_file_without_permission(studio: Any, tmp_path: Path) -> None:
    path = tmp_path / "locked.mp4"
    shutil.copy(opened(studio, "b_frames.mp4").timeline.path, path)
    path.chmod(0)
    if os.access(path, os.R_OK):
        pytest.skip("this user may read everything (root)")
    with pytest.raises(DecodeError, match="permission"):
        open_source(str(path))


def test_a_name_is_never_taken_for_a_protocol(studio: Any, tmp_path: Path) -> None:
    inner = opened(studio, "b_frames.mp4").timeline.path
    for name in (f"concat:{inner}", f"subfile,,start,0,end,0,,:{inner}"):
        with pytest.raises(DecodeError, match="no such video file"):
            open_source(name)


def test_frames_that_do_not_exist_are_refused(studio: Any) -> None:
    source = opened(studio, "b_frames.mp4")
    for index in (-1, 48):
        with pytest.raises(DecodeError, match=f"frame {index} does not exist"):
            source.read([0, index])


def test_identity_follows_the_bytes_not_the_name(studio: Any, tmp_path: Path) -> None:
    first, other = (opened(studio, n).timeline for n in ("b_frames.mp4", "one_keyframe.mp4"))
    copy = shutil.copy(first.path, tmp_path / "another_name.mp4")
    assert open_source(str(copy)).timeline.identity == first.identity != other.identity
