"""How PandaGPT's frames and words are prepared."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import torch
from torch import Tensor
from torch.nn import functional
from transformers import LlamaTokenizer

from vbench.models.blip2.processor import marked
from vbench.models.pandagpt.config import PandaGptConfig
from vbench.models.vlm.spliced_processor import ClipFrames, SplicedProcessor, spaced_by_segment

VIDEO_TOKEN = "<video>"  # noqa: S105 - no secret

CHAT_TEMPLATE = """\
{%- if messages[0].role == 'system' -%}
{%- set said = messages[1:] -%}{{ messages[0].content[0].text ~ '\\n' }}
{%- else -%}
{%- set said = messages -%}
{%- endif -%}
{{- '### ' -}}
{%- for message in said -%}
{{- 'Assistant: ' if message.role == 'assistant' else 'Human: ' -}}
{%- for part in message.content -%}
{{- '<Img><video></Img> ' if part.type == 'video' else part.text -}}
{%- endfor -%}
{{- '\\n###' ~ ('' if loop.last else ' ') -}}
{%- endfor -%}
{{- ' Assistant:' if add_generation_prompt -}}
"""
"""The conversations of the demo (code/web_demo.py), which has no system prompt."""

_CLIPS, _CLIP_S = 5, 2.0
"""How many clips of how many seconds ImageBind reads (data.py, load_and_transform_video_data)."""
_NEAR = 1e-3
"""Of a frame: closer than this is the same place."""


class PandaGptFrames(ClipFrames):
    """Makes the shorter edge ImageBind's, by torch's bilinear rule, and normalises as CLIP.

    The model cuts three squares out of what is left.
    """

    size: ClassVar[dict[str, int]] = {"shortest_edge": 224}
    default_to_square = False
    return_metadata = True

    def preprocess(self, videos: Any, **options: Any) -> Any:
        """Prepares frames; `clip_frames`, (videos, clips, 2), says which of them make a clip."""
        made = super().preprocess(videos, **options)
        found = [
            clips([float(place) for place in told.frames_indices], told.total_num_frames, told.fps)
            for told in made["video_metadata"]
        ]
        made["clip_frames"] = torch.tensor(found)
        return made

    def resize(self, image: Tensor, size: Any, *_: Any, **__: Any) -> Tensor:
        """Takes and returns (videos, frames, 3, height, width); the longer edge is rounded down.

        Source: pytorchvideo's short_side_scale, without smoothing where frames become smaller.
        """
        height, width = image.shape[-2:]
        side, shorter = size.shortest_edge, min(height, width)
        shape = (height * side // shorter, width * side // shorter)
        frames = image.flatten(0, 1).float()
        made = functional.interpolate(frames, size=shape, mode="bilinear", align_corners=False)
        return made.reshape(*image.shape[:-2], *shape)


class PandaGptProcessor(SplicedProcessor):
    """Puts a video's placeholder into a prompt, its frames and what they are parts of beside it."""

    video_token = VIDEO_TOKEN
    stop_texts: ClassVar[tuple[str, ...]] = ("##",)
    """The original stops at token 2277, which begins the `###` of the next turn."""

    @classmethod
    def from_pretrained(cls, source: str, **options: Any) -> PandaGptProcessor:
        """Reads a checkpoint's tokenizer, and the size of its frames.

        Args:
            source: A folder.
            options: `revision`, `local_files_only`; code of the checkpoint is never run.

        Raises:
            ValueError: The tokenizer does not belong to the model.
        """
        options.pop("trust_remote_code", None)
        config = PandaGptConfig.from_pretrained(source, **options)
        frames = PandaGptFrames(size={"shortest_edge": config.vision_config.image_size})
        tokenizer = LlamaTokenizer.from_pretrained(source, add_bos_token=True, **options)
        words = marked(tokenizer, VIDEO_TOKEN, config.video_token_id)
        return cls(frames, spaced_by_segment(words), CHAT_TEMPLATE)


def clips(places: Sequence[float], total: float, fps: float) -> list[tuple[int, int]]:
    """Finds which frames are the first and the last of a clip.

    Where they are not those of ImageBind's five clips, which may overlap, each two that follow one
    another are a clip, the last one twice if their number is odd.

    Args:
        places: When frames were taken, in frames from the start, ascending.
        total: How many there are.
        fps: How many in a second.

    Returns:
        By clip its two frames, counted among those shown.

    >>> clips([0, 10, 20], 72, 24.0)
    [(0, 1), (2, 2)]
    >>> clips([0, 6, 12, 18, 24, 47, 53, 59, 65, 71], 72, 24.0)
    [(0, 5), (1, 6), (2, 7), (3, 8), (4, 9)]
    """
    step = max(total - _CLIP_S * fps, 0.0) / (_CLIPS - 1)
    starts = [step * number for number in range(_CLIPS)]
    found = [_ends(places, start, min(start + _CLIP_S * fps, total)) for start in starts]
    whole = [ends for ends in found if ends is not None]
    if len(whole) == _CLIPS and {i for ends in whole for i in ends} == set(range(len(places))):
        return whole
    last = len(places) - 1
    return [(i, min(i + 1, last)) for i in range(0, len(places), 2)]


def _ends(places: Sequence[float], start: float, stop: float) -> tuple[int, int] | None:
    """Returns the frames next to both ends of a clip, if they were shown."""
    inside = [i for i, at in enumerate(places) if start - _NEAR < at < stop - _NEAR]
    if inside and places[inside[0]] < start + 1 - _NEAR and places[inside[-1]] > stop - 1 - _NEAR:
        return inside[0], inside[-1]
    return None
