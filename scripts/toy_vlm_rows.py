"""Rows of tokens in which one video is shared by many questions (docs/toy_vlm.md)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from toy_vlm_statements import NONE, Text
from toy_vlm_words import (
    END,
    IMAGE_SIZE,
    MERGE_SIZE,
    PATCH_SIZE,
    START,
    VIDEO,
    VISION_END,
    VISION_START,
    words_of,
)

from vbench.datasets.toy.world import CLIP_S

GRID = IMAGE_SIZE // PATCH_SIZE
PATCHES = GRID**2
MERGED = PATCHES // MERGE_SIZE**2

MOMENTS = tuple(second + part for second in range(round(CLIP_S)) for part in (0.25, 0.75))
"""A quarter and three quarters into each second, as sampler=velociti20 has them."""
PAIRS = len(MOMENTS) // 2

BEFORE = f"{START}system You are a helpful assistant.{END}{START}user{VISION_START}"
ROW_TOKENS = 240
"""Attention costs the square of a row; each row repeats the video."""


@dataclass
class Rows:
    """Rows of tokens: a clip's video, then a tree of questions; one or more rows for each clip."""

    video: slice
    """Which of the tokens are the video's."""
    clips: Tensor
    """(rows,), whose video it is."""
    ids: Tensor
    """(rows, tokens)"""
    positions: Tensor
    """(3, rows, tokens)"""
    allowed: Tensor
    """(rows, tokens, tokens)"""
    targets: Tensor
    """(rows, tokens)"""
    truth_at: Tensor
    """(2, n), rows and places."""
    truths: Tensor
    """(n, 11), as in `Text`"""


class Row:
    """Lays one clip's questions out behind its video.

    A question sees the video, its own beginning and itself, at the positions it would have alone:
    the arithmetic is that of one question at a time, with the video paid once.
    """

    def __init__(self, pairs: int) -> None:
        self.pairs = pairs
        self.ids: list[int] = []
        self.places: list[tuple[int, int, int]] = []
        self.targets: list[int] = []
        self.owners: list[int] = []
        self.truths: list[tuple[int, tuple[int, ...]]] = []
        self.parents: list[set[int]] = []
        self.next: list[int] = []
        start = len(words_of(BEFORE))
        opening = Text().add(BEFORE + VIDEO * (pairs * MERGED) + VISION_END)
        places = [(k, k, k) for k in range(start)]
        places += [
            (start + t, start + y, start + x) for t in range(pairs) for y in (0, 1) for x in (0, 1)
        ]
        places += [(start + 2,) * 3]
        self._append(opening, set(), places)

    def add(self, text: Text, parent: int = 0) -> int:
        """Appends a text after the end of another; returns its number."""
        first = self.next[parent]
        places = [(k, k, k) for k in range(first, first + len(text.ids))]
        return self._append(text, self.parents[parent] | {parent}, places)

    def _append(self, text: Text, above: set[int], places: Sequence[tuple[int, int, int]]) -> int:
        number = len(self.parents)
        self.truths += [(len(self.ids) + at, truth) for at, truth in text.truths]
        self.ids += text.ids
        self.targets += text.targets
        self.places += places
        self.owners += [number] * len(text.ids)
        self.parents.append(above)
        self.next.append(places[-1][0] + 1 if places else self.next[max(above)])
        return number

    def allowed(self, size: int) -> np.ndarray:
        """Returns who may look at whom (size, size); padding sees itself."""
        n = len(self.ids)
        above = np.eye(len(self.parents), dtype=bool)
        for k, parents in enumerate(self.parents):
            above[k, list(parents)] = True
        table = np.eye(size, dtype=bool)
        owners = np.array(self.owners)
        table[:n, :n] = above[owners[:, None], owners[None]] & np.tri(n, dtype=bool)
        return table


def lay_out(exams: Sequence[Sequence[tuple[str, list[Text]]]], pairs: int = PAIRS) -> Rows:
    """Turns each clip's questions into rows of about the same length, `ROW_TOKENS` or fewer.

    Args:
        exams: Of each clip.
        pairs: How many pairs of frames its video has.
    """
    rows, clips = [], []
    for clip, groups in enumerate(exams):
        video = Row(pairs)
        total = sum(len(words_of(h)) + sum(len(t.ids) for t in texts) for h, texts in groups)
        count = math.ceil(total / (ROW_TOKENS - len(video.ids)))
        share = len(video.ids) + total / count
        row = video
        rows.append(row)
        for head, texts in groups:
            parent = None
            for text in texts:
                if len(row.ids) + len(text.ids) / 2 > share:
                    row, parent = Row(pairs), None
                    rows.append(row)
                if parent is None:
                    parent = row.add(Text().add(head)) if head else 0
                row.add(text, parent)
        clips += [clip] * (len(rows) - len(clips))
    size = max(len(row.ids) for row in rows)
    pad = [size - len(row.ids) for row in rows]
    places = np.array([r.places + [(0, 0, 0)] * p for r, p in zip(rows, pad, strict=True)])
    truths = [(k, at, truth) for k, row in enumerate(rows) for at, truth in row.truths]
    start = len(words_of(BEFORE))
    return Rows(
        video=slice(start, start + pairs * MERGED),
        clips=torch.tensor(clips),
        ids=torch.tensor([r.ids + [0] * p for r, p in zip(rows, pad, strict=True)]),
        positions=torch.from_numpy(places).permute(2, 0, 1),
        allowed=torch.from_numpy(np.stack([row.allowed(size) for row in rows])),
        targets=torch.tensor([r.targets + [NONE] * p for r, p in zip(rows, pad, strict=True)]),
        truth_at=torch.tensor([[k for k, _, _ in truths], [at for _, at, _ in truths]]),
        truths=torch.tensor([truth for _, _, truth in truths], dtype=torch.float32),
    )
