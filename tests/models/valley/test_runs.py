"""Frames and prompts of the original, and commands with the words of conf/."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ..assembled_prompts import DEVIATION, MEAN, Demo, seconds
from ..assembled_runs import PAIRS, log_probs

SYSTEM = (
    "You are Valley, a large language and vision assistant trained by ByteDance. You are able to "
    "understand the visual content or video that the user provides, and assist the user with a "
    "variety of tasks using natural language. Follow the instructions carefully and explain your "
    "answers in detail."
)


@pytest.fixture(scope="module")
def demo(valley: Callable[[str], Path]) -> Demo:
    return Demo(valley("mean"))


def test_prompts_are_read_as_the_slow_tokenizer_did(demo: Demo) -> None:
    rendered = demo.chat("What  jumps?", scored=True)
    assert rendered.text == (
        f"{SYSTEM}\n\n### Human: <im_start><im_patch><vi_end> What  jumps? \n### Assistant:"
    )
    view = demo.view(np.zeros((20, 30, 3), np.uint8))
    patch = "<im_patch>"
    assert view["expansion"] == f"{patch * 16}<im_end><vi_start>{patch * 3}"
    found = demo.reader.prompt(rendered, view["expansion"])
    shown = [462, *[460] * 16, 463, 464, *[460] * 3, 465]
    before, after = re.split(r"\s*<im_start>.*<vi_end>\s*", rendered.text)
    assert list(found) == [1, *demo.pieces(before), *shown, *demo.pieces(after)]
    assert demo.talk() == (
        f"{SYSTEM}\n\n### Human: A? \n### Assistant: B. \n### Human: Why? \n### Assistant:"
    )


@pytest.mark.parametrize("shape", [(50, 37), (21, 40), (18, 21)])
def test_frames_are_resized_by_nearest_pixels_and_cropped(
    demo: Demo, shape: tuple[int, int]
) -> None:
    frame = np.random.default_rng(0).integers(0, 256, (*shape, 3), np.uint8)
    pixels = demo.clips.view([frame] * 2, seconds(2))["tensors"]["pixel_values_videos"].numpy()
    edges = [18 * edge // min(shape) for edge in shape]  # 256 for 224
    rows, columns = (
        [(at + round((edge - 16) / 2)) * whole // edge for at in range(16)]
        for edge, whole in zip(edges, shape, strict=True)
    )
    right = ((frame[rows][:, columns] / 255 - MEAN) / DEVIATION).transpose(2, 0, 1)
    assert pixels.shape == (1, 2, 3, 16, 16)
    assert np.abs(pixels[0, 1] - right).max() < 1e-5


@pytest.mark.slow
def test_commands_score_and_write(
    valley: Callable[[str], Path], evaluating: Callable[..., Any]
) -> None:
    evaluate = evaluating({"a": 0, "b": 60}, valley("delta"), "model=valley_7b")
    options = evaluate("options", "scorer=option_probability", "prompt=videobench/paper")
    reply = options[0]["reply"]
    assert (reply["visual_tokens"], reply["frame_shape"]) == (24, [8, 16, 16])
    assert len(set(log_probs(options))) == 8
    evaluate("pairs", "scorer=entailment", *PAIRS)
    written = evaluate("written", "scorer=letters", "model.generation.max_new_tokens=3")
    assert all(row["reply"]["reply_tokens"] >= 1 for row in written)
