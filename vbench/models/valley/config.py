"""The sizes of Valley, as its config.json writes them."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from vbench.models.vlm.llava_files import LlavaFilesConfig, marked_tokenizer

FRAMES = 8
"""How many frames a prompt has places for."""

PATCH = "<im_patch>"
MARKS = (PATCH, "<vi_frame>", "<im_start>", "<im_end>", "<vi_start>", "<vi_end>")

Pooling = Literal["mean", "importance", "delta"]


class ValleyConfig(LlavaFilesConfig):
    """RupertLuo/Valley, valley/model/valley_model.py."""

    model_type = "valley"
    own_keys: ClassVar[tuple[str, ...]] = (
        *("use_patch_importance_pooling", "use_delta_transformer"),
        "mm_vision_select_layer",
    )

    use_patch_importance_pooling: bool = False
    use_delta_transformer: bool = False
    mm_vision_select_layer: int = -1

    @property
    def pooling(self) -> Pooling:
        """How the frames of a place become one feature."""
        if self.use_delta_transformer:
            return "delta"
        return "importance" if self.use_patch_importance_pooling else "mean"

    @property
    def video_token(self) -> str:
        """What stands for a visual feature, as text."""
        return PATCH

    @property
    def places(self) -> int:
        """How many features of space a video has."""
        vision: Any = self.vision_config
        return int((vision.image_size // vision.patch_size) ** 2)

    def make_tokenizer(self, source: Any, **options: Any) -> Any:
        """Reads the tokenizer and adds the marks in the order of its training."""
        return marked_tokenizer(source, MARKS, **options)
