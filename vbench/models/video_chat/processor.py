"""How VideoChat's frames and words are prepared."""

from __future__ import annotations

from typing import ClassVar

from vbench.models.blip2.processor import TimedFrames, TimedProcessor
from vbench.models.video_chat.config import VideoChatConfig

CHAT_TEMPLATE = """\
{%- if messages[0].role == 'system' -%}
{%- set said = messages[1:] -%}{{ messages[0].content[0].text }}
{%- else -%}
{%- set said = messages -%}
{%- endif -%}
{{- '###' -}}
{%- for message in said -%}
{%- for part in message.content -%}
{%- if message.role == 'assistant' -%}
{{- 'Assistant: ' + part.text + '###' -}}
{%- else -%}
{{- 'Human: ' -}}
{{- '<VideoHere>' if part.type == 'video' else part.text + '\\n' -}}
{{- '###' -}}
{%- endif -%}
{%- endfor -%}
{%- endfor -%}
{{- 'Assistant:' if add_generation_prompt -}}
"""
"""The conversation of its demo: a video is a turn of the human's own."""


class VideoChatVideoProcessor(TimedFrames):
    """Makes the shorter edge of frames CLIP's, crops the middle and normalises it as CLIP."""

    size: ClassVar[dict[str, int]] = {"shortest_edge": 224}
    crop_size: ClassVar[dict[str, int]] = {"height": 224, "width": 224}
    default_to_square = False
    do_center_crop = True

    @classmethod
    def of_side(cls, side: int) -> VideoChatVideoProcessor:
        """Makes one for frames of so many pixels a side."""
        return cls(size={"shortest_edge": side}, crop_size={"height": side, "width": side})


class VideoChatProcessor(TimedProcessor):
    """Puts a video's placeholders and times into a prompt, and its frames beside it."""

    video_token = "<VideoHere>"  # noqa: S105 - no secret
    after = "\n"
    config = VideoChatConfig
    frames = VideoChatVideoProcessor
    conversation = CHAT_TEMPLATE
