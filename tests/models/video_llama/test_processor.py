"""Words as SentencePiece makes them of each piece, frames squashed, the demo's conversation."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from vbench.checkpoints import find_checkpoint
from vbench.errors import ModelError
from vbench.models.vlm.clip_inputs import ClipInputs
from vbench.models.vlm.rendering import Renderer
from vbench.models.vlm.tokens import TokenReader
from vbench.models.vlm.weights import read_config
from vbench.protocols import ClipTiming
from vbench.records import Message

SYSTEM = (
    "You are able to understand the visual content that the user provides. Follow the instructions "
    "carefully and explain your answers in detail."
)
SAID = "The video contains 3 frames sampled at 0.0, 1.2, 2.5 seconds. "
"""As load_video of video_processor.py writes it."""


@pytest.fixture(scope="module")
def clips(video_llama: Path) -> ClipInputs:
    return ClipInputs(find_checkpoint(str(video_llama)), {})


def renderer(clips: ClipInputs) -> Renderer:
    return Renderer("video_llama", clips.processor, None, None)


def shown(clips: ClipInputs, frame: np.ndarray) -> dict[str, object]:
    """Three frames of a clip at 25 frames per second: 0, 31, 62."""
    timing = ClipTiming((0, 31, 62), (0.0, 1.24, 2.48), 25.0, 75)
    return dict(clips.view([frame] * 3, timing))


def test_a_prompt_is_read_in_the_pieces_of_the_original(
    video_llama: Path, clips: ClipInputs
) -> None:
    """conversation_video.py, get_context_emb: before the features, and after them."""
    import sentencepiece

    config = read_config(find_checkpoint(str(video_llama)), remote_code=False)
    reader = TokenReader("video_llama", clips.processor, config)
    question = "Which is it — a, b,  or c?"
    rendered = renderer(clips).render(
        Message(question, render="chat"), shows_video=True, scored=True
    )
    view = shown(clips, np.zeros((8, 8, 3), np.uint8))
    found = reader.prompt(rendered, str(view["expansion"]))
    model = sentencepiece.SentencePieceProcessor(model_file=str(video_llama / "tokenizer.model"))
    before = f"{SYSTEM}###Human: <Video>"
    after = f"</Video> {SAID} {question}###Assistant:"
    visual = [config.video_token_id] * 5
    assert list(found) == [1, *model.encode(before), *visual, *model.encode(after)]
    assert reader.visual_count(found) == 5
    assert reader.context == 512
    assert config.video_token_id == model.get_piece_size() + 1  # after the row for a [PAD]


def test_a_chat_is_the_demo_s(clips: ClipInputs) -> None:
    chat = renderer(clips).render(
        Message("What jumps?", render="chat"), shows_video=True, scored=False
    )
    assert chat.text == f"{SYSTEM}###Human: <ImageHere> What jumps?###Assistant:"
    assert chat.add_special_tokens
    own = Message(
        "Why?", render="chat", system="Be brief.", turns=(("user", "A?"), ("assistant", "B."))
    )
    assert renderer(clips).render(own, shows_video=False, scored=False).text == (
        "Be brief.###Human: A?###Assistant: B.###Human: Why?###Assistant:"
    )
    assert clips.processor.stop_texts == ("###",)


@pytest.mark.parametrize("shape", [(64, 160), (90, 40)])
def test_frames_are_squashed(clips: ClipInputs, shape: tuple[int, int]) -> None:
    frame = np.random.default_rng(0).integers(64, 192, (shape[0] // 8, shape[1] // 8, 3), np.uint8)
    frame = frame.repeat(8, axis=0).repeat(8, axis=1)
    view = shown(clips, frame)
    assert view["frame_shape"] == (3, 8, 8)
    assert view["expansion"] == f"<Video>{'<ImageHere>' * 5}</Video> {SAID}"
    tensors = view["tensors"]
    assert isinstance(tensors, dict)
    pixels = tensors["pixel_values_videos"].numpy()
    seen = np.asarray(Image.fromarray(frame).resize((8, 8), Image.Resampling.BICUBIC)) / 255
    mean = np.array([0.48145466, 0.4578275, 0.40821073])
    deviation = np.array([0.26862954, 0.26130258, 0.27577711])
    assert pixels.shape == (1, 3, 3, 8, 8)
    right = ((seen - mean) / deviation).transpose(2, 0, 1)
    assert np.abs(pixels[0, 1] - right).max() < 1.5 / 255 / deviation.min()  # a level of rounding


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
