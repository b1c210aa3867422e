"""Frames as CLIP's processor makes them, a LLaMA's words from elsewhere, the demo's prompt."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vbench.checkpoints import find_checkpoint
from vbench.errors import ModelError
from vbench.frames.timeline import Span
from vbench.models.vlm.adapter import HfVideoLanguageModel
from vbench.models.vlm.clip_inputs import ClipInputs
from vbench.models.vlm.rendering import Renderer
from vbench.models.vlm.tokens import TokenReader
from vbench.models.vlm.weights import read_config
from vbench.protocols import ClipTiming
from vbench.records import Continuation, Message
from vbench.schema import compose, plain


@pytest.fixture(scope="module")
def clips(otter: Path) -> ClipInputs:
    return ClipInputs(find_checkpoint(str(otter)), {})


def test_prompts_are_read_segment_by_segment(
    otter: Path, written: tuple[Path, Path, Any], clips: ClipInputs
) -> None:
    import sentencepiece

    renderer = Renderer("otter", clips.processor, None, None)
    message = Message("What of a circle?", render="chat")
    chat = renderer.render(message, shows_video=True, scored=True)
    assert chat.text == "<image>User: What of a circle? GPT:<answer>"
    assert renderer.placeholder() == "<image>"
    reader = TokenReader(
        "otter", clips.processor, read_config(find_checkpoint(str(otter)), remote_code=False)
    )
    model = sentencepiece.SentencePieceProcessor(model_file=str(written[1] / "tokenizer.model"))
    words = model.get_piece_size()
    right = [1, words + 1, *model.encode("User: What of a circle? GPT:"), words + 2]
    found = reader.prompt(chat, "<image>")
    assert list(found) == right
    assert reader.visual_count(found) == 1
    assert reader.reply(Continuation("Yes", "encode")) == tuple(model.encode("Yes"))
    assert clips.processor.tokenizer.eos_token_id == words
    longer = Message("Why?", render="chat", turns=(("user", "A?"), ("assistant", "B.")))
    assert renderer.render(longer, shows_video=False, scored=True).text == (
        "User: A? GPT:<answer> B.<|endofchunk|>User: Why? GPT:<answer>"
    )


def test_frames_are_cropped_and_normalised_as_clip(clips: ClipInputs) -> None:
    from PIL import Image
    from transformers import CLIPImageProcessor

    draw = np.random.default_rng(0)
    frames = [draw.integers(0, 256, (40, 66, 3)).astype(np.uint8) for _ in range(2)]
    view = clips.view(frames, ClipTiming((0, 1), (0.0, 1.0), 1.0, 2))
    assert (view["frame_shape"], view["expansion"]) == ((2, 16, 16), "<image>")
    right = CLIPImageProcessor(size={"shortest_edge": 16}, crop_size=16)(
        [Image.fromarray(frame) for frame in frames], return_tensors="np"
    )["pixel_values"]
    found = view["tensors"]["pixel_values_videos"].numpy()[0]
    assert np.abs(found - right).max() < 1 / 255 / 0.26


def test_the_words_are_part_of_the_model(
    otter: Path, written: tuple[Path, Path, Any], tmp_path: Path
) -> None:
    """Those of its own folder come first; another tokenizer is another model, or none."""
    folder, words = tmp_path / "otter", tmp_path / "llama"
    shutil.copytree(otter, folder)
    shutil.copytree(written[1], words)
    said = json.loads((folder / "config.json").read_text())
    said["text_config"]["_name_or_path"] = str(words)
    (folder / "config.json").write_text(json.dumps(said))
    names = {HfVideoLanguageModel(str(folder)).identity()}
    (words / "more.txt").write_text("")
    names.add(HfVideoLanguageModel(str(folder)).identity())
    words.rename(tmp_path / "elsewhere")
    with pytest.raises(ModelError, match="has no tokenizer") as caught:
        HfVideoLanguageModel(str(folder))
    assert "tokenizer.model" in caught.value.mend
    (tmp_path / "elsewhere").rename(words)
    for file in words.glob("tokenizer*"):
        shutil.copy(file, folder)
    shutil.rmtree(words)
    names.add(HfVideoLanguageModel(str(folder)).identity())
    assert len(names) == 3
    said["base_words"] += 1
    (folder / "config.json").write_text(json.dumps(said))
    with pytest.raises(ModelError, match="processor cannot be loaded") as caught:
        HfVideoLanguageModel(str(folder))
    assert "<image> is 421 in the tokenizer, 422 in the model" in caught.value.why


def test_the_word_brings_the_demos_frames() -> None:
    from vbench.frames.samplers import CountSampler

    config = plain(compose(["model=otter_video_7b"]))
    chosen = config["sampler"]
    assert (chosen["name"], chosen["num_frames"], chosen["short"]) == (
        "whole_steps", 16, "repeat_last",
    )  # fmt: skip
    assert config["model"]["checkpoint"] == "luodian/OTTER-Video-LLaMA7B-DenseCaption"
    sampler = CountSampler("whole_steps", num_frames=16, short="repeat_last")
    short = Span(tuple(i / 10 for i in range(15)), 10.0, 0.0, 1.5)
    assert sampler(short) == [0] * 16
