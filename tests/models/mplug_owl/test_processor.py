"""Words as SentencePiece makes them of each piece, frames squashed, conversations as published."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from vbench.checkpoints import find_checkpoint
from vbench.errors import ModelError
from vbench.models.vlm.clip_inputs import ClipInputs
from vbench.models.vlm.rendering import Renderer
from vbench.models.vlm.tokens import TokenReader
from vbench.models.vlm.weights import read_config
from vbench.protocols import ClipTiming
from vbench.records import Continuation, Message

PROMPTS = Path(__file__).parents[3] / "conf" / "prompt"
SYSTEM = (
    "The following is a conversation between a curious human and AI assistant. The assistant gives "
    "helpful, detailed, and polite answers to the user's questions."
)


@pytest.fixture(scope="module")
def clips(owl: Path) -> ClipInputs:
    return ClipInputs(find_checkpoint(str(owl)), {})


@pytest.fixture(scope="module")
def reader(owl: Path, clips: ClipInputs) -> TokenReader:
    config = read_config(find_checkpoint(str(owl)), remote_code=False)
    return TokenReader("owl", clips.processor, config)


@pytest.mark.parametrize("name", ["velociti_v1_owl", "videocon"])
def test_prompts_are_read_piece_by_piece(
    owl: Path, clips: ClipInputs, reader: TokenReader, name: str
) -> None:
    import sentencepiece

    template = yaml.safe_load((PROMPTS / f"{name}.yaml").read_text())["template"]
    text = template.replace("{caption}", "A man — says no,  twice!")
    rendered = Renderer("owl", clips.processor, None, None).render(
        Message(text, render="raw"), shows_video=True, scored=False
    )
    assert rendered.text == text.replace("<video>", "<|video|>")
    found = reader.prompt(rendered, "<|video|>" * 5)
    model = sentencepiece.SentencePieceProcessor(model_file=str(owl / "tokenizer.model"))
    right = [1]
    for piece in re.split(r"(<\|video\|>|AI: |\nHuman: )", rendered.text):
        right += [model.get_piece_size()] * 5 if piece == "<|video|>" else model.encode(piece)
    assert list(found) == right
    assert reader.visual_count(found) == 5
    assert reader.reply(Continuation("Yes", "encode")) == (model.piece_to_id("▁Yes"),)


def test_a_chat_is_the_conversation_of_the_readme(clips: ClipInputs) -> None:
    renderer = Renderer("owl", clips.processor, None, None)
    chat = renderer.render(Message("What jumps?", render="chat"), shows_video=True, scored=False)
    assert chat.text == f"{SYSTEM}\nHuman: <|video|>\nHuman: What jumps?\nAI: "
    assert chat.add_special_tokens
    own = Message(
        "Why?", render="chat", system="Be brief.", turns=(("user", "A?"), ("assistant", "B."))
    )
    assert renderer.render(own, shows_video=False, scored=False).text == (
        "Be brief.\nHuman: A?\nAI: B.\nHuman: Why?\nAI: "
    )


def test_frames_are_squashed_and_normalised(clips: ClipInputs) -> None:
    """The edges of a wide frame stay: nothing is cropped."""
    frame = np.zeros((48, 96, 3), np.uint8)
    frame[:, :12], frame[:, -12:] = (255, 0, 0), (0, 0, 255)
    times = tuple(float(number) for number in range(3))
    view = clips.view([frame] * 3, ClipTiming((0, 1, 2), times, 1.0, 3))
    assert (view["frame_shape"], view["expansion"]) == ((3, 16, 16), "<|video|>" * 5)
    pixels = view["tensors"]["pixel_values_videos"].numpy()
    assert pixels.shape == (1, 3, 3, 16, 16)
    mean = np.array([0.48145466, 0.4578275, 0.40821073])
    deviation = np.array([0.26862954, 0.26130258, 0.27577711])
    for column, colour in ((0, (1, 0, 0)), (8, (0, 0, 0)), (15, (0, 0, 1))):
        right = (np.array(colour) - mean) / deviation
        assert np.abs(pixels[0, 0, :, 8, column] - right).max() < 0.02


def test_a_tokenizer_of_another_size_is_refused(resaved: Any) -> None:
    folder = resaved(lambda state: None)
    said = json.loads((folder / "config.json").read_text())
    said["text_config"]["vocab_size"] += 1
    (folder / "config.json").write_text(json.dumps(said))
    with pytest.raises(ModelError, match="processor cannot be loaded") as caught:
        ClipInputs(find_checkpoint(str(folder)), {})
    assert "460 words in the tokenizer, 461 in the model" in caught.value.why


def test_a_setting_of_the_frames_is_part_of_what_was_shown(owl: Path, clips: ClipInputs) -> None:
    other: dict[str, Any] = {"image_mean": [0.5, 0.5, 0.5]}
    assert ClipInputs(find_checkpoint(str(owl)), other).digest() != clips.digest()
