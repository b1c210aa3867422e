"""Words as SentencePiece makes them of each piece, frames cropped, the demo's conversation."""

from __future__ import annotations

from pathlib import Path

import pytest
from PIL import Image

from ..assembled_prompts import Demo, blocks, shows

SAID = "The video contains 3 frames sampled at 0.0, 1.2, 2.5 seconds.\n"
"""As load_video of conversation.py writes it, and upload_video ends it."""


@pytest.fixture(scope="module")
def demo(video_chat: Path) -> Demo:
    return Demo(video_chat)


def test_a_prompt_is_read_in_the_pieces_of_the_original(demo: Demo) -> None:
    """conversation.py, get_context_emb: before the features, and after them."""
    question = "Which is it — a, b,  or c?"
    found = demo.read(question)
    before = "###Human: <Video>"
    after = f"</Video> {SAID}###Human: {question}\n###Assistant:"
    visual = [demo.config.video_token_id] * 7
    assert list(found) == [1, *demo.pieces(before), *visual, *demo.pieces(after)]
    assert demo.reader.visual_count(found) == 7


def test_a_chat_is_the_demo_s(demo: Demo) -> None:
    chat = demo.chat("What jumps?")
    assert chat.text == "###Human: <VideoHere>###Human: What jumps?\n###Assistant:"
    assert chat.add_special_tokens
    assert demo.talk(system="Be brief.") == (
        "Be brief.###Human: A?\n###Assistant: B.###Human: Why?\n###Assistant:"
    )
    assert demo.clips.processor.stop_texts == ("###",)


@pytest.mark.parametrize("shape", [(64, 160), (90, 40)])
def test_frames_are_resized_by_their_shorter_edge_and_cropped(
    demo: Demo, shape: tuple[int, int]
) -> None:
    frame = blocks(*shape)
    height, width = frame.shape[:2]
    view = demo.view(frame)
    assert view["frame_shape"] == (3, 8, 8)
    assert view["expansion"] == f"<Video>{'<VideoHere>' * 7}</Video> {SAID}"
    short = min(height, width)
    size = (8 * width // short, 8 * height // short)
    left, top = (round((edge - 8) / 2) for edge in size)
    resized = Image.fromarray(frame).resize(size, Image.Resampling.BICUBIC)
    shows(view, resized.crop((left, top, left + 8, top + 8)))
