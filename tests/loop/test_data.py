from __future__ import annotations

import weakref
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from vbench.errors import DecodeError
from vbench.frames.timeline import Timeline
from vbench.loop.data import FRAMES_AT_ONCE, PreparedFile, WorkDataset
from vbench.loop.plan import FileWork, TextWork
from vbench.loop.strips import write_strip
from vbench.records import Clip


@dataclass
class Picked:
    indices: tuple[int, ...]
    timestamps_s: tuple[float, ...]
    wanted: int


@dataclass(eq=False)
class Frame:
    index: int
    pixels: np.ndarray


@dataclass
class FakeSource:
    """One frame a second; frame i is filled with i. Some of them may be rotten.

    Of twelve frames every other one is picked, of more all.
    """

    rotten: frozenset[int] = frozenset()
    length: int = 12
    reads: list[list[int]] = field(default_factory=list)
    alive: weakref.WeakSet[Frame] = field(default_factory=weakref.WeakSet)
    most_alive: int = 0
    has_audio: bool = False

    @property
    def timeline(self) -> Timeline:
        times = tuple(map(float, range(self.length)))
        return Timeline("f", times, self.length, 8, 8, "h264", has_audio=self.has_audio)

    def pick(self, clip: Clip, sampler: object) -> Picked:
        inside = [i for i in range(self.length) if clip.start_s <= i < (clip.end_s or 9999)]
        if not inside:
            raise DecodeError("no frame lies within the span", why="the file is shorter")
        chosen = inside[:: 2 if self.length == 12 else 1]
        return Picked(tuple(chosen), tuple(map(float, chosen)), 99)

    def frames(self, indices: Collection[int]) -> Iterator[Frame]:
        self.reads.append(sorted(indices))
        for index in sorted(indices):
            if index in self.rotten:
                raise DecodeError("a frame cannot be decoded", why="rotten")
            frame = Frame(index, np.full((8, 8, 3), index % 256, np.uint8))
            self.alive.add(frame)
            self.most_alive = max(self.most_alive, len(self.alive))
            yield frame


class Mean:
    def __call__(self, frames: Sequence[np.ndarray]) -> torch.Tensor:
        return torch.tensor(np.stack([f.mean() for f in frames])).float().reshape(-1, 1, 1, 1)

    def digest(self) -> str:
        return "mean"


def prepare(source: FakeSource, *clips: Clip, strips: Path | None = None) -> PreparedFile:
    work = FileWork("f.mp4", tuple((f"k{i}", clip) for i, clip in enumerate(clips)))
    dataset = WorkDataset([work], lambda path: source, None, Mean(), strips)
    (prepared,) = [dataset[i] for i in range(len(dataset))]
    assert isinstance(prepared, PreparedFile)
    return prepared


def test_overlapping_clips_read_the_union_once() -> None:
    source = FakeSource()
    prepared = prepare(source, Clip("v", "f"), Clip("v", "f", 0, 4), Clip("v", "f", 6, 10))
    assert source.reads == [[0, 2, 4, 6, 8, 10]]
    assert prepared.pixels is not None
    assert prepared.pixels.flatten().tolist() == [0, 2, 4, 6, 8, 10]
    seen = [[prepared.pixels[row].item() for row in clip.rows] for clip in prepared.clips]
    assert seen == [[0, 2, 4, 6, 8, 10], [0, 2], [6, 8]]
    assert prepared.clips[2].frame_indices == (6, 8)
    assert prepared.clips[2].timestamps_s == (6.0, 8.0)
    assert prepared.clips[2].frames_wanted == 99


def test_an_empty_span_fails_its_own_clip_only() -> None:
    prepared = prepare(FakeSource(), Clip("v", "f", 50, 60), Clip("v", "f", 0, 4))
    assert [clip.status for clip in prepared.clips] == ["decode_error", "ok"]
    assert prepared.clips[0].reason == "no frame lies within the span: the file is shorter"


