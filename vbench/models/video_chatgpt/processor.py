"""How Video-ChatGPT's frames and words are prepared."""

from __future__ import annotations

from typing import Any

from torch import Tensor
from torch.nn import functional
from transformers.image_utils import PILImageResampling

from vbench.errors import ModelError
from vbench.models.video_chatgpt.config import MOMENTS, PATCH, VideoChatGptConfig
from vbench.models.vlm.spliced_processor import SplicedProcessor, SquashedFrames

CHAT_TEMPLATE = """\
{%- if messages[0].role == 'system' -%}
{%- set said = messages[1:] -%}{{ messages[0].content[0].text }}
{%- else -%}
{%- set said = messages -%}{{ "You are Video-ChatGPT, a large vision-language assistant. You are \
able to understand the video content that the user provides, and assist the user with a variety \
of tasks using natural language.Follow the instructions carefully and explain your answers in \
detail based on the provided video." }}
{%- endif -%}
{%- for message in said -%}
{{- ' USER: ' if message.role == 'user' else ' ASSISTANT: ' -}}
{%- for part in message.content if part.type != 'video' -%}{{- part.text -}}{%- endfor -%}
{%- for part in message.content if part.type == 'video' -%}
{{- '\\n<vid_start><vid_patch><vid_end>' -}}
{%- endfor -%}
{{- '</s>' if message.role == 'assistant' -}}
{%- endfor -%}
{{- ' ASSISTANT:' if add_generation_prompt -}}
"""
"""The conversation `video-chatgpt_v1` of its inference: the question before the video."""


class VideoChatGptVideoProcessor(SquashedFrames):
    """Squashes frames to a square by their nearest pixels and normalises them as CLIP.

    The original calls torch's `interpolate` without saying how, before CLIP's processor, which
    then finds nothing to resize.
    """

    resample = PILImageResampling.NEAREST

    def resize(self, image: Tensor, size: Any, *_: Any, **__: Any) -> Tensor:
        """Takes the pixel at floor(i * from / to), where PIL and transformers take its middle."""
        edges = (size.height, size.width)
        frames = functional.interpolate(image.flatten(0, -4).float(), edges)
        return frames.to(image.dtype).view(*image.shape[:-2], *edges)


class VideoChatGptProcessor(SplicedProcessor):
    """Puts a video's placeholders into a prompt, and its frames beside it."""

    video_token = PATCH

    @classmethod
    def from_pretrained(cls, source: str, **options: Any) -> VideoChatGptProcessor:
        """Reads a checkpoint's tokenizer, and the size of its frames.

        Args:
            source: A folder or a hub id.
            options: `revision`, `local_files_only`; code of the checkpoint is never run.
        """
        options.pop("trust_remote_code", None)
        config = VideoChatGptConfig.from_pretrained(source, **options)
        side = config.vision_config.image_size  # type: ignore[union-attr]
        frames = VideoChatGptVideoProcessor.of_side(side)
        tokenizer = config.make_tokenizer(source, **options)
        return cls(frames, tokenizer, CHAT_TEMPLATE, config.features)

    def replace_video_token(self, video_inputs: dict[str, Any], video_idx: int, **_: Any) -> str:
        """Returns the placeholders of one video.

        Raises:
            ModelError: It has more frames than the model has places for moments.
        """
        count = len(video_inputs["pixel_values_videos"][video_idx])
        if count > MOMENTS:
            raise ModelError(
                f"Video-ChatGPT takes {MOMENTS} frames at most, and is shown {count}",
                where="sampler.num_frames",
                mend=f"use sampler.num_frames={MOMENTS} or fewer",
            )
        return super().replace_video_token(video_inputs, video_idx)
