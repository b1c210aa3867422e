"""Words as SentencePiece makes them of each piece, frames cropped, the demo's conversation."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from vbench.checkpoints import find_checkpoint
from vbench.models.vlm.clip_inputs import ClipInputs
from vbench.models.vlm.rendering import Renderer
from vbench.models.vlm.tokens import TokenReader
from vbench.models.vlm.weights import read_config
from vbench.protocols import ClipTiming
from vbench.records import Message

SAID = "The video contains 3 frames sampled at 0.0, 1.2, 2.5 seconds.\n"
"""As load_video of conversation.py writes it, and upload_video ends it."""


@pytest.fixture(scope="module")
def clips(video_chat: Path) -> ClipInputs:
    return ClipInputs(find_checkpoint(str(video_chat)), {})


def renderer(clips: ClipInputs) -> Renderer:
    return Renderer("video_chat", clips.processor, None, None)


def shown(clips: ClipInputs, frame: np.ndarray) -> dict[str, object]:
    """Three frames of a clip at 25 frames per second: 0, 31, 62."""
    timing = ClipTiming((0, 31, 62), (0.0, 1.24, 2.48), 25.0, 75)
    return dict(clips.view([frame] * 3, timing))


def test_a_prompt_is_read_in_the_pieces_of_the_original(
    video_chat: Path, clips: ClipInputs
) -> None:
    """conversation.py, get_context_emb: before the features, and after them."""
    import sentencepiece

    config = read_config(find_checkpoint(str(video_chat)), remote_code=False)
    reader = TokenReader("video_chat", clips.processor, config)
    question = "Which is it — a, b,  or c?"
    rendered = renderer(clips).render(
        Message(question, render="chat"), shows_video=True, scored=True
    )
    view = shown(clips, np.zeros((8, 8, 3), np.uint8))
    found = reader.prompt(rendered, str(view["expansion"]))
    model = sentencepiece.SentencePieceProcessor(model_file=str(video_chat / "tokenizer.model"))
    before = "###Human: <Video>"
    after = f"</Video> {SAID}###Human: {question}\n###Assistant:"
    visual = [config.video_token_id] * 7
    assert list(found) == [1, *model.encode(before), *visual, *model.encode(after)]
    assert reader.visual_count(found) == 7


def test_a_chat_is_the_demo_s(clips: ClipInputs) -> None:
    chat = renderer(clips).render(
        Message("What jumps?", render="chat"), shows_video=True, scored=False
    )
    assert chat.text == "###Human: <VideoHere>###Human: What jumps?\n###Assistant:"
    assert chat.add_special_tokens
    own = Message(
        "Why?", render="chat", system="Be brief.", turns=(("user", "A?"), ("assistant", "B."))
    )
    assert renderer(clips).render(own, shows_video=False, scored=False).text == (
        "Be brief.###Human: A?\n###Assistant: B.###Human: Why?\n###Assistant:"
    )
    assert clips.processor.stop_texts == ("###",)


@pytest.mark.parametrize("shape", [(64, 160), (90, 40)])
def test_frames_are_resized_by_their_shorter_edge_and_cropped(
    clips: ClipInputs, shape: tuple[int, int]
) -> None:
    frame = np.random.default_rng(0).integers(64, 192, (shape[0] // 8, shape[1] // 8, 3), np.uint8)
    frame = frame.repeat(8, axis=0).repeat(8, axis=1)
    height, width = frame.shape[:2]
    view = shown(clips, frame)
    assert view["frame_shape"] == (3, 8, 8)
    assert view["expansion"] == f"<Video>{'<VideoHere>' * 7}</Video> {SAID}"
    short = min(height, width)
    size = (8 * width // short, 8 * height // short)
    left, top = (round((edge - 8) / 2) for edge in size)
    resized = Image.fromarray(frame).resize(size, Image.Resampling.BICUBIC)
    seen = np.asarray(resized.crop((left, top, left + 8, top + 8))) / 255
    mean = np.array([0.48145466, 0.4578275, 0.40821073])
    deviation = np.array([0.26862954, 0.26130258, 0.27577711])
    tensors = view["tensors"]
    assert isinstance(tensors, dict)
    pixels = tensors["pixel_values_videos"].numpy()
    right = ((seen - mean) / deviation).transpose(2, 0, 1)
    assert np.abs(pixels[0, 1] - right).max() < 1.5 / 255 / deviation.min()  # a level of rounding
