"""Words as SentencePiece makes them of each segment, nearest pixels, the conversation."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
import torch

from vbench.checkpoints import find_checkpoint
from vbench.errors import ModelError
from vbench.models.vlm.clip_inputs import ClipInputs
from vbench.models.vlm.rendering import Renderer
from vbench.models.vlm.tokens import TokenReader
from vbench.models.vlm.weights import read_config
from vbench.protocols import ClipTiming
from vbench.records import Continuation, Message

from .conftest import Places

SYSTEM = (
    "You are Video-ChatGPT, a large vision-language assistant. You are able to understand the "
    "video content that the user provides, and assist the user with a variety of tasks using "
    "natural language.Follow the instructions carefully and explain your answers in detail based "
    "on the provided video."
)
VIDEO = "\n<vid_start><vid_patch><vid_end>"
MEAN = np.array([0.48145466, 0.4578275, 0.40821073])
DEVIATION = np.array([0.26862954, 0.26130258, 0.27577711])


@pytest.fixture(scope="module")
def clips(chatgpt: Places) -> ClipInputs:
    return ClipInputs(find_checkpoint(str(chatgpt.base)), {})


@pytest.fixture(scope="module")
def renderer(clips: ClipInputs) -> Renderer:
    return Renderer("chatgpt", clips.processor, None, None)


def timing(count: int) -> ClipTiming:
    return ClipTiming(tuple(range(count)), tuple(map(float, range(count))), 1.0, count)


def test_the_question_comes_before_the_video(renderer: Renderer) -> None:
    chat = renderer.render(
        Message("What jumps?\n(A) a", render="chat"), shows_video=True, scored=True
    )
    assert chat.text == f"{SYSTEM} USER: What jumps?\n(A) a{VIDEO} ASSISTANT:"
    assert chat.add_special_tokens
    own = Message(
        "Why?", render="chat", system="Be brief.", turns=(("user", "A?"), ("assistant", "B."))
    )
    assert renderer.render(own, shows_video=False, scored=False).text == (
        "Be brief. USER: A? ASSISTANT: B.</s> USER: Why? ASSISTANT:"
    )


def test_prompts_are_read_as_the_slow_tokenizer_did(
    chatgpt: Places, clips: ClipInputs, renderer: Renderer
) -> None:
    """It took line breaks around a mark away, and put a space before each segment."""
    import sentencepiece

    config = read_config(find_checkpoint(str(chatgpt.base)), remote_code=False)
    reader = TokenReader("chatgpt", clips.processor, config)
    rendered = renderer.render(
        Message("A man — says no,  twice!", render="chat"), shows_video=True, scored=True
    )
    view = clips.view([np.zeros((20, 30, 3), np.uint8)], timing(1))
    found = reader.prompt(rendered, view["expansion"])
    model = sentencepiece.SentencePieceProcessor(model_file=str(chatgpt.base / "tokenizer.model"))
    right = [1]
    marks = {"<vid_patch>": [462] * 116, "<vid_start>": [463], "<vid_end>": [464]}
    for piece in re.split(r"\s*(<vid_\w+>)\s*", rendered.text):
        right += marks[piece] if piece in marks else model.encode(piece)
    assert list(found) == right
    assert reader.visual_count(found) == 116
    assert reader.context == 2048
    assert reader.reply(Continuation("A", "encode")) == (model.piece_to_id("▁A"),)
    assert reader.control(["a <vid_start>"]) == "<vid_start>"


@pytest.mark.parametrize("shape", [(50, 37), (9, 40), (16, 16)])
def test_frames_are_squashed_by_nearest_pixels(clips: ClipInputs, shape: tuple[int, int]) -> None:
    frame = np.random.default_rng(0).integers(0, 256, (*shape, 3), np.uint8)
    view = clips.view([frame] * 2, timing(2))
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


def test_more_frames_than_moments_are_refused(clips: ClipInputs) -> None:
    frame = np.zeros((16, 16, 3), np.uint8)
    with pytest.raises(ModelError, match="takes 100 frames at most, and is shown 101"):
        clips.view([frame] * 101, timing(101))


def test_llava_in_the_layout_of_transformers_keeps_its_own_class(tmp_path: Any) -> None:
    (tmp_path / "config.json").write_text('{"model_type": "llava"}')
    config = read_config(find_checkpoint(str(tmp_path)), remote_code=False)
    assert type(config).__name__ == "LlavaConfig"
