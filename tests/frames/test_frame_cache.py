from __future__ import annotations

import multiprocessing
import os
import pickle
from collections.abc import Collection, Iterator
from pathlib import Path

import numpy as np
import pytest

from vbench.errors import DecodeError
from vbench.frames.cache import CachedSource, FrameCache, Opener
from vbench.frames.source import Frame, Source
from vbench.frames.timeline import Span, Timeline
from vbench.records import Clip


class Numbered(Source):
    """Twenty frames; frame i is filled with i."""

    def __init__(self) -> None:
        times = tuple(i / 10 for i in range(20))
        self.timeline = Timeline("v.mp4", times, 2.0, 8, 6, "h264")
        self.passes: list[list[int]] = []

    def frames(self, indices: Collection[int]) -> Iterator[Frame]:
        wanted = sorted(indices)
        if wanted:
            self.passes.append(wanted)
        for index in wanted:
            pixels = np.full((6, 8, 3), index, np.uint8)
            yield Frame(index, self.timeline.timestamps_s[index], pixels)


@pytest.fixture
def cache(tmp_path: Path) -> FrameCache:
    return FrameCache(tmp_path / "frames", 10**6)


def values(source: Source, indices: Collection[int]) -> list[tuple[int, float, int]]:
    return [(f.index, f.timestamp_s, int(f.pixels[0, 0, 0])) for f in source.frames(indices)]


def expected(*indices: int) -> list[tuple[int, float, int]]:
    return [(i, i / 10, i) for i in indices]


def test_each_frame_is_decoded_once_and_the_rest_in_one_pass(cache: FrameCache) -> None:
    source = Numbered()
    assert values(CachedSource(source, cache, "aa"), [7, 3]) == expected(3, 7)
    again = CachedSource(source, FrameCache(cache.root, 10**6), "aa")
    assert values(again, [3, 5, 7, 9]) == expected(3, 5, 7, 9)
    assert values(again, [9, 3]) == expected(3, 9)
    assert source.passes == [[3, 7], [5, 9]]


def test_another_content_is_another_file(cache: FrameCache) -> None:
    source = Numbered()
    values(CachedSource(source, cache, "aa"), [3])
    values(CachedSource(source, cache, "bb"), [3])
    assert source.passes == [[3], [3]]


@pytest.mark.parametrize("damage", [b"", b"garbage", b"\x93NUMPY\x01\x00"])
def test_a_damaged_frame_is_decoded_and_mended(cache: FrameCache, damage: bytes) -> None:
    source = Numbered()
    values(CachedSource(source, cache, "aa"), [3, 5])
    (cache.root / "aa" / "3.npy").write_bytes(damage)
    for _ in range(2):
        assert values(CachedSource(source, cache, "aa"), [3, 5]) == expected(3, 5)
    assert source.passes == [[3, 5], [3]]


def test_pickles_are_never_loaded(cache: FrameCache) -> None:
    source = Numbered()
    values(CachedSource(source, cache, "aa"), [3])
    evil = np.empty(1, dtype=object)
    evil[0] = Path
    np.save(cache.root / "aa" / "3.npy", evil, allow_pickle=True)
    assert values(CachedSource(source, cache, "aa"), [3]) == expected(3)


def test_what_was_used_longest_ago_goes_first(tmp_path: Path) -> None:
    cache = FrameCache(tmp_path, 30 * 272)  # thirty frames of 6 x 8 with their headers
    source = Numbered()
    for number in range(8):
        values(CachedSource(source, cache, f"c{number}"), range(5))
        os.utime(tmp_path / f"c{number}", (number, number))
        if number:
            os.utime(tmp_path / "c0", (100, 100))
    held = {folder.name for folder in tmp_path.iterdir()}
    assert {"c0", "c7"} <= held
    assert not {"c1", "c2"} & held
    assert sum(file.stat().st_size for file in tmp_path.rglob("*.npy")) <= 30 * 272


def test_trouble_costs_no_frame_and_is_told_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "frames").write_text("a file where a folder must be")
    source = CachedSource(Numbered(), FrameCache(tmp_path / "frames", 10**6), "aa")
    assert values(source, [3, 5, 7]) == expected(3, 5, 7)
    assert capsys.readouterr().err.count("frames are not kept") == 1


def test_a_frame_that_does_not_exist_is_an_error(cache: FrameCache) -> None:
    with pytest.raises(DecodeError, match="frame 20 does not exist"):
        values(CachedSource(Numbered(), cache, "aa"), [20])


def fill(root: Path) -> None:
    values(CachedSource(Numbered(), FrameCache(root, 10**6), "aa"), range(20))


