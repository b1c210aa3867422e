"""How mPLUG-Owl's frames and words are prepared."""

from __future__ import annotations

from typing import Any

from tokenizers import Regex, pre_tokenizers
from transformers import LlamaTokenizer
from transformers.video_processing_utils import BaseVideoProcessor

from vbench.models.mplug_owl.config import MplugOwlConfig
from vbench.models.vlm.spliced_processor import SplicedProcessor, SquashedFrames

VIDEO_TOKEN = "<|video|>"  # noqa: S105 - no secret

_TURNS = "AI: |\nHuman: "
"""Where training cut a conversation before it made tokens of each piece."""

CHAT_TEMPLATE = """\
{%- if messages[0].role == 'system' -%}
{%- set said = messages[1:] -%}{{ messages[0].content[0].text }}
{%- else -%}
{%- set said = messages -%}{{ "The following is a conversation between a curious human \
and AI assistant. The assistant gives helpful, detailed, and polite answers to the user's \
questions." }}
{%- endif -%}
{%- for message in said -%}
{%- for part in message.content -%}
{{- '\\nAI: ' if message.role == 'assistant' else '\\nHuman: ' -}}
{{- '<|video|>' if part.type == 'video' else part.text -}}
{%- endfor -%}
{%- endfor -%}
{{- '\\nAI: ' if add_generation_prompt -}}
"""
"""The README's conversation: a video is a turn of the human's own."""


class MplugOwlProcessor(SplicedProcessor):
    """Puts a video's placeholders into a prompt, and its frames beside it."""

    video_token = VIDEO_TOKEN

    @classmethod
    def from_pretrained(cls, source: str, **options: Any) -> MplugOwlProcessor:
        """Reads a checkpoint's tokenizer, its sizes, and mean and deviation of its pixels.

        Args:
            source: A folder or a hub id.
            options: `revision`, `local_files_only`; code of the checkpoint is never run.

        Raises:
            ValueError: The tokenizer does not belong to the model.
        """
        options.pop("trust_remote_code", None)
        config = MplugOwlConfig.from_pretrained(source, **options)
        settings, _ = BaseVideoProcessor.get_video_processor_dict(source, **options)
        kept = ("image_mean", "image_std", "rescale_factor", "resample")
        kept_settings = {name: settings[name] for name in kept if name in settings}
        frames = SquashedFrames.of_side(config.vision_config.image_size, **kept_settings)
        tokenizer = LlamaTokenizer.from_pretrained(source, add_bos_token=True, **options)
        size = len(tokenizer)
        if size != config.video_token_id:
            raise ValueError(f"{size} words in the tokenizer, {config.video_token_id} in the model")
        template = CHAT_TEMPLATE.replace(VIDEO_TOKEN, cls.video_token)
        words = piecewise(tokenizer, cls.video_token)
        return cls(frames, words, template, config.num_query_tokens + 1)


class MplugOwlImageProcessor(MplugOwlProcessor):
    """Shows every frame as a picture, each a turn of the human's own.

    So does the README show several pictures, and the original's server the frames of a video
    (serve/serve_utils.py: 4 of them).
    """

    video_token = "<image>"  # noqa: S105 - no secret

    def replace_video_token(self, video_inputs: dict[str, Any], video_idx: int, **_: Any) -> str:
        """Returns the placeholders of as many pictures as there are frames."""
        frames = len(video_inputs["pixel_values_videos"][video_idx])
        return "\nHuman: ".join([self.video_token * self.features] * frames)


def piecewise(tokenizer: Any, mark: str = VIDEO_TOKEN) -> Any:
    """Makes a LLaMA tokenizer begin anew at a video and at each turn, as in training.

    SentencePiece puts a space before a text, and the original makes tokens of each piece by itself
    (X-PLUG/mPLUG-Owl, pipeline/data_utils/xgpt3_dataset.py; the same file of VideoCon's, which
    scored the rows of VELOCITI). Its README's inference cuts at the video only.
    """
    tokenizer.add_special_tokens({"additional_special_tokens": [mark]})
    backend = tokenizer.backend_tokenizer
    backend.normalizer = None
    backend.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(_TURNS), behavior="isolated"),
            pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="always", split=False),
        ]
    )
    return tokenizer
