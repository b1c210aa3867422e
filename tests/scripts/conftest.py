"""The tiny video-language model as shipped, and how it is asked."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import AutoModelForImageTextToText, AutoProcessor

from vbench.datasets.toy.render import render_frame
from vbench.datasets.toy.world import ToyClip

CHECKPOINT = Path(__file__).parents[2] / "vbench" / "assets" / "toy_vlm"


@pytest.fixture(scope="package")
def processor() -> AutoProcessor:
    return AutoProcessor.from_pretrained(CHECKPOINT)


@pytest.fixture(scope="package")
def model() -> AutoModelForImageTextToText:
    return AutoModelForImageTextToText.from_pretrained(CHECKPOINT).eval()


def _video(clip: ToyClip) -> torch.Tensor:
    """Returns the frames that velociti20 delivers, (20, 3, 128, 128)."""
    moments = [second + part for second in range(10) for part in (0.25, 0.75)]
    frames = np.stack([render_frame(clip, moment) for moment in moments])
    return torch.from_numpy(frames).permute(0, 3, 1, 2)


@pytest.fixture(scope="package")
def chat() -> Callable[[str], list[dict[str, object]]]:
    """Makes a turn of a chat: a video, and a text."""

    def turn(text: str) -> list[dict[str, object]]:
        return [{"role": "user", "content": [{"type": "video"}, {"type": "text", "text": text}]}]

    return turn


@pytest.fixture(scope="package")
def asked(
    processor: AutoProcessor, chat: Callable[[str], list[dict[str, object]]]
) -> Callable[[ToyClip, str], dict[str, torch.Tensor]]:
    """Prepares a text about a clip as the model's inputs."""

    def prepare(clip: ToyClip, text: str) -> dict[str, torch.Tensor]:
        rendered = processor.apply_chat_template(chat(text), add_generation_prompt=True)
        return processor(
            text=[rendered], videos=[_video(clip)], do_sample_frames=False, return_tensors="pt"
        )

    return prepare
