"""What a checkpoint's own processor makes of a clip's frames, in decode workers."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
import torch

from vbench.checkpoints import Checkpoint
from vbench.errors import ModelError
from vbench.models.vlm.processors import load_processor, video_token
from vbench.protocols import ClipTiming

Blind = Literal["none", "black"]
"""What a blind model is shown. `none`: no video at all. `black`: as many frames, all black."""

_TEXT = frozenset(
    {"input_ids", "attention_mask", "token_type_ids", "mm_token_type_ids"}
    | {"text_replacement_offsets", "video_metadata"}
)
"""What the processor makes of the placeholder alone: it is made again with the prompt around it."""


class ClipInputs:
    """Calls the checkpoint's processor on frames that are already chosen.

    Args:
        checkpoint: Where it is.
        visual: Settings of its video processor that replace the checkpoint's.
        blind: `black` shows frames without content.
        remote_code: Whether code in the checkpoint may run.

    Raises:
        ConfigError: The video processor has no such setting.
        ModelError: The processor cannot be loaded, or takes no video.
    """

    def __init__(
        self,
        checkpoint: Checkpoint,
        visual: Mapping[str, Any],
        blind: Blind | None = None,
        *,
        remote_code: bool = False,
    ) -> None:
        self._from = (checkpoint, dict(visual), remote_code)
        self._blind = blind
        self._processor: Any = load_processor(checkpoint, visual, remote_code=remote_code)

    def __getstate__(self) -> dict[str, Any]:
        # Workers load the files themselves: not every tokenizer can be copied.
        return {**self.__dict__, "_processor": None}

    @property
    def processor(self) -> Any:
        """The checkpoint's processor."""
        if self._processor is None:
            checkpoint, visual, remote_code = self._from
            self._processor = load_processor(checkpoint, visual, remote_code=remote_code)
        return self._processor

    def view(self, frames: Sequence[np.ndarray], timing: ClipTiming) -> Mapping[str, Any]:
        """Turns a clip's frames (each uint8, h w 3, RGB, all of one size) into a view's inputs.

        Returns:
            `tensors`: the arguments of the forward pass that carry the video. `expansion`: what
            the placeholder for the video becomes in the prompt. `frame_shape`: frames, height and
            width as delivered, temporal padding included.

        Raises:
            ModelError: The processor left frames out, or added some.
        """
        video = torch.from_numpy(np.stack(frames)).permute(0, 3, 1, 2).contiguous()
        if self._blind == "black":
            video = torch.zeros_like(video)
        processor = self.processor
        made = processor(
            text=[video_token(processor)],
            videos=[video],
            videos_kwargs={"do_sample_frames": False, "video_metadata": [_metadata(timing)]},
            return_text_replacement_offsets=True,
            return_tensors="pt",
        )
        tensors = {name: value for name, value in made.items() if name not in _TEXT}
        shape, padding = _delivered(tensors, processor.video_processor)
        if not len(frames) <= shape[0] <= len(frames) + padding:
            raise ModelError(
                f"the processor made {shape[0]} frames of {len(frames)}",
                where=type(processor.video_processor).__name__,
                why="it sampled or padded by itself",
                mend="report it: frames are the sampler's to choose",
            )
        expansion = made["text_replacement_offsets"][0][0]["replacement"]
        return {"tensors": tensors, "expansion": expansion, "frame_shape": shape}

    def digest(self) -> str:
        """Returns a short text that changes whenever the inputs would."""
        processor = self.processor
        settings = {
            "processor": type(processor).__name__,
            "video": processor.video_processor.to_dict(),
            "blind": self._blind,
        }
        text = json.dumps(settings, sort_keys=True, default=str)
        return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def _metadata(timing: ClipTiming) -> dict[str, Any]:
    """Tells a processor when the frames were taken, counted from the start of the clip.

    Processors write `index / fps` as a time and take the mean rate of what was sampled from the
    total: both come out right, at a varying frame rate too, if an index is the time in units of the
    mean rate. Frames in another order get the times of their places: their own would tell a model
    in words what the order was.
    """
    fps = timing.source_fps or 1.0
    places = [time * fps for time in sorted(timing.timestamps_s)]
    whole = [round(place) for place in places]
    duration_s = timing.total_frames / fps if timing.duration_s is None else timing.duration_s
    exact = all(abs(place - index) < 1e-3 for place, index in zip(places, whole, strict=True))
    return {
        "fps": fps,
        "frames_indices": whole if exact else places,
        "total_num_frames": max(1, round(duration_s * fps)),
        "duration": duration_s,
    }


def _delivered(tensors: Mapping[str, Any], processor: Any) -> tuple[tuple[int, int, int], int]:
    """Counts frames, height and width in what the processor made.

    Returns:
        The shape, and how many frames of padding it may hold at most.
    """
    if "video_grid_thw" in tensors:  # flat patches, as in Qwen and VideoLLaMA 3
        grid = tensors["video_grid_thw"]
        depth = int(processor.temporal_patch_size)
        side = int(processor.patch_size)
        height, width = (int(count) * side for count in grid[0, 1:])
        return (int(grid[:, 0].sum()) * depth, height, width), depth - 1
    pixels = next(value for name, value in tensors.items() if name.startswith("pixel_values"))
    *batch, _, height, width = pixels.shape
    return (int(np.prod(batch)), int(height), int(width)), 0