def test_a_rotten_frame_fails_the_clips_that_want_it() -> None:
    prepared = prepare(FakeSource(frozenset({8})), Clip("v", "f", 0, 4), Clip("v", "f", 6, 10))
    assert [clip.status for clip in prepared.clips] == ["ok", "decode_error"]
    assert prepared.pixels is not None
    assert prepared.pixels.flatten().tolist() == [0, 2]


def test_what_came_before_a_rotten_frame_is_not_decoded_again() -> None:
    source = FakeSource(frozenset({35}), length=60)
    prepared = prepare(source, Clip("v", "f", 0, 50), Clip("v", "f", 20, 30), Clip("v", "f", 40))
    assert [clip.status for clip in prepared.clips] == ["decode_error", "ok", "ok"]
    # blocks of 16 were whole up to frame 31
    assert source.reads == [[*range(60)], [*range(32, 50)], [*range(40, 60)]]
    assert prepared.pixels is not None
    seen = [prepared.pixels[list(clip.rows)].flatten().tolist() for clip in prepared.clips[1:]]
    assert seen == [[*range(20, 30)], [*range(40, 60)]]
    assert sorted(prepared.pixels.flatten().tolist()) == [*range(20, 30), *range(40, 60)]


def test_few_frames_of_a_long_video_are_in_memory_at_full_size(tmp_path: Path) -> None:
    source = FakeSource(length=3600)
    prepared = prepare(source, Clip("v", "f"), strips=tmp_path)
    assert prepared.pixels is not None
    assert prepared.pixels.flatten().tolist() == [float(i % 256) for i in range(3600)]
    assert prepared.clips[0].rows == tuple(range(3600))
    assert source.most_alive <= FRAMES_AT_ONCE + 1


@pytest.mark.parametrize("error", [DecodeError("bad file"), RuntimeError("av\nexploded")])
def test_a_file_that_does_not_open_fails_all_its_clips_in_one_line(error: Exception) -> None:
    def refuse(path: str) -> FakeSource:
        raise error

    work = FileWork("f.mp4", (("a", Clip("v", "f")), ("b", Clip("v", "f", 0, 4))))
    prepared = WorkDataset([work], refuse, None, Mean(), None)[0]
    assert isinstance(prepared, PreparedFile)
    assert [clip.status for clip in prepared.clips] == ["decode_error"] * 2
    assert prepared.pixels is None
    assert all(clip.reason and "\n" not in clip.reason for clip in prepared.clips)


def test_no_file_is_opened_for_a_model_without_frames() -> None:
    def refuse(path: str) -> FakeSource:
        raise AssertionError("opened")

    pairs = (("k", Clip("v", "f"), "text"),)
    dataset = WorkDataset(
        [FileWork("f", (), pairs), TextWork((("t", "x"),))], refuse, None, None, None
    )
    prepared = dataset[0]
    assert isinstance(prepared, PreparedFile)
    assert prepared.pairs == pairs
    assert dataset[1] is dataset.work[1]


def test_strip_shows_the_frames_in_order(tmp_path: Path) -> None:
    prepare(FakeSource(), Clip("v", "f"), strips=tmp_path)
    with Image.open(tmp_path / "k0.jpg") as strip:
        assert strip.size == (6 * 72, 72)
        greys = [strip.getpixel((72 * i + 36, 36))[0] for i in range(6)]  # type: ignore[index]
    assert greys == sorted(greys)


def test_a_strip_that_two_processes_write_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    frames, put, others = [np.zeros((10, 20, 3), np.uint8)], Path.replace, [1]

    def after_another(aside: Path, path: Path) -> Path:
        if others:
            others.pop()
            write_strip(frames, tmp_path / "s.jpg")
        return put(aside, path)

    monkeypatch.setattr(Path, "replace", after_another)
    write_strip(frames, tmp_path / "s.jpg")
    assert [file.name for file in tmp_path.iterdir()] == ["s.jpg"]


def test_strip_of_many_frames_stays_small(tmp_path: Path) -> None:
    write_strip([np.zeros((10, 20, 3), np.uint8)] * 500, tmp_path / "s.jpg")
    with Image.open(tmp_path / "s.jpg") as strip:
        assert strip.width == 20 * 144
