"""What models of assembled files are given: words in pieces of SentencePiece, frames in colours."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from vbench.checkpoints import find_checkpoint
from vbench.models.vlm.clip_inputs import ClipInputs
from vbench.models.vlm.rendering import Rendered, Renderer
from vbench.models.vlm.tokens import TokenReader
from vbench.models.vlm.weights import read_config
from vbench.protocols import ClipTiming
from vbench.records import Message

MEAN = np.array([0.48145466, 0.4578275, 0.40821073])
DEVIATION = np.array([0.26862954, 0.26130258, 0.27577711])
"""Of CLIP's colours."""

TIMING = ClipTiming((0, 31, 62), (0.0, 1.24, 2.48), 25.0, 75)
"""Three frames of a clip at 25 frames per second."""


def seconds(count: int) -> ClipTiming:
    """Of a clip at one frame per second, all of it."""
    return ClipTiming(tuple(range(count)), tuple(map(float, range(count))), 1.0, count)


class Demo:
    """A folder's processor, renderer and tokens, beside SentencePiece itself."""

    def __init__(self, folder: Path) -> None:
        import sentencepiece

        checkpoint = find_checkpoint(str(folder))
        self.clips = ClipInputs(checkpoint, {})
        self.config: Any = read_config(checkpoint, remote_code=False)
        self.renderer = Renderer(folder.name, self.clips.processor, None, None)
        self.reader = TokenReader(folder.name, self.clips.processor, self.config)
        self.sentences = sentencepiece.SentencePieceProcessor(
            model_file=str(folder / "tokenizer.model")
        )

    def chat(self, question: str, *, scored: bool = False) -> Rendered:
        """Renders a question about a video."""
        message = Message(question, render="chat")
        return self.renderer.render(message, shows_video=True, scored=scored)

    def talk(self, **more: str) -> str:
        """Renders "Why?" after "A?" was answered by "B.", of no video."""
        turns = (("user", "A?"), ("assistant", "B."))
        message = Message("Why?", render="chat", turns=turns, **more)
        return self.renderer.render(message, shows_video=False, scored=False).text

    def read(self, question: str) -> tuple[int, ...]:
        """Returns the ids of a prompt about three black frames whose replies are scored."""
        expansion = self.view(np.zeros((8, 8, 3), np.uint8))["expansion"]
        return self.reader.prompt(self.chat(question, scored=True), str(expansion))

    def pieces(self, text: str) -> list[int]:
        return list(self.sentences.encode(text))

    def view(self, frame: np.ndarray) -> dict[str, Any]:
        """Shows a clip of this frame three times."""
        return dict(self.clips.view([frame] * 3, TIMING))


def blocks(height: int, width: int) -> np.ndarray:
    """Draws a frame of single-coloured blocks, about eight pixels each way, of no extreme."""
    shape = (height // 8, width // 8, 3)
    frame = np.random.default_rng(0).integers(64, 192, shape, np.uint8)
    return frame.repeat(8, axis=0).repeat(8, axis=1)


def shows(view: dict[str, Any], picture: Image.Image) -> None:
    """Asserts that three frames are seen, the second as this picture to a level of rounding."""
    pixels = view["tensors"]["pixel_values_videos"].numpy()
    assert pixels.shape == (1, 3, 3, picture.height, picture.width)
    right = ((np.asarray(picture) / 255 - MEAN) / DEVIATION).transpose(2, 0, 1)
    assert np.abs(pixels[0, 1] - right).max() < 1.5 / 255 / DEVIATION.min()
