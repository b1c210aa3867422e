"""How each family of model is asked: a batch of prepared work in, one row per key out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

import torch

from vbench.loop.data import Prepared, PreparedClip, PreparedFile
from vbench.loop.plan import TextWork
from vbench.protocols import Encoder, FrameEncoder, PairScorer, TextScorer
from vbench.records import Clip, Prediction, Status


class Ask(Protocol):
    """Answers a batch of work; failures become rows, never exceptions."""

    def __call__(
        self, batch: Sequence[Prepared], device: torch.device, dtype: torch.dtype
    ) -> list[Prediction]:
        """Returns a row for every key of the batch.

        Args:
            batch: Pieces of prepared work.
            device: Where the weights are.
            dtype: What the weights are in.
        """
        ...


class AskFrameEncoder:
    """Embeds each frame once, pools each clip, embeds each text.

    Args:
        model: The encoder.
        frames_per_batch: Frames per forward pass, whatever files they come from.
    """

    def __init__(self, model: FrameEncoder, frames_per_batch: int) -> None:
        self.model = model
        self.frames_per_batch = frames_per_batch

    def __call__(
        self, batch: Sequence[Prepared], device: torch.device, dtype: torch.dtype
    ) -> list[Prediction]:
        """Returns one row per text and per clip."""
        files = [work for work in batch if isinstance(work, PreparedFile)]
        decoded = [f for f in files if f.pixels is not None or f.known is not None]
        rows = text_rows(self.model, batch)
        rows += together_or_alone(lambda f: self._clips(f, device, dtype), decoded, _failed_clips)
        return rows + undecoded_rows(files)

    def _clips(
        self, files: Sequence[PreparedFile], device: torch.device, dtype: torch.dtype
    ) -> list[Prediction]:
        fresh = self._encode(files, device, dtype)
        rows, start = [], 0
        for file in files:
            parts = []
            if file.pixels is not None and fresh is not None:
                parts.append(fresh[start : start + len(file.pixels)])
                start += len(file.pixels)
                rows += _frame_rows(file, parts[0])
            if file.known is not None:
                parts.append(torch.from_numpy(file.known).to(device))
            own = torch.cat(parts)
            for clip in file.clips:
                if clip.status == "ok":
                    vector = self.model.pool(own[list(clip.rows)]).float().cpu().numpy()
                    rows.append(clip_row(clip, "ok", embedding=vector))
        return rows

    def _encode(
        self, files: Sequence[PreparedFile], device: torch.device, dtype: torch.dtype
    ) -> torch.Tensor | None:
        chunks = in_chunks(files, self.frames_per_batch, device)
        # Known frames come from the cache as fp32, and what is pooled must not depend on that.
        found = [self.model.embed_frames(chunk.to(dtype)).float() for chunk in chunks]
        return torch.cat(found) if found else None


def text_rows(model: Encoder, batch: Sequence[Prepared]) -> list[Prediction]:
    """Embeds all texts of a batch together and returns a row for each."""

    def embed(texts: Sequence[tuple[str, str]]) -> list[Prediction]:
        embeddings, truncated = model.embed_texts([text for _, text in texts])
        vectors = embeddings.float().cpu().numpy()
        return [
            Prediction(key, "text", "ok", embedding=vector, truncated=cut)
            for (key, _), vector, cut in zip(texts, vectors, truncated, strict=True)
        ]

    texts = [item for work in batch if isinstance(work, TextWork) for item in work.texts]
    return together_or_alone(embed, texts, _failed_text)


def undecoded_rows(files: Sequence[PreparedFile]) -> list[Prediction]:
    """Returns a row for each clip that has no frames, with the reason."""
    return [
        clip_row(clip, clip.status, reason=clip.reason)
        for file in files
        for clip in file.clips
        if clip.status != "ok"
    ]


def in_chunks(
    files: Sequence[PreparedFile], size: int, device: torch.device
) -> Iterator[torch.Tensor]:
    """Yields the pixel values of files, so many frames at a time whatever files they come from.

    Args:
        files: Those without pixels add nothing.
        size: Frames per chunk.
        device: Where they are finished.
    """
    chunk: list[torch.Tensor] = []
    room = size
    for file in files:
        block = torch.empty(0) if file.pixels is None else file.pixels
        for piece in (block[:room], *torch.split(block[room:], size)):
            if not len(piece):
                continue
            here = piece.to(device)
            chunk.append(file.finish(here) if file.finish else here)
            room -= len(piece)
            if not room:
                yield torch.cat(chunk)
                chunk, room = [], size
    if chunk:
        yield torch.cat(chunk)


class AskPairScorer:
    """Scores each clip against its texts.

    Args:
        model: The scorer.
    """

    def __init__(self, model: PairScorer) -> None:
        self.model = model

    def __call__(
        self, batch: Sequence[Prepared], device: torch.device, dtype: torch.dtype
    ) -> list[Prediction]:
        """Returns one row per pair."""
        by_clip: dict[Clip, list[tuple[str, str]]] = {}
        for work in batch:
            if isinstance(work, PreparedFile):
                for key, clip, text in work.pairs:
                    by_clip.setdefault(clip, []).append((key, text))
        return together_or_alone(self._score, list(by_clip.items()), _failed_pairs)

    def _score(self, clips: Sequence[tuple[Clip, list[tuple[str, str]]]]) -> list[Prediction]:
        rows = []
        for clip, pairs in clips:
            scores = self.model.score(clip, [text for _, text in pairs])
            rows += [
                Prediction(key, "pair", "ok", score=s, video_id=clip.video_id, path=clip.path)
                for (key, _), s in zip(pairs, scores, strict=True)
            ]
        return rows


class AskTextScorer:
    """Scores all texts of a step together.

    Args:
        model: The scorer.
    """

    def __init__(self, model: TextScorer) -> None:
        self.model = model

    def __call__(
        self, batch: Sequence[Prepared], device: torch.device, dtype: torch.dtype
    ) -> list[Prediction]:
        """Returns one row per text."""
        texts = [item for work in batch if isinstance(work, TextWork) for item in work.texts]
        return together_or_alone(self._score, texts, _failed_text)

    def _score(self, texts: Sequence[tuple[str, str]]) -> list[Prediction]:
        scores, truncated = self.model.score_texts([text for _, text in texts])
        return [
            Prediction(key, "text", "ok", score=score, truncated=cut)
            for (key, _), score, cut in zip(texts, scores, truncated, strict=True)
        ]


class AskBoth:
    """Puts texts to a model that scores them by themselves, and questions to the same model.

    Args:
        texts: Answers text work only.
        questions: Answers file work only.
    """

    def __init__(self, texts: Ask, questions: Ask) -> None:
        self.texts = texts
        self.questions = questions

    def __call__(
        self, batch: Sequence[Prepared], device: torch.device, dtype: torch.dtype
    ) -> list[Prediction]:
        """Returns the rows of both."""
        return self.texts(batch, device, dtype) + self.questions(batch, device, dtype)


def together_or_alone(
    run: Callable[[Any], list[Prediction]],
    items: Sequence[Any],
    failed: Callable[[Any, Status, str], list[Prediction]],
    never: type[Exception] | tuple[type[Exception], ...] = (),
) -> list[Prediction]:
    """Runs items together; on failure in halves, down to one; what fails alone is recorded.

    Args:
        run: Returns the rows of some items.
        items: Any number.
        failed: Returns the rows of an item that failed, from status and reason.
        never: Exceptions that end the run: trying again would be no help.
    """
    if not items:
        return []
    try:
        return run(items)
    except never:
        raise
    except Exception as error:
        out_of_memory = isinstance(error, torch.OutOfMemoryError | MemoryError)
        reason = " ".join(f"{type(error).__name__}: {error}".split())
    if len(items) == 1:
        return failed(items[0], "oom" if out_of_memory else "model_error", reason)
    if out_of_memory and torch.cuda.is_available():
        torch.cuda.empty_cache()
    half = len(items) // 2
    return together_or_alone(run, items[:half], failed, never) + together_or_alone(
        run, items[half:], failed, never
    )


def _frame_rows(file: PreparedFile, embeddings: torch.Tensor) -> list[Prediction]:
    """Returns a row for each encoded frame that the cache wants."""
    if not file.items:
        return []
    vectors = embeddings.cpu().numpy()
    return [
        Prediction(item, "frame", "ok", embedding=vector)
        for item, vector in zip(file.items, vectors, strict=True)
    ]


def clip_row(clip: PreparedClip, status: Status, **extra: Any) -> Prediction:
    """Returns the row of a clip: which frames were shown, and what else is known."""
    return Prediction(
        clip.key,
        "clip",
        status,
        video_id=clip.clip.video_id,
        path=clip.clip.path,
        frame_indices=clip.frame_indices,
        timestamps_s=clip.timestamps_s,
        frames_wanted=clip.frames_wanted,
        audio=clip.audio,
        **extra,
    )


def _failed_clips(item: PreparedFile, status: Status, reason: str) -> list[Prediction]:
    alive = [clip for clip in item.clips if clip.status == "ok"]
    return [clip_row(clip, status, reason=reason) for clip in alive]


def _failed_text(item: tuple[str, str], status: Status, reason: str) -> list[Prediction]:
    return [Prediction(item[0], "text", status, reason=reason)]


def _failed_pairs(
    item: tuple[Clip, list[tuple[str, str]]], status: Status, reason: str
) -> list[Prediction]:
    clip, pairs = item
    return [
        Prediction(key, "pair", status, reason=reason, video_id=clip.video_id, path=clip.path)
        for key, _ in pairs
    ]
