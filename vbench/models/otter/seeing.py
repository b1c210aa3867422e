"""Which words of a conversation see the video, and a cache that remembers both."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from transformers import DynamicCache


class MediaCache(DynamicCache):
    """Keys and values, the video they were made with, and where its conversation has marks."""

    media: Tensor | None = None
    """(rows, latents, width)."""
    ids: Tensor | None = None
    """(rows, tokens), those that were read."""

    def crop(self, *args: Any, **options: Any) -> None:
        """Forgets the last tokens."""
        super().crop(*args, **options)
        if self.ids is not None:
            self.ids = self.ids[:, : self.get_seq_length()]

    def batch_repeat_interleave(self, repeats: int) -> None:
        """Repeats every row."""
        super().batch_repeat_interleave(repeats)
        if self.ids is not None:
            self.ids = self.ids.repeat_interleave(repeats, dim=0)
        if self.media is not None:
            self.media = self.media.repeat_interleave(repeats, dim=0)


def seeing(ids: Tensor, count: int, mask: Tensor | None, config: Any) -> Tensor:
    """Says which tokens see the video: those from `<image>` on, but not inside a reply.

    A reply is what follows `<answer>` up to `<|endofchunk|>`. The last `<answer>` itself still
    sees, so that a reply's first token is the original's in every case.

    Args:
        ids: (rows, tokens), with those that were read before.
        count: How many of them, at the end, are asked about.
        mask: Attention's; of four dimensions, (1, 1, count, tokens) and zero where a token sees
            another, it keeps endings apart that share a row; else every token follows all before.
        config: An `OtterConfig`.

    Returns:
        (rows, count), bool.
    """
    total = ids.shape[1]
    before = torch.ones(count, total, dtype=torch.bool, device=ids.device).tril(total - count)
    if mask is not None and mask.dim() == 4:
        before = mask[0, 0] == 0
    itself = torch.eye(count, dtype=torch.bool, device=ids.device)
    earlier = before.clone()
    earlier[:, total - count :] &= ~itself
    seen = _count(before, ids == config.video_token_id) > 0
    if config.reply_sees_video:
        return seen
    answers = _count(earlier, ids == config.answer_token_id)
    return seen & (answers <= _count(earlier, ids == config.end_token_id))


def _count(visible: Tensor, marks: Tensor) -> Tensor:
    """Takes (count, tokens) and (rows, tokens), returns (rows, count): how many marks each sees."""
    return marks.float() @ visible.float().T
