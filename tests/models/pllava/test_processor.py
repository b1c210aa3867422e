"""Words as SentencePiece makes them of each piece, frames cropped, conversations as published."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from PIL import Image

from vbench.checkpoints import find_checkpoint
from vbench.errors import ModelError
from vbench.models.vlm.clip_inputs import ClipInputs
from vbench.models.vlm.rendering import Renderer
from vbench.models.vlm.tokens import TokenReader
from vbench.models.vlm.weights import read_config
from vbench.protocols import ClipTiming
from vbench.records import Continuation, Message

PROMPT = Path(__file__).parents[3] / "conf" / "prompt" / "velociti_v1_pllava.yaml"


@pytest.fixture(scope="module")
def clips(pllava: Path) -> ClipInputs:
    return ClipInputs(find_checkpoint(str(pllava)), {})


def test_velocitis_prompt_is_read_as_transformers_of_2024_did(
    pllava: Path, clips: ClipInputs
) -> None:
    """Its LLaMA tokenizer put a space before each piece, also before one that begins with one."""
    import sentencepiece

    config = read_config(find_checkpoint(str(pllava)), remote_code=False)
    reader = TokenReader("pllava", clips.processor, config)
    template = yaml.safe_load(PROMPT.read_text())["template"]
    text = template.replace("{caption}", "A man — says no,  twice!")
    rendered = Renderer("pllava", clips.processor, None, None).render(
        Message(text, render="raw"), shows_video=True, scored=True
    )
    assert rendered.text == text.replace("<video>", "<image>")
    found = reader.prompt(rendered, "<image>" * 2304)
    model = sentencepiece.SentencePieceProcessor(model_file=str(pllava / "tokenizer.model"))
    before, after = rendered.text.split("<image>")
    visual = [config.video_token_id] * 2304
    assert after.startswith(" Carefully")
    assert model.encode(after) != model.encode(after[1:])
    assert list(found) == [1, *model.encode(before), *visual, *model.encode(after)]
    assert reader.visual_count(found) == 2304
    assert reader.context == 4096
    assert reader.reply(Continuation("Yes", "encode")) == (model.piece_to_id("▁Yes"),)


def test_a_chat_is_a_conversation_of_its_evaluations(clips: ClipInputs) -> None:
    renderer = Renderer("pllava", clips.processor, None, None)
    chat = renderer.render(Message("What jumps?", render="chat"), shows_video=True, scored=True)
    assert chat.text == "USER: <image>\nWhat jumps? ASSISTANT:"
    assert chat.add_special_tokens
    own = Message(
        "Why?", render="chat", system="Be brief.", turns=(("user", "A?"), ("assistant", "B."))
    )
    assert renderer.render(own, shows_video=False, scored=True).text == (
        "Be brief. USER: A? ASSISTANT:B.</s>USER: Why? ASSISTANT:"
    )


@pytest.mark.parametrize("shape", [(64, 160), (90, 40)])
def test_frames_are_resized_by_their_shorter_edge_and_cropped(
    clips: ClipInputs, shape: tuple[int, int]
) -> None:
    height, width = shape
    frame = np.random.default_rng(0).integers(0, 256, (height // 8, width // 8, 3), np.uint8)
    frame = frame.repeat(8, axis=0).repeat(8, axis=1)
    height, width = frame.shape[:2]
    view = clips.view([frame] * 2, ClipTiming((0, 1), (0.0, 1.0), 1.0, 2))
    assert (view["frame_shape"], view["expansion"]) == ((2, 48, 48), "<image>" * 2304)
    short = min(height, width)
    size = (48 * width // short, 48 * height // short)
    left, top = ((edge - 48) // 2 for edge in size)
    resized = Image.fromarray(frame).resize(size, Image.Resampling.BILINEAR)
    seen = np.asarray(resized.crop((left, top, left + 48, top + 48))) / 255
    mean = np.array([0.48145466, 0.4578275, 0.40821073])
    deviation = np.array([0.26862954, 0.26130258, 0.27577711])
    pixels = view["tensors"]["pixel_values_videos"].numpy()
    assert pixels.shape == (1, 2, 3, 48, 48)
    right = ((seen - mean) / deviation).transpose(2, 0, 1)
    assert np.abs(pixels[0, 1] - right).max() < 1.5 / 255 / deviation.min()  # a level of rounding


def test_a_tokenizer_with_another_mark_is_refused(
    resaved: Callable[[dict[str, Any]], Path],
) -> None:
    folder = resaved({})
    said = json.loads((folder / "config.json").read_text())
    said["image_token_index"] += 1
    (folder / "config.json").write_text(json.dumps(said))
    with pytest.raises(ModelError, match="processor cannot be loaded") as caught:
        ClipInputs(find_checkpoint(str(folder)), {})
    assert "<image> is 460 in the tokenizer, 461 in the model" in caught.value.why


def test_llava_keeps_its_own_class(tmp_path: Path, pllava: Path) -> None:
    said = json.loads((pllava / "config.json").read_text())
    ours = ("architectures", "pooling_shape")
    (tmp_path / "config.json").write_text(
        json.dumps({name: value for name, value in said.items() if name not in ours})
    )
    kinds = [
        type(read_config(find_checkpoint(str(folder)), remote_code=False)).__name__
        for folder in (pllava, tmp_path)
    ]
    assert kinds == ["PllavaConfig", "LlavaConfig"]
