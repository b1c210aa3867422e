"""How Video-LLaMA's frames and words are prepared."""

from __future__ import annotations

from typing import Any, ClassVar

from transformers import LlamaTokenizer

from vbench.models.blip2.processor import TimedFrames, TimedProcessor, marked
from vbench.models.video_llama.config import VideoLlamaConfig
from vbench.models.vlm.spliced_processor import spaced_by_segment

VIDEO_TOKEN = "<ImageHere>"  # noqa: S105 - no secret

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
{{- '<Video><ImageHere>' if part.type == 'video' else part.text -}}
{%- endfor -%}
{{- '###' -}}
{%- endfor -%}
{{- 'Assistant:' if add_generation_prompt -}}
"""
"""The conversation of demo_video.py with Vicuna, a video without its sound."""


class VideoLlamaVideoProcessor(TimedFrames):
    """Squashes frames to a square, as decord does for the original, and normalises them as CLIP."""

    size: ClassVar[dict[str, int]] = {"height": 224, "width": 224}


class VideoLlamaProcessor(TimedProcessor):
    """Puts a video's placeholders and times into a prompt, and its frames beside it."""

    video_token = VIDEO_TOKEN
    after = " "

    @classmethod
    def from_pretrained(cls, source: str, **options: Any) -> VideoLlamaProcessor:
        """Reads LLaMA's tokenizer, and the sizes.

        Args:
            source: The folder.
            options: Of a hub id; code of a checkpoint is never run.

        Raises:
            ValueError: The tokenizer does not belong to the model.
        """
        options.pop("trust_remote_code", None)
        config = VideoLlamaConfig.from_pretrained(source, **options)
        side = config.vision_config.image_size
        frames = VideoLlamaVideoProcessor(size={"height": side, "width": side})
        tokenizer = LlamaTokenizer.from_pretrained(source, add_bos_token=True, **options)
        marked(tokenizer, VIDEO_TOKEN, config.video_token_id)
        features = config.num_video_query_tokens
        return cls(frames, spaced_by_segment(tokenizer), CHAT_TEMPLATE, features)
