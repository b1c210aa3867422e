"""Words as SentencePiece makes them of each piece, frames squashed, the demo's conversation."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from PIL import Image

from vbench.checkpoints import find_checkpoint
from vbench.errors import ModelError
from vbench.models.vlm.clip_inputs import ClipInputs

from ..assembled_prompts import Demo, blocks, shows

SYSTEM = (
    "You are able to understand the visual content that the user provides. Follow the instructions "
    "carefully and explain your answers in detail."
)
SAID = "The video contains 3 frames sampled at 0.0, 1.2, 2.5 seconds. "
"""As load_video of video_processor.py writes it."""


@pytest.fixture(scope="module")
def demo(video_llama: Path) -> Demo:
    return Demo(video_llama)


def test_a_prompt_is_read_in_the_pieces_of_the_original(demo: Demo) -> None:
    """conversation_video.py, get_context_emb: before the features, and after them."""
    question = "Which is it — a, b,  or c?"
    found = demo.read(question)
    before = f"{SYSTEM}###Human: <Video>"
    after = f"</Video> {SAID} {question}###Assistant:"
    visual = [demo.config.video_token_id] * 5
    assert list(found) == [1, *demo.pieces(before), *visual, *demo.pieces(after)]
    assert demo.reader.visual_count(found) == 5
    assert demo.reader.context == 512
    words = demo.sentences.get_piece_size()
    assert demo.config.video_token_id == words + 1  # after the row for a [PAD]


def test_a_chat_is_the_demo_s(demo: Demo) -> None:
    chat = demo.chat("What jumps?")
    assert chat.text == f"{SYSTEM}###Human: <ImageHere> What jumps?###Assistant:"
    assert chat.add_special_tokens
    assert demo.talk(system="Be brief.") == (
        "Be brief.###Human: A?###Assistant: B.###Human: Why?###Assistant:"
    )
    assert demo.clips.processor.stop_texts == ("###",)


@pytest.mark.parametrize("shape", [(64, 160), (90, 40)])
def test_frames_are_squashed(demo: Demo, shape: tuple[int, int]) -> None:
    frame = blocks(*shape)
    view = demo.view(frame)
    assert view["frame_shape"] == (3, 8, 8)
    assert view["expansion"] == f"<Video>{'<ImageHere>' * 5}</Video> {SAID}"
    shows(view, Image.fromarray(frame).resize((8, 8), Image.Resampling.BICUBIC))


def test_a_tokenizer_with_more_words_than_the_model_is_refused(
    video_llama: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "other"
    shutil.copytree(video_llama, folder)
    said = json.loads((folder / "config.json").read_text())
    words, said["vocab_size"] = said["vocab_size"] - 1, 100
    (folder / "config.json").write_text(json.dumps(said))
    with pytest.raises(ModelError, match="processor cannot be loaded") as caught:
        ClipInputs(find_checkpoint(str(folder)), {})
    assert f"{words} words in the tokenizer, 100 in the model" in caught.value.why
