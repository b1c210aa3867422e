from __future__ import annotations

import io
import pickle

import numpy as np
import pytest
from PIL import Image

from vbench.errors import ConfigError
from vbench.models.api.frames_as_images import FramesAsImages
from vbench.protocols import ClipPreprocess, ClipTiming


def decoded(piece: bytes) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(piece)).convert("RGB"))


def test_png_loses_nothing(frames: list[np.ndarray], timing: ClipTiming) -> None:
    inputs = FramesAsImages("png", max_side=None).view(frames, timing)
    assert inputs["mime"] == "image/png"
    assert inputs["shape"] == (3, 48, 64)
    for piece, frame in zip(inputs["media"], frames, strict=True):
        np.testing.assert_array_equal(decoded(piece), frame)


def test_jpeg_is_close_and_closer_with_quality(
    frames: list[np.ndarray], timing: ClipTiming
) -> None:
    def error(quality: int) -> float:
        media = FramesAsImages("jpeg", quality).view(frames, timing)["media"]
        pairs = zip(media, frames, strict=True)
        return max(np.abs(decoded(p).astype(int) - f).mean() for p, f in pairs)

    assert error(90) < 2 < error(10)


@pytest.mark.parametrize(("max_side", "size"), [(32, (24, 32)), (64, (48, 64)), (999, (48, 64))])
def test_longer_side_is_capped(
    max_side: int, size: tuple[int, int], frames: list[np.ndarray], timing: ClipTiming
) -> None:
    inputs = FramesAsImages("png", max_side=max_side).view(frames, timing)
    assert inputs["shape"] == (3, *size)
    assert {decoded(piece).shape[:2] for piece in inputs["media"]} == {size}


def test_every_setting_that_changes_pixels_changes_the_digest() -> None:
    made = [FramesAsImages(), FramesAsImages("png"), FramesAsImages(quality=80),
            FramesAsImages(max_side=None)]  # fmt: skip
    assert len({one.digest() for one in made}) == len(made)
    assert isinstance(made[0], ClipPreprocess)
    assert pickle.loads(pickle.dumps(made[0])) == made[0]  # noqa: S301


@pytest.mark.parametrize("wrong", [{"quality": 0}, {"quality": 96}, {"max_side": 1}])
def test_settings_out_of_range(wrong: dict[str, int]) -> None:
    with pytest.raises(ConfigError, match=next(iter(wrong)) + "|quality"):
        FramesAsImages(**wrong)  # type: ignore[arg-type]
