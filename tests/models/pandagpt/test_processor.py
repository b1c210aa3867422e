"""Frames as ImageBind's loader makes them, clips as it cuts them, prompts as PandaGPT's demo."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from torch import Tensor

from vbench.frames.samplers import ClipSampler
from vbench.frames.timeline import Span
from vbench.models.pandagpt.processor import clips as paired
from vbench.protocols import ClipTiming
from vbench.schema import compose, plain

from ..assembled_prompts import DEVIATION, MEAN, Demo


@pytest.fixture(scope="module")
def demo(pandagpt: Path) -> Demo:
    return Demo(pandagpt)


def bilinear(frame: np.ndarray, height: int, width: int) -> np.ndarray:
    """Centres of pixels match; what lies between is weighted by distance, edges go on."""

    def places(size: int, wanted: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        at = np.maximum((np.arange(wanted) + 0.5) * size / wanted - 0.5, 0)
        low = np.floor(at).astype(int)
        return low, np.minimum(low + 1, size - 1), at - low

    y, below, down = places(frame.shape[0], height)
    x, beside, right = places(frame.shape[1], width)
    rows = frame[y] * (1 - down)[:, None, None] + frame[below] * down[:, None, None]
    made: np.ndarray = rows[:, x] * (1 - right)[:, None] + rows[:, beside] * right[:, None]
    return made


@pytest.mark.parametrize(("height", "width", "shape"), [(40, 66, (16, 26)), (31, 20, (24, 16))])
def test_the_shorter_edge_becomes_imagebinds(
    demo: Demo, height: int, width: int, shape: tuple[int, int]
) -> None:
    draw = np.random.default_rng(0)
    frames = [draw.integers(0, 256, (height, width, 3)).astype(np.uint8) for _ in range(3)]
    view = demo.clips.view(frames, ClipTiming((0, 10, 20), (0.0, 1.0, 2.0), 10.0, 30))
    assert view["frame_shape"] == (3, *shape)
    found = view["tensors"]["pixel_values_videos"][0].numpy()
    for one, frame in zip(found, frames, strict=True):
        right = (bilinear(frame / 255, *shape) - MEAN) / DEVIATION
        assert np.abs(one - right.transpose(2, 0, 1)).max() < 3e-5
    ends: Tensor = view["tensors"]["clip_frames"]
    assert ends.tolist() == [[[0, 1], [2, 2]]]


@pytest.mark.parametrize("count", [2, 30, 48, 49, 61, 100, 239, 240, 999])
def test_frames_are_put_together_as_the_rule_took_them_apart(count: int) -> None:
    span = Span(tuple(i / 24 for i in range(count)), 24.0, 0.0, count / 24)
    sampler = ClipSampler()
    shown = sampler(span)
    pairs = [(shown[i], shown[j]) for i, j in paired([float(at) for at in shown], count, 24.0)]
    wanted = list(sampler.positions(span))
    assert pairs == list(zip(wanted[::2], wanted[1::2], strict=True))


def test_prompts_are_read_segment_by_segment(demo: Demo) -> None:
    chat = demo.chat("What jumps?")
    assert chat.text == "### Human: <Img><video></Img> What jumps?\n### Assistant:"
    assert demo.renderer.placeholder() == "<Img><video></Img>"
    before, after = chat.text.split("<video>")
    video = demo.config.text_config.vocab_size
    right = [1, *demo.pieces(before), video, *demo.pieces(after)]
    found = demo.reader.prompt(chat, "<video>")
    assert list(found) == right
    assert demo.reader.visual_count(found) == 1
    assert demo.talk() == ("### Human: A?\n### Assistant: B.\n### Human: Why?\n### Assistant:")


def test_the_word_brings_imagebinds_frames_and_the_loras_scale() -> None:
    config = plain(compose(["model=pandagpt_7b", "model.checkpoint=folder"]))
    assert config["sampler"]["name"] == "clip_ends"
    assert (config["sampler"]["num_clips"], config["sampler"]["clip_s"]) == (5, 2.0)
    assert config["model"]["adapter"] == {"alpha": 32}
