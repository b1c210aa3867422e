"""Prompts of the original, and commands with the words of conf/."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vbench.checkpoints import find_checkpoint
from vbench.models.vlm.clip_inputs import ClipInputs
from vbench.models.vlm.rendering import Renderer
from vbench.models.vlm.tokens import TokenReader
from vbench.models.vlm.weights import read_config
from vbench.protocols import ClipTiming
from vbench.records import Message

from ..assembled_runs import PAIRS, log_probs

SYSTEM = (
    "A chat between a curious user and an artificial intelligence assistant. The assistant gives "
    "helpful, detailed, and polite answers to the user's questions."
)


@pytest.mark.parametrize("ends", [False, True])
def test_prompts_are_read_as_the_slow_tokenizer_did(
    univi: Path, tmp_path: Path, ends: bool
) -> None:
    """Where <im_start> and <im_end> are words, it took the line break after them away."""
    import sentencepiece

    for name in ("tokenizer.model", "tokenizer_config.json", "config.json"):
        (tmp_path / name).write_bytes((univi / name).read_bytes())
    said = json.loads((tmp_path / "config.json").read_text())
    said["mm_use_im_start_end"] = said["mm_use_im_patch_token"] = ends
    (tmp_path / "config.json").write_text(json.dumps(said))
    clips = ClipInputs(find_checkpoint(str(tmp_path)), {})
    config = read_config(find_checkpoint(str(tmp_path)), remote_code=False)
    rendered = Renderer("univi", clips.processor, None, None).render(
        Message("What jumps?\nA  man", render="chat"), shows_video=True, scored=True
    )
    shown = "<im_start><image><im_end>" if ends else "<image>"
    assert rendered.text == f"{SYSTEM} USER: {shown}\nWhat jumps?\nA  man ASSISTANT:"
    frame = np.zeros((20, 30, 3), np.uint8)
    view = clips.view([frame] * 5, ClipTiming(tuple(range(5)), (0.0, 1.0, 2.0, 3.0, 4.0), 1.0, 5))
    assert (view["frame_shape"], view["expansion"]) == ((5, 16, 16), "<image>" * 24)
    found = TokenReader("univi", clips.processor, config).prompt(rendered, view["expansion"])
    model = sentencepiece.SentencePieceProcessor(model_file=str(univi / "tokenizer.model"))
    marks = {"<image>": [463 if ends else 460] * 24, "<im_start>": [461], "<im_end>": [462]}
    right = [1]
    for piece in re.split(r"(\s*<im_start>|<image>|<im_end>\s*)", rendered.text):
        mark = piece.strip()
        right += marks[mark] if mark in marks else model.encode(piece)
    assert list(found) == right
    assert config.text_config.vocab_size == (463 if ends else 460)


@pytest.mark.slow
def test_commands_score_and_write(univi: Path, evaluating: Callable[..., Any]) -> None:
    evaluate = evaluating({"a": 0, "b": 60}, univi, "model=chat_univi_7b", "sampler.fps=2")
    options = evaluate("options", "scorer=option_probability", "prompt=videobench/paper")
    reply = options[0]["reply"]
    assert (reply["visual_tokens"], reply["frame_shape"]) == (24, [6, 16, 16])
    assert len(set(log_probs(options))) == 8
    evaluate("pairs", "scorer=entailment", *PAIRS)
    written = evaluate("written", "scorer=letters", "model.generation.max_new_tokens=3")
    assert all(row["reply"]["reply_tokens"] >= 1 for row in written)
