"""What decode workers do for a language model: a clip's frames in, its view's inputs out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch

from vbench.loop.sources import Source
from vbench.protocols import ClipPreprocess, ClipTiming

if TYPE_CHECKING:
    from vbench.loop.data import PreparedClip


ReadAudio = Callable[[str, float, float | None], np.ndarray]
"""Path, start and end in seconds → (n,) float32, mono, 16 kHz; empty where there is no sound."""


class RawFrames:
    """Keeps frames as they are decoded: what becomes of them depends on the whole clip."""

    def __call__(self, frames: Sequence[np.ndarray]) -> torch.Tensor:
        """Stacks frames into (n, h, w, 3), uint8.

        Raises:
            ValueError: They are not all of one size.
        """
        return torch.from_numpy(np.stack(frames))

    def digest(self) -> str:
        """Returns a constant: nothing is done to the pixels."""
        return "raw"


def time_clip(source: Source, clip: PreparedClip) -> None:
    """Notes when a clip's frames were taken, as its model's processor wants to know.

    Args:
        source: The opened file.
        clip: Its frames are chosen.
    """
    times, end_s = source.timeline.timestamps_s, source.timeline.end_s
    last_s = end_s if clip.clip.end_s is None else min(clip.clip.end_s, end_s)
    clip.timing = ClipTiming(
        frame_indices=clip.frame_indices,
        timestamps_s=tuple(time - clip.clip.start_s for time in clip.timestamps_s),
        source_fps=len(times) / end_s if end_s > 0 else None,
        total_frames=len(times),
        duration_s=last_s - clip.clip.start_s,
    )


def make_views(
    clips: Iterable[PreparedClip], pixels: torch.Tensor | None, preprocess: ClipPreprocess
) -> None:
    """Turns each clip's frames into the inputs of its view; what fails is told of the clip.

    Args:
        clips: Whose frames are among the pixels.
        pixels: (n, h, w, 3), uint8; None if there are none.
        preprocess: The model's own.
    """
    for clip in clips:
        if pixels is None or clip.timing is None:
            continue
        frames = [pixels[row].numpy() for row in clip.rows]
        try:
            clip.inputs = preprocess.view(frames, clip.timing)
        except Exception as error:
            clip.status = "model_error"
            clip.reason = " ".join(f"{type(error).__name__}: {error}".split())


def hear(clips: Iterable[PreparedClip], read_audio: ReadAudio) -> None:
    """Adds each clip's sound to the inputs of its view, as `audio`; what fails is told of the clip.

    Args:
        clips: Their views are made.
        read_audio: Decodes the sound of a span.
    """
    for clip in clips:
        try:
            sound = read_audio(clip.clip.path, clip.clip.start_s, clip.clip.end_s)
        except Exception as error:
            clip.status = "decode_error"
            clip.reason = " ".join(f"sound: {error}".split())
            continue
        clip.inputs = {**(clip.inputs or {}), "audio": sound}
        clip.audio = "heard" if len(sound) else ""
