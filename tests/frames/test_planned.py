"""Planned decoding delivers what sequential decoding does, to the bit, or leaves it to it."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any
from unittest.mock import patch

import av
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vbench.errors import DecodeError
from vbench.frames import video
from vbench.frames.dependencies import Dependencies, Role
from vbench.frames.source import open_source
from vbench.frames.video import VideoFile


def x264(parameters: str = "", **settings: Any) -> tuple[str, dict[str, Any]]:
    options = {"g": "12", "bf": "3", "x264-params": parameters}
    return "libx264", {"grain": 20, "options": options | settings.pop("options", {}), **settings}


def x265(parameters: str, **settings: Any) -> tuple[str, dict[str, Any]]:
    quiet = f"log-level=none:keyint=12:bframes=3:{parameters}"
    return "libx265", {"grain": 20, "options": {"x265-params": quiet}, **settings}


def vp9(g: int = 12, **settings: Any) -> tuple[str, dict[str, Any]]:
    return "libvpx-vp9", {"grain": 20, "options": {"cpu-used": "8", "g": str(g)}, **settings}


def av1(parameters: str = "", g: int = 12) -> tuple[str, dict[str, Any]]:
    options = {"preset": "11", "g": str(g), "svtav1-params": f"lp=1{parameters}"}
    return "libsvtav1", {"grain": 20, "options": options}


SPARSE = [
    0,
    1,
    2,
    5,
    12,
    14,
    15,
    16,
    20,
    27,
    28,
    29,
    33,
    40,
    41,
    47,
    48,
    49,
    60,
    61,
    62,
    63,
    70,
    96,
]

PLANNED: dict[str, tuple[str, dict[str, Any]]] = {
    "p_b_frames.mp4": x264(),
    "p_matroska.mkv": x264(),
    "p_flash.flv": x264(),
    "p_one_keyframe.mp4": x264(options={"g": "999"}),
    "p_open_gop.mp4": x264("open-gop=1"),
    "p_gradual_refresh.mp4": x264("intra-refresh=1"),
    "p_no_pyramid.mp4": x264("b-pyramid=none:ref=5:weightp=2"),
    "p_baseline.mp4": x264(options={"bf": "0", "profile": "baseline"}),
    "p_all_intra.mp4": x264(options={"g": "1", "bf": "0"}),
    "p_interlaced.mp4": x264("interlaced=1:tff=1"),
    "p_slices_delimiters.mp4": x264("slices=4:aud=1:nal-hrd=vbr:vbv-maxrate=500:vbv-bufsize=500"),
    "p_repeated_headers.mp4": x264("repeat-headers=1"),
    "p_ten_bit.mp4": x264(pixel_format="yuv420p10le"),
    "p_odd_444.mp4": x264(pixel_format="yuv444p", size=(97, 63)),
    "p_lossless.mp4": x264(options={"qp": "0"}),
    "p_variable_rate.mp4": x264(ticks=SPARSE, count=len(SPARSE)),
    "p_turned.mp4": x264(rotation=(90, True)),
    "p_starts_late.mkv": x264(start=240),
    "p_hevc.mp4": x265("open-gop=0"),
    "p_hevc_ten_bit.mkv": x265("open-gop=0:repeat-headers=1", pixel_format="yuv420p10le"),
    "p_vp9.webm": vp9(),
    "p_vp9_hidden.webm": vp9(g=20),
    "p_av1.mp4": av1(),
    "p_av1_grain.mkv": av1(":film-grain=8", g=16),
}

SEQUENTIAL: dict[str, tuple[str, dict[str, Any]]] = {
    "s_transport.ts": x264(),
    "s_no_times.avi": x264(),
    "s_hevc_open_gop.mp4": x265("open-gop=1"),
    "s_av1_forward_keys.mkv": av1(":irefresh-type=1", g=16),
    "s_mpeg4.mp4": ("mpeg4", {"options": {"bf": "2"}}),
    "s_mjpeg.avi": ("mjpeg", {"pixel_format": "yuvj420p"}),
    "s_picture.gif": ("gif", {"pixel_format": "rgb8"}),
    "s_vp8.webm": ("libvpx", {"options": {"auto-alt-ref": "1", "lag-in-frames": "16"}}),
    "s_nothing_to_save.mp4": x264(options={"g": "999", "bf": "0"}),
}

_everything: dict[str, dict[int, np.ndarray]] = {}


def both(studio: Any, name: str) -> tuple[VideoFile, dict[int, np.ndarray]]:
    """Returns the file as opened by default, and all its frames by sequential decoding."""
    codec, given_settings = {**PLANNED, **SEQUENTIAL}[name]
    source = VideoFile(studio.video(name, codec, **given_settings))
    if name not in _everything:
        plain = open_source(source.timeline.path, planned=False)
        assert isinstance(plain, VideoFile)
        assert plain.probe.dependencies is None
        assert plain.timeline == source.timeline
        _everything[name] = plain.read(range(len(plain.timeline.timestamps_s)))
    return source, _everything[name]


def check(source: VideoFile, right: dict[int, np.ndarray], wanted: set[int]) -> None:
    delivered = []
    for frame in source.frames(wanted):
        np.testing.assert_array_equal(frame.pixels, right[frame.index])
        delivered.append(frame.index)
    assert delivered == sorted(wanted)


INDICES = st.sets(st.integers(0, 47), min_size=1, max_size=9)


@pytest.mark.parametrize("name", PLANNED)
def test_planned_equals_sequential_to_the_bit(studio: Any, name: str) -> None:
    source, right = both(studio, name)
    assert source.probe.dependencies is not None
    assert [studio.number_in(right[i]) for i in right] == [*range(len(right))]

    @settings(max_examples=25, deadline=None, derandomize=True)
    @given(INDICES)
    def some(wanted: set[int]) -> None:
        with patch.object(video, "_sequential", side_effect=AssertionError("left to sequential")):
            check(source, right, {index % len(right) for index in wanted})

    some()
    check(source, right, set(right))


@pytest.mark.parametrize("name", SEQUENTIAL)
def test_the_rest_is_decoded_whole(studio: Any, name: str) -> None:
    source, right = both(studio, name)
    assert source.probe.dependencies is None
    for wanted in ({0}, {47}, {5, 6, 30}):
        check(source, right, wanted)


def fed(studio: Any, name: str, *indices: int) -> int:
    source, _ = both(studio, name)
    assert source.probe.dependencies is not None
    assert source.probe.ticks is not None
    return len(source.probe.dependencies.packets_for([source.probe.ticks[i] for i in indices]))


def test_a_plan_decodes_little(studio: Any) -> None:
    assert fed(studio, "p_all_intra.mp4", 7, 40) == 3
    assert fed(studio, "p_b_frames.mp4", 0) == 1
    assert fed(studio, "p_b_frames.mp4", 24) < 13
    assert fed(studio, "p_one_keyframe.mp4", 47) < 30
    assert fed(studio, "p_vp9.webm", 47) == 13
    assert fed(studio, "p_av1.mp4", 36) == 2


def test_only_what_the_plan_names_is_decoded(studio: Any) -> None:
    """Left without what it builds on, a frame comes out wrong or not at all: plans are obeyed."""
    source, right = both(studio, "p_b_frames.mp4")
    assert source.probe.ticks is not None
    lone = {source.probe.ticks[0], source.probe.ticks[20]}
    with patch.object(Dependencies, "packets_for", return_value=lone):
        pictures = video.decode(source.probe, {20})
        pixels = [picture.to_ndarray(format="rgb24") for _, picture in pictures]
    assert not np.array_equal(pixels[0], right[20])


@pytest.mark.parametrize("kept", [0, 3, 10])
def test_what_a_plan_fails_to_deliver_is_decoded_sequentially(studio: Any, kept: int) -> None:
    source, right = both(studio, "p_b_frames.mp4")
    whole = Dependencies.packets_for

    def short(self: Dependencies, wanted: list[int]) -> set[int]:
        return {tick for tick in whole(self, wanted) if tick <= self.ticks[kept]}

    with patch.object(Dependencies, "packets_for", short):
        check(source, right, {0, 2, 9, 30, 47})


def concatenated(studio: Any, name: str, *sources: str) -> str:
    """Copies the packets of files one after another, under the header of the first."""
    path, start = str(studio.folder / name), 0
    with av.open(path, "w") as output:
        stream = None
        for source in sources:
            with av.open(source) as given_file:
                stream = stream or output.add_stream_from_template(given_file.streams.video[0])
                for packet in given_file.demux(video=0):
                    if packet.dts is not None:
                        packet.pts, packet.dts = packet.pts + start, packet.dts + start
                        packet.stream = stream
                        output.mux(packet)
                start += 48 * 512
    return path


def test_headers_that_change_within_a_file(studio: Any) -> None:
    first, _ = both(studio, "p_repeated_headers.mp4")
    codec, other = x264("repeat-headers=1:ref=1:cabac=0:transform-8x8-dct=0", count=24)
    second = studio.video("headers_2.mp4", codec, **other)
    source = VideoFile(concatenated(studio, "headers_change.mp4", first.timeline.path, second))
    assert source.probe.dependencies is None
    assert {i: studio.number_in(p) % 48 for i, p in source.read([5, 50, 70]).items()} == {
        5: 5,
        50: 2,
        70: 22,
    }


def filtered(studio: Any, source: str, name: str, bitstream_filter: str) -> str:
    path = str(studio.folder / name)
    with av.open(source) as given_file, av.open(path, "w") as output:
        template = given_file.streams.video[0]
        stream = output.add_stream_from_template(template)
        changer = av.bitstream.BitStreamFilterContext(bitstream_filter, template)
        for packet in given_file.demux(video=0):
            for changed in changer.filter(packet if packet.dts is not None else None):
                changed.stream = stream
                output.mux(changed)
    return path


def test_a_turn_announced_between_pictures(studio: Any) -> None:
    """A message in the stream turns all pictures after it, until the next one."""
    plain, _ = both(studio, "p_b_frames.mp4")
    turn = "h264_metadata=display_orientation=insert:rotate=90"
    source = VideoFile(filtered(studio, plain.timeline.path, "turning.mp4", turn))
    assert source.probe.dependencies is None
    assert source.timeline.rotation


def test_an_edit_list_is_left_to_sequential_decoding(studio: Any) -> None:
    plain, _ = both(studio, "p_b_frames.mp4")
    source = VideoFile(studio.remuxed(plain.timeline.path, "p_edited.mp4", shift=-10 * 512))
    assert source.probe.dependencies is None
    assert {i: studio.number_in(p) for i, p in source.read([0, 37]).items()} == {0: 10, 37: 47}


def test_times_out_of_order_and_times_that_repeat(studio: Any) -> None:
    """Without B-frames, pictures come in file order, whatever times they carry."""
    plain, _ = both(studio, "p_all_intra.mp4")
    for name, moved in {"swapped.mkv": {7: 2, 8: -2}, "repeated.mkv": {7: 1}}.items():
        path = str(studio.folder / name)
        with av.open(plain.timeline.path) as given_file, av.open(path, "w") as output:
            stream = output.add_stream_from_template(given_file.streams.video[0])
            for position, packet in enumerate(given_file.demux(video=0)):
                if packet.dts is not None:
                    packet.pts += moved.get(position, 0) * 512
                    packet.dts = position * 512 - 2048
                    packet.stream = stream
                    output.mux(packet)
        source = VideoFile(path)
        assert source.probe.dependencies is None
        frames = [*source.frames([6, 7, 8, 9, 10])]
        assert [frame.index for frame in frames] == [6, 7, 8, 9, 10]
        assert [studio.number_in(frame.pixels) for frame in frames] == [6, 7, 8, 9, 10]


def test_damage_costs_a_plan_no_more_than_sequential_decoding(studio: Any, tmp_path: Path) -> None:
    """A plan does not even look at damage that no wanted frame builds on.

    Noise may pass a decoder for content, whatever packets it is given: compared is with sequential.
    """
    good = both(studio, "p_b_frames.mp4")[0].timeline.path
    with av.open(good) as container:
        packets = [(p.pos, p.size) for p in container.demux(video=0) if p.size]
    refused = 0
    for seed in range(4):
        rng, data = np.random.default_rng(seed), bytearray(Path(good).read_bytes())
        for start, size in (packets[i] for i in rng.choice(48, 3, replace=False)):
            data[start + 12 : start + size] = rng.bytes(size - 12)
        path = tmp_path / f"bad_{seed}.mp4"
        path.write_bytes(data)
        planned, plain = VideoFile(str(path)), VideoFile(str(path), planned=False)
        assert planned.probe.dependencies is not None
        found, expected = deliverable(planned), deliverable(plain)
        for index, pixels in expected.items():
            np.testing.assert_array_equal(pixels, found[index])
        refused += 48 - len(expected)
    assert 0 < refused < 4 * 48


def deliverable(source: VideoFile) -> dict[int, np.ndarray]:
    found = {}
    for index in range(48):
        with suppress(DecodeError):
            found |= source.read([index])
    return found


@given(st.data())
def test_a_plan_holds_all_that_is_needed_and_nothing_spare(data: st.DataObject) -> None:
    kinds = st.sampled_from([Role.START, Role.LINK, Role.SPARE])
    roles = (Role.START, *data.draw(st.lists(kinds, max_size=30)))
    ticks = tuple(data.draw(st.permutations(range(len(roles)))))
    wanted = data.draw(st.sets(st.sampled_from(ticks)))
    chosen = [ticks.index(tick) for tick in Dependencies(ticks, roles).packets_for(wanted)]
    expected = {0}
    for position in map(ticks.index, wanted):
        expected.add(position)
        while roles[position] is not Role.START:
            position -= 1
            if roles[position] is not Role.SPARE:
                expected.add(position)
    assert set(chosen) == expected
