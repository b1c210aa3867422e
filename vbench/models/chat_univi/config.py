"""The sizes of Chat-UniVi, as its config.json writes them."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from vbench.models.vlm.llava_files import LlavaFilesConfig, marked_tokenizer

IMAGE = "<image>"
"""Stands for a feature; the original writes it once a frame, and has no word for it."""

STILL = 2
"""Up to so many frames are pictures beside one another; more are a video."""


class ChatUniviConfig(LlavaFilesConfig):
    """PKU-YuanGroup/Chat-UniVi, ChatUniVi/model/language_model/llama.py."""

    model_type = "ChatUniVi"
    own_keys: ClassVar[tuple[str, ...]] = (
        *("config", "mm_use_im_start_end", "mm_use_im_patch_token"),
        "mm_vision_select_layer",
    )

    config: dict[str, Any] | None = None
    """How features are merged: `use_cluster`, `spatial_cluster_rate0` to 2 (how many a frame, or an
    event, keeps at three levels) and `temporal_cluster_rate` (events per frame)."""
    mm_use_im_start_end: bool = False
    mm_use_im_patch_token: bool = True
    mm_vision_select_layer: int = -2

    @property
    def video_token(self) -> str:
        """What stands for a visual feature, as text."""
        return IMAGE

    @property
    def levels(self) -> tuple[float, ...]:
        """How many features are kept at each of three levels; below 1 a share.

        Raises:
            ValueError: The checkpoint merges none.
        """
        said = self.config or {}
        if not said.get("use_cluster"):
            raise ValueError("config.use_cluster is not true: a Chat-UniVi that merges no features")
        return tuple(float(said[f"spatial_cluster_rate{level}"]) for level in range(3))

    @property
    def events(self) -> float:
        """How many events are found; below 1 a share of the frames."""
        return float((self.config or {})["temporal_cluster_rate"])

    def features(self, frames: int) -> int:
        """Returns how many tokens so many frames take."""
        vision: Any = self.vision_config
        left, total = (vision.image_size // vision.patch_size) ** 2, 0
        for rate in self.levels:
            left = clusters(left, rate)
            total += left
        return total * (frames if frames <= STILL else clusters(frames, self.events))

    @property
    def marks(self) -> tuple[str, ...]:
        """Words that the tokenizer is given, in their order."""
        ends = ("<im_start>", "<im_end>") if self.mm_use_im_start_end else ()
        return (("<im_patch>",) if self.mm_use_im_patch_token else ()) + ends

    def vocabulary(self, words: int) -> int:
        """Returns how many rows the embedding has: the mark for a feature has none."""
        return words - 1

    def make_tokenizer(self, source: Any, **options: Any) -> Any:
        """Reads the tokenizer and adds the marks, last the one for a feature."""
        return marked_tokenizer(source, self.marks, bare=(IMAGE,), **options)


def clusters(count: int, rate: float) -> int:
    """Returns into how many clusters so many tokens are merged.

    >>> clusters(256, 64), clusters(33, 1 / 16)
    (64, 3)
    """
    return max(math.ceil(rate if rate > 1 else count * rate), 1)
