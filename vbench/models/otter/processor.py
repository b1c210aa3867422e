"""How Otter's frames and words are prepared."""

from __future__ import annotations

from typing import Any

from transformers import LlamaTokenizer

from vbench.checkpoints import Checkpoint, find_checkpoint
from vbench.errors import ModelError
from vbench.models.otter.config import MARKS, OtterConfig
from vbench.models.vlm.spliced_processor import CroppedFrames, SplicedProcessor, spaced_by_segment

END, VIDEO_TOKEN, _, PAD = MARKS

CHAT_TEMPLATE = """\
{%- if messages[0].role == 'system' -%}
{%- set said = messages[1:] -%}{{ messages[0].content[0].text ~ ' ' }}
{%- else -%}
{%- set said = messages -%}
{%- endif -%}
{%- for message in said -%}
{%- if message.role == 'assistant' -%}
{{- ' GPT:<answer> ' ~ message.content[0].text ~ '<|endofchunk|>' -}}
{%- else -%}
{{- '<image>' if message.content | selectattr('type', 'equalto', 'video') | list -}}
{{- 'User: ' -}}
{%- for part in message.content if part.type != 'video' -%}{{- part.text -}}{%- endfor -%}
{%- endif -%}
{%- endfor -%}
{{- ' GPT:<answer>' if add_generation_prompt -}}
"""
"""The conversation of the original's demo for videos, wherever in a message the video stands."""


def find_words(name: str) -> Checkpoint:
    """Finds the LLaMA whose tokenizer a checkpoint without one takes.

    Args:
        name: What its config.json calls it.

    Raises:
        ModelError: It is not there.
    """
    try:
        return find_checkpoint(name)
    except ModelError as error:
        raise ModelError(
            "the checkpoint has no tokenizer, and the one that its config.json names is not there",
            where=f"text_config._name_or_path={name}",
            why=error.what,
            mend="put LLaMA's tokenizer.model and tokenizer_config.json into a copy of the "
            "checkpoint's folder",
        ) from error


class OtterProcessor(SplicedProcessor):
    """Puts the mark of a video into a prompt, and its frames beside it."""

    video_token = VIDEO_TOKEN

    @classmethod
    def from_pretrained(cls, source: str, **options: Any) -> OtterProcessor:
        """Reads a checkpoint's tokenizer, or the one that its config.json names.

        Args:
            source: A folder or a hub id.
            options: `revision`, `local_files_only`; code of the checkpoint is never run.

        Raises:
            ValueError: The tokenizer does not belong to the model.
        """
        options.pop("trust_remote_code", None)
        config: Any = OtterConfig.from_pretrained(source, **options)
        if config.words is not None:
            words = find_words(config.words)
            source, options = words.source, words.load_options()
        frames = CroppedFrames.of_side(config.vision_config.image_size)
        tokenizer = LlamaTokenizer.from_pretrained(source, add_bos_token=True, **options)
        tokenizer.add_special_tokens({"additional_special_tokens": list(MARKS[:-1])})
        tokenizer.add_special_tokens({"pad_token": PAD, "eos_token": END})
        found = tokenizer.convert_tokens_to_ids(VIDEO_TOKEN)
        if found != config.video_token_id:
            raise ValueError(
                f"{VIDEO_TOKEN} is {found} in the tokenizer, {config.video_token_id} in the model"
            )
        return cls(frames, spaced_by_segment(tokenizer), CHAT_TEMPLATE)
