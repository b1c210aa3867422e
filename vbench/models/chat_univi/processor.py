"""How Chat-UniVi's frames and words are prepared."""

from __future__ import annotations

from typing import Any

from vbench.models.chat_univi.config import IMAGE, ChatUniviConfig
from vbench.models.vlm.spliced_processor import CroppedFrames, SplicedProcessor

CHAT_TEMPLATE = """\
{%- if messages[0].role == 'system' -%}
{%- set said = messages[1:] -%}{{ messages[0].content[0].text }}
{%- else -%}
{%- set said = messages -%}{{ "A chat between a curious user and an artificial intelligence \
assistant. The assistant gives helpful, detailed, and polite answers to the user's questions." }}
{%- endif -%}
{%- for message in said -%}
{{- ' USER: ' if message.role == 'user' else ' ASSISTANT: ' -}}
{%- for part in message.content -%}
{{- video if part.type == 'video' else part.text -}}
{%- endfor -%}
{{- '</s>' if message.role == 'assistant' -}}
{%- endfor -%}
{{- ' ASSISTANT:' if add_generation_prompt -}}
"""
"""The conversation `v1` of its evaluations."""


class ChatUniviProcessor(SplicedProcessor):
    """Puts a video's placeholders into a prompt, and its frames beside it."""

    video_token = IMAGE
    config: ChatUniviConfig

    @classmethod
    def from_pretrained(cls, source: str, **options: Any) -> ChatUniviProcessor:
        """Reads a checkpoint's tokenizer, the size of its frames, and how features are merged.

        Args:
            source: A folder or a hub id.
            options: `revision`, `local_files_only`; code of the checkpoint is never run.

        Raises:
            ValueError: The checkpoint merges no features.
        """
        options.pop("trust_remote_code", None)
        config = ChatUniviConfig.from_pretrained(source, **options)
        config.features(1)  # refuses one that merges none
        side = config.vision_config.image_size  # type: ignore[union-attr]
        frames = CroppedFrames.of_side(side)
        tokenizer = config.make_tokenizer(source, **options)
        shown = "<im_start><image><im_end>" if config.mm_use_im_start_end else IMAGE
        template = CHAT_TEMPLATE.replace("video if", f"'{shown}\\n' if")
        made = cls(frames, tokenizer, template)
        made.config = config
        return made

    def replace_video_token(self, video_inputs: dict[str, Any], video_idx: int, **_: Any) -> str:
        """Returns the placeholders of one video: as many as it is merged to."""
        frames = len(video_inputs["pixel_values_videos"][video_idx])
        return self.video_token * self.config.features(frames)
