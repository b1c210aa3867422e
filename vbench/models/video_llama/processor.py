"""How Video-LLaMA's frames and words are prepared."""

from __future__ import annotations

from typing import ClassVar

from vbench.models.blip2.processor import TimedFrames, TimedProcessor
from vbench.models.video_llama.config import VideoLlamaConfig

CHAT_TEMPLATE = """\
{%- if messages[0].role == 'system' -%}
{%- set said = messages[1:] -%}{{ messages[0].content[0].text }}
{%- else -%}
{%- set said = messages -%}{{ "You are able to understand the visual content that the user \
provides. Follow the instructions carefully and explain your answers in detail." }}
{%- endif -%}
{{- '###' -}}
{%- for message in said -%}
{{- 'Assistant: ' if message.role == 'assistant' else 'Human: ' -}}
{%- for part in message.content -%}
{{- ' ' if not loop.first -}}
{{- '<ImageHere>' if part.type == 'video' else part.text -}}
{%- endfor -%}
{{- '###' -}}
{%- endfor -%}
{{- 'Assistant:' if add_generation_prompt -}}
"""
"""The conversation of demo_video.py with Vicuna, a video without its sound."""


class VideoLlamaVideoProcessor(TimedFrames):
    """Squashes frames to a square, as decord does for the original, and normalises them as CLIP."""

    size: ClassVar[dict[str, int]] = {"height": 224, "width": 224}

    @classmethod
    def of_side(cls, side: int) -> VideoLlamaVideoProcessor:
        """Makes one for frames of so many pixels a side."""
        return cls(size={"height": side, "width": side})


class VideoLlamaProcessor(TimedProcessor):
    """Puts a video's placeholders and times into a prompt, and its frames beside it."""

    video_token = "<ImageHere>"  # noqa: S105 - no secret
    after = " "
    config = VideoLlamaConfig
    frames = VideoLlamaVideoProcessor
    conversation = CHAT_TEMPLATE
