from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
import torch

from vbench.loop.ask import AskFrameEncoder, AskPairScorer, in_chunks
from vbench.loop.data import PreparedClip, PreparedFile
from vbench.loop.plan import TextWork
from vbench.records import Clip


class Encoder:
    """Embeds a frame as (its mean, 1); refuses frames or texts it is told to."""

    def __init__(self, most_frames: int = 10**9, poison: float | None = None) -> None:
        self.most_frames = most_frames
        self.poison = poison
        self.batches: list[int] = []

    def embed_frames(self, pixels: torch.Tensor) -> torch.Tensor:
        if len(pixels) > self.most_frames:
            raise torch.OutOfMemoryError("too many frames")
        means = pixels.mean(dim=(1, 2, 3))
        if self.poison is not None and (means == self.poison).any():
            raise RuntimeError("poisoned\nframe")
        self.batches.append(len(pixels))
        return torch.stack([means, torch.ones_like(means)], dim=1)

    def pool(self, frames: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.normalize(frames.mean(0), dim=0)

    def embed_texts(self, texts: Sequence[str]) -> tuple[torch.Tensor, list[bool]]:
        if "" in texts:
            raise ValueError("empty text")
        lengths = torch.tensor([[float(len(text)), 1.0] for text in texts])
        return torch.nn.functional.normalize(lengths, dim=1), [len(t) > 5 for t in texts]


def a_file(name: str, *values: float) -> PreparedFile:
    pixels = torch.tensor(values).reshape(-1, 1, 1, 1).expand(-1, 3, 2, 2)
    whole = PreparedClip(f"{name}/all", Clip(name, name), rows=tuple(range(len(values))))
    first = PreparedClip(f"{name}/first", Clip(name, name, 0, 1), rows=(0,))
    return PreparedFile(name, [whole, first], pixels)


def ask(model: Encoder, *work: object, frames_per_batch: int = 32) -> dict:
    asker = AskFrameEncoder(model, frames_per_batch)  # type: ignore[arg-type]
    rows = asker(list(work), torch.device("cpu"), torch.float32)  # type: ignore[arg-type]
    assert len({row.key for row in rows}) == len(rows)
    return {row.key: row for row in rows}


@pytest.mark.parametrize("frames_per_batch", [1, 2, 3, 100])
def test_frames_are_encoded_once_and_pooled_per_clip(frames_per_batch: int) -> None:
    model = Encoder()
    rows = ask(model, a_file("a", 1, 2, 3), a_file("b", 5), frames_per_batch=frames_per_batch)
    assert sum(model.batches) == 4
    expected = {"a/all": 2.0, "a/first": 1.0, "b/all": 5.0, "b/first": 5.0}
    for key, mean in expected.items():
        unit = np.array([mean, 1.0]) / np.hypot(mean, 1.0)
        np.testing.assert_allclose(rows[key].embedding, unit, rtol=1e-6)


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 100])
def test_chunks_hold_every_frame_once_and_are_full(size: int) -> None:
    files = [a_file("a", 1, 2, 3), a_file("b", 4), a_file("c", 5, 6, 7, 8)]
    files[1].finish = torch.neg
    chunks = [*in_chunks(files, size, torch.device("cpu"))]
    assert torch.cat(chunks)[:, 0, 0, 0].tolist() == [1, 2, 3, -4, 5, 6, 7, 8]
    assert {len(chunk) for chunk in chunks[:-1]} <= {size}


def test_texts_keep_their_flags() -> None:
    rows = ask(Encoder(), TextWork((("s", "short"), ("l", "much longer"))))
    assert [rows["s"].truncated, rows["l"].truncated] == [False, True]


def test_out_of_memory_halves_the_batch_and_loses_nothing() -> None:
    model = Encoder(most_frames=2)
    rows = ask(model, *[a_file(name, 1, 2) for name in "abcd"])
    assert {row.status for row in rows.values()} == {"ok"}
    assert len(rows) == 8


def test_a_file_too_big_alone_is_oom_and_the_rest_is_answered() -> None:
    rows = ask(Encoder(most_frames=2), a_file("a", 1), a_file("big", 1, 2, 3), a_file("c", 4))
    assert {key for key, row in rows.items() if row.status == "oom"} == {"big/all", "big/first"}
    assert sum(row.status == "ok" for row in rows.values()) == 4


def test_a_failing_file_is_named_and_the_rest_is_answered() -> None:
    rows = ask(Encoder(poison=7.0), a_file("a", 1), a_file("bad", 7), a_file("c", 4))
    assert rows["bad/all"].status == "model_error"
    assert rows["bad/all"].reason == "RuntimeError: poisoned frame"
    assert sum(row.status == "ok" for row in rows.values()) == 4


def test_a_failing_text_is_named_and_the_rest_is_answered() -> None:
    rows = ask(Encoder(), TextWork((("a", "x"), ("b", ""), ("c", "y"))))
    assert [rows[key].status for key in "abc"] == ["ok", "model_error", "ok"]


def test_undecoded_clips_become_rows() -> None:
    broken = PreparedFile(
        "v", [PreparedClip("k", Clip("v", "v"), status="decode_error", reason="no stream")], None
    )
    row = ask(Encoder(), broken)["k"]
    assert (row.status, row.reason, row.path) == ("decode_error", "no stream", "v")


class Lengths:
    def score(self, clip: Clip, texts: Sequence[str]) -> list[float]:
        if clip.video_id == "bad":
            raise LookupError("no facts")
        return [float(len(text)) for text in texts]


def test_pairs_are_scored_and_failures_recorded() -> None:
    good, bad = Clip("v", "v"), Clip("bad", "bad")
    work = [
        PreparedFile("v", [], None, (("a", good, "xy"), ("b", good, "xyz"))),
        PreparedFile("bad", [], None, (("c", bad, "x"),)),
    ]
    rows = AskPairScorer(Lengths())(work, torch.device("cpu"), torch.float32)  # type: ignore[arg-type]
    assert {row.key: row.score for row in rows} == {"a": 2.0, "b": 3.0, "c": None}
    assert {row.key: row.status for row in rows}["c"] == "model_error"
