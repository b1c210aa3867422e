"""What processors share whose model is LLaMA with a video's features in the places of words."""

from __future__ import annotations

from typing import Any, ClassVar, Self

from tokenizers import normalizers
from transformers import ProcessorMixin
from transformers.image_utils import OPENAI_CLIP_MEAN, OPENAI_CLIP_STD, PILImageResampling
from transformers.video_processing_utils import BaseVideoProcessor


class ClipFrames(BaseVideoProcessor):
    """Resizes frames and normalises them as CLIP; chooses none.

    What derives from it says the size, and `resample` where the original's rule is not CLIP's.
    """

    model_input_names: ClassVar[list[str]] = ["pixel_values_videos"]
    resample = PILImageResampling.BICUBIC
    image_mean = OPENAI_CLIP_MEAN
    image_std = OPENAI_CLIP_STD
    do_resize = True
    do_rescale = True
    do_normalize = True
    do_convert_rgb = True
    do_sample_frames = False


class SquashedFrames(ClipFrames):
    """Squashes frames to a square, as decord does for the originals."""

    size: ClassVar[dict[str, int]] = {"height": 224, "width": 224}

    @classmethod
    def of_side(cls, side: int, **settings: Any) -> Self:
        """Makes one for frames of so many pixels a side."""
        return cls(size={"height": side, "width": side}, **settings)


class CroppedFrames(ClipFrames):
    """Makes the shorter edge of frames the model's side, and crops the middle, as CLIP's own."""

    size: ClassVar[dict[str, int]] = {"shortest_edge": 224}
    crop_size: ClassVar[dict[str, int]] = {"height": 224, "width": 224}
    default_to_square = False
    do_center_crop = True

    @classmethod
    def of_side(cls, side: int, **settings: Any) -> Self:
        """Makes one for frames of so many pixels a side."""
        crop = {"height": side, "width": side}
        return cls(**{"size": {"shortest_edge": side}, "crop_size": crop} | settings)


class SplicedProcessor(ProcessorMixin):
    """Puts a video's placeholders into a prompt, and its frames beside it.

    Args:
        video_processor: A `ClipFrames`.
        tokenizer: LLaMA's, with the mark `video_token`.
        chat_template: How messages are written.
        features: How many tokens a video takes.
    """

    video_token: str

    def __init__(
        self,
        video_processor: Any,
        tokenizer: Any,
        chat_template: str | None = None,
        features: int = 1,
    ) -> None:
        self.features = features
        self.video_token_id = tokenizer.convert_tokens_to_ids(self.video_token)
        super().__init__(video_processor, tokenizer, chat_template=chat_template)

    def replace_video_token(self, video_inputs: dict[str, Any], video_idx: int, **_: Any) -> str:
        """Returns the placeholders of one video: as many for any number of frames."""
        return self.video_token * self.features


def spaced_by_segment(tokenizer: Any) -> Any:
    """Puts a space before each segment between special tokens, even before a space.

    So did LLaMA's tokenizer until transformers 4.37, each segment a text of its own to
    SentencePiece. Later versions leave it out there: prompts would lose a token.
    """
    backend = tokenizer.backend_tokenizer
    backend.normalizer = normalizers.Sequence(
        [normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]
    )
    backend.pre_tokenizer = None
    return tokenizer
