"""Folders of images as videos."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from vbench.errors import DecodeError
from vbench.frames.images import FrameFolder, is_velociti_sample
from vbench.frames.rules import velociti20_indices, velociti20_moments
from vbench.frames.samplers import CountSampler, FixedSampler, RateSampler
from vbench.frames.source import open_source
from vbench.records import Clip

VELOCITI20 = FixedSampler("velociti20")


def numbers(fps: int) -> list[int]:
    return [i + 1 for i in velociti20_indices(velociti20_moments(0, 10), fps)]


@pytest.fixture(params=[12, 24, 25, 30, 60])
def release(request: pytest.FixtureRequest, studio: Any, tmp_path: Path) -> Path:
    """A folder as VELOCITI v1 ships them, each picture showing the number in its name."""
    for number in numbers(request.param):
        image = Image.fromarray(studio.picture(number, 96, 64))
        image.save(tmp_path / f"frame_{number:03d}.jpg", quality=95)
    return tmp_path


def test_velociti20_on_a_release_folder_is_the_folder(studio: Any, release: Path) -> None:
    source = open_source(str(release))
    assert isinstance(source, FrameFolder)
    shown = sorted(int(file.stem[6:]) for file in release.iterdir())
    for span, expected in (
        ((0.0, None), shown),
        ((0.0, 10.0), shown),
        ((0.0, 4.0), shown[:8]),
        ((6.0, 10.0), shown[12:]),
    ):
        picked = source.pick(Clip("v", str(release), *span), VELOCITI20)
        pixels = source.read(picked.indices)
        assert [studio.number_in(pixels[i]) for i in picked.indices] == expected
        assert picked.wanted == len(expected)
    assert source.timeline.timestamps_s[:2] == (0.25, 0.75)
    assert (source.timeline.end_s, source.timeline.source_fps) == (10.0, 2.0)


def test_a_release_folder_and_its_video_give_the_same_frames(studio: Any, tmp_path: Path) -> None:
    """The same sampler chooses the same moments whether frames come decoded or as images."""
    video = open_source(studio.video("ten_seconds.mp4", count=240))
    picked = video.pick(Clip("v", ""), VELOCITI20)
    pixels = video.read(picked.indices)
    for index in picked.indices:
        Image.fromarray(pixels[index]).save(tmp_path / f"frame_{index + 1:03d}.jpg")
    folder = open_source(str(tmp_path))
    for span in ((0.0, 4.0), (6.0, 10.0), (0.0, 10.0)):
        ours = folder.pick(Clip("v", "", *span), VELOCITI20)
        theirs = video.pick(Clip("v", "", *span), VELOCITI20)
        images = folder.read(ours.indices)
        assert [studio.number_in(images[i]) for i in ours.indices] == list(theirs.indices)


def test_names_sort_by_number_and_a_stated_rate_gives_times(studio: Any, tmp_path: Path) -> None:
    for number in range(12):
        Image.fromarray(studio.picture(number, 96, 64)).save(tmp_path / f"v_{number}.png")
    (tmp_path / "notes.txt").write_text("not a frame")
    source = open_source(str(tmp_path), frames_fps=4.0)
    found = source.read(range(12))
    assert [studio.number_in(found[i]) for i in range(12)] == list(range(12))
    assert source.timeline.timestamps_s == tuple(i / 4 for i in range(12))
    picked = source.pick(Clip("v", "", 1.0, 3.0), RateSampler(fps=1.0))
    assert picked.indices == (4, 8)
    assert [frame.index for frame in source.frames([7, 2])] == [2, 7]
    with pytest.raises(DecodeError, match="does not exist"):
        source.read([12])


def test_a_folder_whose_times_nobody_knows_is_refused(tmp_path: Path) -> None:
    for number in range(1, 21):
        Image.new("RGB", (8, 8)).save(tmp_path / f"frame_{number:03d}.jpg")
    with pytest.raises(DecodeError, match=r"times .* not known") as caught:
        open_source(str(tmp_path))
    assert "make a video file" in caught.value.mend


@pytest.mark.parametrize("fps", range(3, 121))
def test_the_rule_is_recognised_at_every_rate_also_where_the_tail_is_missing(fps: int) -> None:
    names = [f"frame_{number:03d}" for number in numbers(fps)]
    assert is_velociti_sample(names)
    assert is_velociti_sample(names[:13])
    assert not is_velociti_sample([*names[:5], *names[6:]])
    assert not is_velociti_sample([*names, "cover"])


def test_rotation_in_exif_alpha_and_grey_are_honoured(studio: Any, tmp_path: Path) -> None:
    upright = Image.fromarray(studio.picture(5, 96, 64))
    turned, exif = upright.rotate(90, expand=True), Image.Exif()
    exif[0x0112] = 6  # turn 90 degrees clockwise to show
    turned.save(tmp_path / "0.jpg", exif=exif, quality=95)
    upright.convert("L").save(tmp_path / "1.png")
    upright.convert("RGBA").save(tmp_path / "2.png")
    upright.convert("P").save(tmp_path / "3.png")
    source = open_source(str(tmp_path), frames_fps=1.0)
    assert (source.timeline.width, source.timeline.height) == (96, 64)
    for frame in source.frames(range(4)):
        assert studio.number_in(frame.pixels) == 5
        assert frame.pixels.dtype == np.uint8 and frame.pixels.flags.writeable


def test_images_that_cannot_be_read_fail_by_name(studio: Any, tmp_path: Path) -> None:
    for number in range(3):
        Image.fromarray(studio.picture(number, 96, 64)).save(tmp_path / f"{number}.jpg")
    data = (tmp_path / "1.jpg").read_bytes()
    (tmp_path / "1.jpg").write_bytes(data[: len(data) // 2])
    source = open_source(str(tmp_path), frames_fps=1.0)
    assert set(source.read([0, 2])) == {0, 2}
    with pytest.raises(DecodeError, match="image cannot be decoded") as caught:
        source.read([0, 1])
    assert caught.value.where.endswith("1.jpg")
    Image.fromarray(np.zeros((8, 8), np.uint16)).save(tmp_path / "2.png")
    (tmp_path / "2.jpg").unlink()
    with pytest.raises(DecodeError, match="image cannot be decoded") as caught:
        open_source(str(tmp_path), frames_fps=1.0).read([2])
    assert "more than 8 bits" in caught.value.why


def test_an_empty_folder(tmp_path: Path) -> None:
    with pytest.raises(DecodeError, match="holds no image"):
        open_source(str(tmp_path))


def test_count_rules_do_not_care_where_frames_come_from(release: Path) -> None:
    picked = open_source(str(release)).pick(
        Clip("v", ""), CountSampler("uniform_midpoints", num_frames=4)
    )
    assert picked.indices == (2, 7, 12, 17)
    assert picked.timestamps_s == (1.25, 3.75, 6.25, 8.75)
