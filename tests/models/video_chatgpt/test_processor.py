"""Words as SentencePiece makes them of each segment, nearest pixels, the conversation."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
import torch

from vbench.checkpoints import find_checkpoint
from vbench.errors import ModelError
from vbench.models.vlm.weights import read_config
from vbench.records import Continuation

from ..assembled_prompts import DEVIATION, MEAN, Demo, seconds
from .conftest import Places

SYSTEM = (
    "You are Video-ChatGPT, a large vision-language assistant. You are able to understand the "
    "video content that the user provides, and assist the user with a variety of tasks using "
    "natural language.Follow the instructions carefully and explain your answers in detail based "
    "on the provided video."
)
VIDEO = "\n<vid_start><vid_patch><vid_end>"


@pytest.fixture(scope="module")
def demo(chatgpt: Places) -> Demo:
    return Demo(chatgpt.base)


def test_the_question_comes_before_the_video(demo: Demo) -> None:
    chat = demo.chat("What jumps?\n(A) a", scored=True)
    assert chat.text == f"{SYSTEM} USER: What jumps?\n(A) a{VIDEO} ASSISTANT:"
    assert chat.add_special_tokens
    assert demo.talk(system="Be brief.") == (
        "Be brief. USER: A? ASSISTANT: B.</s> USER: Why? ASSISTANT:"
    )


def test_prompts_are_read_as_the_slow_tokenizer_did(demo: Demo) -> None:
    """It took line breaks around a mark away, and put a space before each segment."""
    rendered = demo.chat("A man — says no,  twice!", scored=True)
    view = demo.clips.view([np.zeros((20, 30, 3), np.uint8)], seconds(1))
    found = demo.reader.prompt(rendered, view["expansion"])
    right = [1]
    marks = {"<vid_patch>": [462] * 116, "<vid_start>": [463], "<vid_end>": [464]}
    for piece in re.split(r"\s*(<vid_\w+>)\s*", rendered.text):
        right += marks[piece] if piece in marks else demo.pieces(piece)
    assert list(found) == right
    assert demo.reader.visual_count(found) == 116
    assert demo.reader.context == 2048
    assert demo.reader.reply(Continuation("A", "encode")) == (demo.sentences.piece_to_id("▁A"),)
    assert demo.reader.control(["a <vid_start>"]) == "<vid_start>"


@pytest.mark.parametrize("shape", [(50, 37), (9, 40), (16, 16)])
def test_frames_are_squashed_by_nearest_pixels(demo: Demo, shape: tuple[int, int]) -> None:
    frame = np.random.default_rng(0).integers(0, 256, (*shape, 3), np.uint8)
    view = demo.clips.view([frame] * 2, seconds(2))
    assert (view["frame_shape"], view["expansion"]) == ((2, 16, 16), "<vid_patch>" * 116)
    rows, columns = ([at * edge // 16 for at in range(16)] for edge in shape)
    seen = frame[rows][:, columns]
    given = torch.from_numpy(frame).permute(2, 0, 1)[None].float()
    theirs = torch.nn.functional.interpolate(given, size=(16, 16))[0]
    assert np.array_equal(theirs.permute(1, 2, 0), seen)
    right = ((seen / 255 - MEAN) / DEVIATION).transpose(2, 0, 1)
    pixels = view["tensors"]["pixel_values_videos"].numpy()
    assert pixels.shape == (1, 2, 3, 16, 16)
    assert np.abs(pixels[0, 1] - right).max() < 1e-5


def test_more_frames_than_moments_are_refused(demo: Demo) -> None:
    frame = np.zeros((16, 16, 3), np.uint8)
    with pytest.raises(ModelError, match="takes 100 frames at most, and is shown 101"):
        demo.clips.view([frame] * 101, seconds(101))


def test_llava_in_the_layout_of_transformers_keeps_its_own_class(tmp_path: Any) -> None:
    (tmp_path / "config.json").write_text('{"model_type": "llava"}')
    config = read_config(find_checkpoint(str(tmp_path)), remote_code=False)
    assert type(config).__name__ == "LlavaConfig"
