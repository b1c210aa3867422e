"""The sizes of Video-ChatGPT, as LLaVA's config.json and its own code give them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vbench.models.vlm.llava_files import LlavaFilesConfig, marked_tokenizer

MOMENTS = 100
"""How many frames a video has at most, and how many features over time it takes with fewer."""

START, PATCH, END = "<vid_start>", "<vid_patch>", "<vid_end>"


class VideoChatGptConfig(LlavaFilesConfig):
    """mbzuai-oryx/Video-ChatGPT, video_chatgpt/eval/model_utils.py."""

    model_type = "VideoChatGPT"

    @property
    def video_token(self) -> str:
        """What stands for a visual feature, as text."""
        return PATCH

    @property
    def features(self) -> int:
        """How many tokens a video takes: 100 for its moments, 256 for its places."""
        vision: Any = self.vision_config
        return int(MOMENTS + (vision.image_size // vision.patch_size) ** 2)

    def make_tokenizer(self, source: Any, **options: Any) -> Any:
        """Reads the tokenizer and adds the marks in the order in which the rows were trained."""
        return marked_tokenizer(source, (PATCH, START, END), **options)


def is_video_chatgpt(said: Mapping[str, Any]) -> bool:
    """Whether a config.json is of files in LLaVA's own layout, which Video-ChatGPT is built on.

    >>> is_video_chatgpt({"model_type": "llava", "mm_vision_tower": "openai/clip"})
    True
    >>> is_video_chatgpt({"model_type": "llava", "text_config": {}})
    False
    """
    kind = said.get("model_type")
    flat = "mm_vision_tower" in said and "text_config" not in said
    return kind == VideoChatGptConfig.model_type or (kind == "llava" and flat)
