"""How PLLaVA's frames and words are prepared."""

from __future__ import annotations

from typing import Any

from transformers import LlamaTokenizer
from transformers.image_utils import PILImageResampling

from vbench.models.pllava.config import FEATURES, PllavaConfig
from vbench.models.vlm.spliced_processor import CroppedFrames, SplicedProcessor, spaced_by_segment

VIDEO_TOKEN = "<image>"  # noqa: S105 - no secret

CHAT_TEMPLATE = """\
{%- for message in messages -%}
{{- 'USER: ' if message.role == 'user' else 'ASSISTANT:' if message.role == 'assistant' -}}
{%- for part in message.content -%}
{{- '<image>\\n' if part.type == 'video' else part.text -}}
{%- endfor -%}
{{- '</s>' if message.role == 'assistant' else ' ' -}}
{%- endfor -%}
{{- 'ASSISTANT:' if add_generation_prompt -}}
"""
"""The conversations of PLLaVA's own evaluations (tasks/eval/eval_utils.py), which differ in what
system and questions say."""


class PllavaVideoProcessor(CroppedFrames):
    """Makes the shorter edge of frames CLIP's, crops the middle and normalises it as CLIP.

    What is left of PLLaVA's way for a video of usual proportions: its evaluations resize frames by
    torchvision's rule (bilinear) before its processor sees them, whose own resizing then changes
    nothing.
    """

    resample = PILImageResampling.BILINEAR


class PllavaProcessor(SplicedProcessor):
    """Puts a video's placeholders into a prompt, and its frames beside it."""

    video_token = VIDEO_TOKEN

    @classmethod
    def from_pretrained(cls, source: str, **options: Any) -> PllavaProcessor:
        """Reads a checkpoint's tokenizer, and the size of its frames.

        The file of pixels may be left over from LLaVA-NeXT, which cuts pictures into tiles: PLLaVA
        reads CLIP's mean and deviation from it, which are constants.

        Args:
            source: A folder or a hub id.
            options: `revision`, `local_files_only`; code of the checkpoint is never run.

        Raises:
            ValueError: The tokenizer does not belong to the model.
        """
        options.pop("trust_remote_code", None)
        config = PllavaConfig.from_pretrained(source, **options)
        frames = PllavaVideoProcessor.of_side(config.vision_config.image_size)
        tokenizer = LlamaTokenizer.from_pretrained(source, add_bos_token=True, **options)
        found = tokenizer.convert_tokens_to_ids(VIDEO_TOKEN)
        if found != config.video_token_id:
            raise ValueError(
                f"{VIDEO_TOKEN} is {found} in the tokenizer, {config.video_token_id} in the model"
            )
        return cls(frames, spaced_by_segment(tokenizer), CHAT_TEMPLATE, FEATURES)
