"""How Valley's frames and words are prepared."""

from __future__ import annotations

from typing import Any, ClassVar

from torch import Tensor
from torch.nn import functional
from transformers.image_utils import PILImageResampling

from vbench.models.valley.config import PATCH, ValleyConfig
from vbench.models.vlm.spliced_processor import CroppedFrames, SplicedProcessor

CHAT_TEMPLATE = """\
{%- if messages[0].role == 'system' -%}
{%- set said = messages[1:] -%}{{ messages[0].content[0].text }}
{%- else -%}
{%- set said = messages -%}{{ "You are Valley, a large language and vision assistant trained by \
ByteDance. You are able to understand the visual content or video that the user provides, and \
assist the user with a variety of tasks using natural language. Follow the instructions carefully \
and explain your answers in detail." }}
{%- endif -%}
{{- '\\n\\n###' -}}
{%- for message in said -%}
{{- ' Human: ' if message.role == 'user' else ' Assistant: ' -}}
{%- for part in message.content -%}
{{- '<im_start><im_patch><vi_end> ' if part.type == 'video' else part.text -}}
{%- endfor -%}
{{- ' \\n###' -}}
{%- endfor -%}
{{- ' Assistant:' if add_generation_prompt -}}
"""
"""The conversation of its inference (`build_inputs`), and the words that replies begin with."""

_SHRUNK = 256 / 224
"""By how much the shorter edge is larger than what is cropped of it."""


class ValleyVideoProcessor(CroppedFrames):
    """Makes the shorter edge of frames 256 by their nearest pixels, crops 224, normalises as CLIP.

    The original's `Resize` is OpenCV's INTER_NEAREST unless told otherwise.
    """

    resample = PILImageResampling.NEAREST

    def resize(self, image: Tensor, size: Any, *_: Any, **__: Any) -> Tensor:
        """Takes the pixel at floor(i * from / to), where PIL and transformers take its middle."""
        height, width = image.shape[-2:]
        short = min(height, width)
        edges = tuple(size.shortest_edge * edge // short for edge in (height, width))
        frames = functional.interpolate(image.flatten(0, -4).float(), edges)
        return frames.to(image.dtype).view(*image.shape[:-2], *edges)

    def center_crop(self, image: Tensor, size: Any, **_: Any) -> Tensor:
        """Begins at half of what is cut off, rounded half to even; transformers rounds down."""
        top, left = (
            round((edge - side) / 2)
            for edge, side in zip(image.shape[-2:], (size.height, size.width), strict=True)
        )
        return image[..., top : top + size.height, left : left + size.width]


class ValleyProcessor(SplicedProcessor):
    """Puts a video's placeholders into a prompt, and its frames beside it."""

    video_token = PATCH
    stop_texts: ClassVar[tuple[str, ...]] = ("###",)

    @classmethod
    def from_pretrained(cls, source: str, **options: Any) -> ValleyProcessor:
        """Reads a checkpoint's tokenizer, and the size of its frames.

        Args:
            source: A folder or a hub id.
            options: `revision`, `local_files_only`; code of the checkpoint is never run.
        """
        options.pop("trust_remote_code", None)
        config = ValleyConfig.from_pretrained(source, **options)
        side = config.vision_config.image_size  # type: ignore[union-attr]
        frames = ValleyVideoProcessor.of_side(side, size={"shortest_edge": int(side * _SHRUNK)})
        tokenizer = config.make_tokenizer(source, **options)
        return cls(frames, tokenizer, CHAT_TEMPLATE, config.places)

    def replace_video_token(self, video_inputs: dict[str, Any], video_idx: int, **_: Any) -> str:
        """Returns the placeholders of one video: of its places, then of its frames.

        The original has words of two kinds there, which its features replace alike.
        """
        frames = len(video_inputs["pixel_values_videos"][video_idx])
        between = "<im_end><vi_start>"
        return self.video_token * self.features + between + self.video_token * frames
