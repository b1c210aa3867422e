"""How PLLaVA's frames and words are prepared."""

from __future__ import annotations

from typing import Any, ClassVar

from tokenizers import normalizers
from transformers import LlamaTokenizer, ProcessorMixin
from transformers.image_utils import OPENAI_CLIP_MEAN, OPENAI_CLIP_STD, PILImageResampling
from transformers.video_processing_utils import BaseVideoProcessor

from vbench.models.pllava.config import FEATURES, PllavaConfig

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


class PllavaVideoProcessor(BaseVideoProcessor):
    """Makes the shorter edge of frames CLIP's, crops the middle and normalises it as CLIP.

    What is left of PLLaVA's way for a video of usual proportions: its evaluations resize frames by
    torchvision's rule (bilinear) before its processor sees them, whose own resizing then changes
    nothing.
    """

    model_input_names: ClassVar[list[str]] = ["pixel_values_videos"]
    resample = PILImageResampling.BILINEAR
    image_mean = OPENAI_CLIP_MEAN
    image_std = OPENAI_CLIP_STD
    size: ClassVar[dict[str, int]] = {"shortest_edge": 336}
    crop_size: ClassVar[dict[str, int]] = {"height": 336, "width": 336}
    default_to_square = False
    do_resize = True
    do_center_crop = True
    do_rescale = True
    do_normalize = True
    do_convert_rgb = True
    do_sample_frames = False


class PllavaProcessor(ProcessorMixin):
    """Puts a video's placeholders into a prompt, and its frames beside it.

    Args:
        video_processor: A `PllavaVideoProcessor`.
        tokenizer: LLaMA's, with LLaVA's mark for an image.
        chat_template: How messages are written.
    """

    video_token = VIDEO_TOKEN

    def __init__(
        self, video_processor: Any, tokenizer: Any, chat_template: str | None = CHAT_TEMPLATE
    ) -> None:
        self.video_token_id = tokenizer.convert_tokens_to_ids(VIDEO_TOKEN)
        super().__init__(video_processor, tokenizer, chat_template=chat_template)

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
        side = config.vision_config.image_size
        frames = PllavaVideoProcessor(
            size={"shortest_edge": side}, crop_size={"height": side, "width": side}
        )
        tokenizer = LlamaTokenizer.from_pretrained(source, add_bos_token=True, **options)
        found = tokenizer.convert_tokens_to_ids(VIDEO_TOKEN)
        if found != config.video_token_id:
            raise ValueError(
                f"{VIDEO_TOKEN} is {found} in the tokenizer, {config.video_token_id} in the model"
            )
        return cls(frames, _of_2024(tokenizer))

    def replace_video_token(self, video_inputs: dict[str, Any], video_idx: int, **_: Any) -> str:
        """Returns the placeholders of one video: as many for any number of frames."""
        return self.video_token * FEATURES


def _of_2024(tokenizer: Any) -> Any:
    """Puts a space before what follows an image, even before a space, as transformers 4.37 did.

    Later versions leave it out there: the prompts of VELOCITI would lose a token.
    """
    backend = tokenizer.backend_tokenizer
    backend.normalizer = normalizers.Sequence(
        [normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]
    )
    backend.pre_tokenizer = None
    return tokenizer
