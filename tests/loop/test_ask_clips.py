"""A model that sees the frames of a clip together: how it is planned, and what it is handed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import torch
from jaxtyping import Float
from torch import Tensor

from vbench.loop.ask_clips import AskClipEncoder
from vbench.loop.data import PreparedClip, PreparedFile
from vbench.loop.family import ask_for, plan_for
from vbench.loop.plan import TextWork
from vbench.loop.settings import LoaderSettings
from vbench.protocols import ClipEncoder, FrameEncoder
from vbench.records import Clip, Prediction, Request


class Joint:
    """Embeds a clip as (its frames' means read as digits, 1); refuses what it is told to."""

    needs = frozenset({"frames", "text"})

    def __init__(self, most_frames: int = 10**9, poison: float | None = None) -> None:
        self.most_frames = most_frames
        self.poison = poison
        self.batches: list[tuple[int, int]] = []

    @property
    def module(self) -> torch.nn.Module:
        raise AssertionError("weights were asked for")

    def identity(self) -> str:
        return "joint"

    class preprocess:  # noqa: N801
        @staticmethod
        def digest() -> str:
            return "pixels"

    def embed_clips(self, pixels: Float[Tensor, "b n 3 h w"]) -> Float[Tensor, "b 2"]:
        clips, frames = pixels.shape[:2]
        if clips * frames > self.most_frames:
            raise torch.OutOfMemoryError("too many frames")
        means = pixels.mean(dim=(2, 3, 4))
        if self.poison is not None and (means == self.poison).any():
            raise RuntimeError("poisoned\nframe")
        self.batches.append((clips, frames))
        read = (means * 10.0 ** -torch.arange(frames)).sum(dim=1)
        return torch.nn.functional.normalize(torch.stack([read, torch.ones_like(read)], 1), dim=1)

    def embed_texts(self, texts: Sequence[str]) -> tuple[Tensor, list[bool]]:
        if "" in texts:
            raise ValueError("empty text")
        return torch.ones(len(texts), 2), [len(text) > 5 for text in texts]


def a_file(name: str, values: Sequence[float], **clips: tuple[int, ...]) -> PreparedFile:
    """Makes a file of one-valued frames, and a clip of each tuple of rows."""
    pixels = torch.tensor(values).reshape(-1, 1, 1, 1).expand(-1, 3, 2, 2)
    made = [PreparedClip(f"{name}/{k}", Clip(name, name), rows=rows) for k, rows in clips.items()]
    return PreparedFile(name, made, pixels)


def ask(model: Joint, *work: object, frames_per_batch: int = 32) -> dict[str, Prediction]:
    asker = AskClipEncoder(model, frames_per_batch)
    rows = asker(list(work), torch.device("cpu"), torch.float32)  # type: ignore[arg-type]
    assert len({row.key for row in rows}) == len(rows)
    assert {row.kind for row in rows} <= {"clip", "text"}
    return {row.key: row for row in rows}


def read(row: Prediction) -> float:
    assert row.embedding is not None
    return round(float(row.embedding[0] / row.embedding[1]), 4)


FILES = {
    "a": ([1, 2, 3], {"all": (0, 1, 2), "back": (2, 1, 0), "still": (1, 1, 1), "short": (0, 2)}),
    "b": ([7, 8, 9], {"all": (0, 1, 2)}),
}


@pytest.mark.parametrize(("frames_per_batch", "most"), [(1, 1), (3, 1), (6, 2), (7, 2), (99, 4)])
def test_a_clip_is_its_own_frames_in_their_order(frames_per_batch: int, most: int) -> None:
    model = Joint()
    files = [a_file(name, values, **clips) for name, (values, clips) in FILES.items()]
    rows = ask(model, *files, frames_per_batch=frames_per_batch)
    expected = {"a/all": 1.23, "a/back": 3.21, "a/still": 2.22, "a/short": 1.3, "b/all": 7.89}
    assert {key: read(row) for key, row in rows.items()} == expected
    assert sum(clips for clips, _ in model.batches) == 5
    assert max(clips for clips, _ in model.batches) == most
    assert {frames for _, frames in model.batches} == {2, 3}


def test_what_is_left_of_the_preprocessing_is_done() -> None:
    file = a_file("a", [1, 2], all=(0, 1))
    file.finish = lambda levels: levels + 1
    assert read(ask(Joint(), file)["a/all"]) == 2.3


def test_out_of_memory_halves_the_batch_and_loses_nothing() -> None:
    model = Joint(most_frames=3)
    rows = ask(model, *[a_file(name, values, **clips) for name, (values, clips) in FILES.items()])
    assert {row.status for row in rows.values()} == {"ok"}
    assert len(rows) == 5


def test_a_clip_too_big_alone_is_oom_and_its_files_other_clips_are_answered() -> None:
    rows = ask(Joint(most_frames=2), a_file("a", [1, 2, 3], all=(0, 1, 2), short=(0, 2)))
    assert {key: row.status for key, row in rows.items()} == {"a/all": "oom", "a/short": "ok"}


def test_a_failing_clip_is_named_and_its_files_other_clips_are_answered() -> None:
    files = [a_file("a", [1, 7, 3], all=(0, 1), last=(0, 2)), a_file("b", [4, 5], all=(0, 1))]
    rows = ask(Joint(poison=7.0), *files)
    assert (rows["a/all"].status, rows["a/all"].reason) == (
        "model_error",
        "RuntimeError: poisoned frame",
    )
    assert (read(rows["a/last"]), read(rows["b/all"])) == (1.3, 4.5)


def test_clips_without_frames_and_texts_become_rows() -> None:
    broken = PreparedFile(
        "v", [PreparedClip("k", Clip("v", "v"), status="decode_error", reason="no stream")], None
    )
    empty = a_file("e", [1.0], none=())
    rows = ask(Joint(), broken, empty, TextWork((("s", "short"), ("l", "much longer"))))
    assert (rows["k"].status, rows["k"].reason) == ("decode_error", "no stream")
    assert rows["e/none"].status == "model_error"
    assert [rows["s"].truncated, rows["l"].truncated] == [False, True]
    texts = ask(Joint(), TextWork((("a", "x"), ("b", ""), ("c", "y"))))
    assert [texts[key].status for key in "abc"] == ["ok", "model_error", "ok"]


class Sampler:
    def digest(self) -> str:
        return "twelve"


def test_it_is_planned_without_its_weights_and_without_single_frames(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"a")
    model = Joint()
    request = Request((Clip("a", str(tmp_path / "a")),), "x")
    plan = plan_for(model, [request], Sampler(), "32-true")
    assert {base["kind"] for base in plan.bases.values()} == {"clip", "text"}
    assert plan.frame_base == ""
    keys = {plan_for(model, [request], Sampler(), p).keys[request] for p in ("32-true", "16-true")}
    assert len(keys) == 2
    asker = ask_for(model, LoaderSettings(frames_per_batch=5))
    assert isinstance(asker, AskClipEncoder)
    assert asker.frames_per_batch == 5


def test_the_protocols_tell_the_two_kinds_of_encoder_apart() -> None:
    class Whole(Joint):
        module = torch.nn.Identity()  # type: ignore[assignment]

    assert isinstance(Whole(), ClipEncoder)
    assert not isinstance(Whole(), FrameEncoder)


def test_the_batch_cannot_change_an_embedding() -> None:
    files = [a_file(name, values, **clips) for name, (values, clips) in FILES.items()]
    together = ask(Joint(), *files)
    alone = ask(Joint(), *files, frames_per_batch=1)
    for key, row in together.items():
        np.testing.assert_array_equal(row.embedding, alone[key].embedding)
