"""Decoding real files: exact frames by content, and honest failures."""

from __future__ import annotations

import gc
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


@pytest.mark.parametrize("degrees", [0, 90])
def test_pictures_are_let_go_as_soon_as_they_are_read(studio: Any, degrees: int) -> None:
    """Not when Python next looks for reference cycles: by then a long video fills the memory."""
    path = studio.video(f"let_go_{degrees}.mp4", rotation=(degrees, False))
    source = open_source(path)
    gc.collect()
    before = pictures_in_memory()
    gc.disable()
    try:
        assert len([frame.index for frame in source.frames(range(48))]) == 48
        assert pictures_in_memory() <= before + 1
    finally:
        gc.enable()


def pictures_in_memory() -> int:
    return sum(type(one) is av.VideoFrame for one in gc.get_objects())


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
