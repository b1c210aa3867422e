"""How VideoChat's frames and words are prepared."""

from __future__ import annotations

from vbench.models.blip2.processor import TimedProcessor
from vbench.models.video_chat.config import VideoChatConfig
from vbench.models.vlm.spliced_processor import CroppedFrames

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


class VideoChatProcessor(TimedProcessor):
    """Puts a video's placeholders and times into a prompt, and its frames beside it."""

    video_token = "<VideoHere>"  # noqa: S105 - no secret
    after = "\n"
    config = VideoChatConfig
    frames = CroppedFrames
    conversation = CHAT_TEMPLATE
