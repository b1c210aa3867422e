"""How a model that sees the frames of a clip together is asked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

import torch

from vbench.loop.ask import clip_row, text_rows, together_or_alone, undecoded_rows
from vbench.loop.data import Prepared, PreparedClip, PreparedFile
from vbench.protocols import ClipEncoder
from vbench.records import Prediction, Status

Shown = tuple[PreparedFile, PreparedClip]
"""A clip with frames, and the file that holds them."""


class AskClipEncoder:
    """Embeds each clip from all its frames at once, and each text.

    Args:
        model: The encoder.
        frames_per_batch: Frames per forward pass, in whole clips; a longer clip goes alone.
    """

    def __init__(self, model: ClipEncoder, frames_per_batch: int) -> None:
        self.model = model
        self.frames_per_batch = frames_per_batch

    def __call__(
        self, batch: Sequence[Prepared], device: torch.device, dtype: torch.dtype
    ) -> list[Prediction]:
        """Returns one row per text and per clip."""
        files = [work for work in batch if isinstance(work, PreparedFile)]
        shown = [(file, clip) for file in files for clip in file.clips if clip.status == "ok"]
        rows = text_rows(self.model, batch) + undecoded_rows(files)
        for chunk in self._chunks(shown):
            rows += together_or_alone(lambda c: self._embed(c, device, dtype), chunk, _failed)
        return rows

    def _chunks(self, shown: Sequence[Shown]) -> Iterator[list[Shown]]:
        """Yields clips with equally many frames, as many as a forward pass takes."""
        by_length = sorted(shown, key=_frames_of)
        for length, group in groupby(by_length, key=_frames_of):
            clips, size = list(group), max(1, self.frames_per_batch // max(1, length))
            yield from (clips[i : i + size] for i in range(0, len(clips), size))

    def _embed(
        self, shown: Sequence[Shown], device: torch.device, dtype: torch.dtype
    ) -> list[Prediction]:
        pixels = torch.stack([_pixels(file, clip, device) for file, clip in shown])
        vectors = self.model.embed_clips(pixels.to(dtype)).float().cpu().numpy()
        return [
            clip_row(clip, "ok", embedding=vector)
            for (_, clip), vector in zip(shown, vectors, strict=True)
        ]


def _frames_of(shown: Shown) -> int:
    return len(shown[1].rows)


def _pixels(file: PreparedFile, clip: PreparedClip, device: torch.device) -> torch.Tensor:
    """Returns a clip's frames (n, 3, h, w) in its own order."""
    if file.pixels is None or not clip.rows:
        raise ValueError("the clip has no frames")
    frames = file.pixels[list(clip.rows)].to(device)
    return file.finish(frames) if file.finish else frames


def _failed(item: Shown, status: Status, reason: str) -> list[Prediction]:
    return [clip_row(item[1], status, reason=reason)]
