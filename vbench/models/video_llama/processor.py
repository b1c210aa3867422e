"""How Video-LLaMA's frames and words are prepared."""

from __future__ import annotations

from vbench.models.blip2.processor import TimedProcessor
from vbench.models.video_llama.config import VideoLlamaConfig
from vbench.models.vlm.spliced_processor import SquashedFrames

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


class VideoLlamaProcessor(TimedProcessor):
    """Puts a video's placeholders and times into a prompt, and its frames beside it."""

    video_token = "<ImageHere>"  # noqa: S105 - no secret
    after = " "
    config = VideoLlamaConfig
    frames = SquashedFrames
    conversation = CHAT_TEMPLATE
