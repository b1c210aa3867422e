"""Strips of frames already seen: once per file, of the right frames, or with a reason."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from vbench.frames.source import open_source
from vbench.loop.filming import Shot, Taken, film, unfilmed
from vbench.loop.keys import hash_file
from vbench.records import Clip


@pytest.fixture
def video(tmp_path: Path, write_grey: Callable[..., None]) -> Path:
    write_grey(tmp_path / "v.mp4")
    return tmp_path / "v.mp4"


def shades(strip: Path, count: int) -> list[float]:
    with Image.open(strip) as picture:
        pixels = np.asarray(picture.convert("L"), dtype=float)
    width = pixels.shape[1] // count
    return [float(pixels[36, width * k + width // 2]) for k in range(count)]


def test_a_file_is_decoded_once_for_all_its_strips(video: Path, tmp_path: Path) -> None:
    passes: list[list[int]] = []

    class Counted:
        def __init__(self, path: str) -> None:
            self.source = open_source(path)

        def frames(self, indices: Collection[int]) -> Iterator[Any]:
            passes.append(sorted(indices))
            return self.source.frames(indices)

    clip = Clip("v", str(video))
    shots = [Shot(tmp_path / "a.jpg", clip, (2, 20, 9)), Shot(tmp_path / "b.jpg", clip, (9, 25))]
    taken = film(shots, Counted, workers=0)  # type: ignore[arg-type]
    assert passes == [[2, 9, 20, 25]]
    assert [found.reason for found in taken.values()] == ["", ""]
    assert shades(tmp_path / "a.jpg", 3) == pytest.approx([12, 120, 54], abs=6)
    assert shades(tmp_path / "b.jpg", 2) == pytest.approx([54, 150], abs=6)


def test_a_strip_that_is_there_is_left_alone(video: Path, tmp_path: Path) -> None:
    (tmp_path / "a.jpg").write_bytes(b"mine")
    film([Shot(tmp_path / "a.jpg", Clip("v", str(video)), (1,))], open_source, workers=0)
    assert (tmp_path / "a.jpg").read_bytes() == b"mine"


@pytest.mark.parametrize("workers", [0, 1])
def test_trouble_is_a_reason(video: Path, tmp_path: Path, workers: int) -> None:
    clip = Clip("v", str(video))
    shots = [
        Shot(tmp_path / "lost.jpg", Clip("n", str(tmp_path / "none.mp4")), (1,)),
        Shot(tmp_path / "beyond.jpg", clip, (99,)),
        Shot(tmp_path / "good.jpg", clip, (1,), hash_file(video)),
        Shot(tmp_path / "changed.jpg", clip, (1,), "0" * 64),
    ]
    for shot in shots:
        found = film([shot], open_source, workers=workers)[shot]
        assert bool(found.reason) is (shot.strip.stem != "good"), shot
        assert shot.strip.is_file() is (shot.strip.stem == "good")
    assert "changed since" in film(shots[-1:], open_source, workers=0)[shots[-1]].reason


def test_reasons_are_told_in_a_line() -> None:
    assert unfilmed([Taken((1,))]) == []
    assert unfilmed([Taken(reason="lost"), Taken(reason="lost"), Taken(reason="late")]) == [
        "3 clips have no picture: lost (and 1 other reasons)"
    ]