def test_many_processes_at_once(cache: FrameCache) -> None:
    context = multiprocessing.get_context("fork")
    processes = [context.Process(target=fill, args=(cache.root,)) for _ in range(4)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
        assert process.exitcode == 0
    source = Numbered()
    assert values(CachedSource(source, cache, "aa"), range(20)) == expected(*range(20))
    assert source.passes == []
    assert {file.suffix for file in (cache.root / "aa").iterdir()} == {".npy"}


def forget(folder: Path) -> None:
    """As another process does that makes room."""
    for file in folder.glob("*"):
        file.unlink()
    folder.rmdir()


def test_room_made_while_a_file_is_looked_up(
    cache: FrameCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(cache.root)
    scandir = os.scandir

    def after_another(path: Path) -> Iterator[os.DirEntry[str]]:
        if Path(path) == cache.root / "aa":
            monkeypatch.undo()
            forget(cache.root / "aa")
        return scandir(path)

    monkeypatch.setattr(os, "scandir", after_another)
    assert values(CachedSource(Numbered(), cache, "aa"), [3, 5]) == expected(3, 5)


def test_room_made_while_frames_are_added(
    cache: FrameCache, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    make, stat = Path.mkdir, Path.stat

    def before_another(folder: Path, **how: bool) -> None:
        make(folder, **how)
        monkeypatch.setattr(Path, "mkdir", make)
        forget(folder)

    def after_another(place: Path, **how: bool) -> os.stat_result:
        if place == cache.root / "old":
            monkeypatch.setattr(Path, "stat", stat)
            forget(place)
        return stat(place, **how)

    cache.put("old", 0, np.zeros((6, 8, 3), np.uint8))
    monkeypatch.setattr(Path, "mkdir", before_another)
    assert values(CachedSource(Numbered(), cache, "aa"), [3, 5]) == expected(3, 5)
    assert cache.known("aa") == {5}
    full = FrameCache(cache.root, 300)
    monkeypatch.setattr(Path, "stat", after_another)
    full.put("bb", 0, np.zeros((6, 8, 3), np.uint8))
    assert full.known("bb") == {0}
    assert full.known("aa") == set()  # what is gone frees nothing: this had to go, too
    assert capsys.readouterr().err == ""


def test_an_opener_crosses_to_workers(tmp_path: Path) -> None:
    opener = Opener(False, FrameCache(tmp_path, 5), {"v.mp4": "aa"})
    twin = pickle.loads(pickle.dumps(opener))  # noqa: S301 - our own object
    assert (twin.planned, twin.contents) == (False, {"v.mp4": "aa"})
    with pytest.raises(DecodeError):
        twin(str(tmp_path / "v.mp4"))


class Every:
    """A sampler of every so many frames."""

    def __init__(self, step: int) -> None:
        self.step = step

    def __call__(self, span: Span) -> list[int]:
        return list(range(0, len(span.timestamps_s), self.step))

    def frames_wanted(self, span: Span) -> int:
        return len(self(span))


class Rotten(Numbered):
    """Frame 12 cannot be decoded."""

    def frames(self, indices: Collection[int]) -> Iterator[Frame]:
        for frame in super().frames(indices):
            if frame.index == 12:
                raise DecodeError("a frame is rotten", where="v.mp4")
            yield frame


def test_the_first_pass_decodes_what_others_will_want(cache: FrameCache) -> None:
    source = Numbered()
    wished = [(Clip("v", "v.mp4"), Every(6)), (Clip("v", "v.mp4", 1.0, 2.0), Every(5))]
    shared = CachedSource(source, cache, "aa", wished)
    assert values(shared, [3, 4]) == expected(3, 4)
    assert source.passes == [[0, 3, 4, 6, 10, 12, 15, 18]]
    again = CachedSource(source, FrameCache(cache.root, 10**6), "aa", wished)
    assert values(again, [0, 3, 6, 12, 15]) == expected(0, 3, 6, 12, 15)
    assert len(source.passes) == 1


def test_a_frame_that_only_others_want_spoils_nothing(cache: FrameCache) -> None:
    wished = [(Clip("v", "v.mp4"), Every(6)), (Clip("v", "v.mp4", 9.0, 10.0), Every(1))]
    shared = CachedSource(Rotten(), cache, "aa", wished)
    assert values(shared, [3, 11, 13, 19]) == expected(3, 11, 13, 19)
    with pytest.raises(DecodeError, match="rotten"):
        values(CachedSource(Rotten(), cache, "bb", wished), [3, 12])
