"""Which family a model belongs to is what it implements; each is planned and asked its own way."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeGuard

from vbench.errors import ConfigError
from vbench.loop.ask import Ask, AskBoth, AskFrameEncoder, AskPairScorer, AskTextScorer
from vbench.loop.ask_clips import AskClipEncoder
from vbench.loop.ask_language import AskLanguageModel
from vbench.loop.keys import hash_file
from vbench.loop.plan import Plan, Sampler, plan_encoder, plan_pairs, plan_texts
from vbench.loop.plan_language import plan_language
from vbench.loop.settings import LoaderSettings
from vbench.prompts import check_marks
from vbench.protocols import (
    Checks,
    ClipEncoder,
    FrameEncoder,
    PairScorer,
    TextScorer,
    VideoLanguageModel,
)
from vbench.records import Request


def plan_for(
    model: object,
    requests: Iterable[Request],
    sampler: Sampler,
    precision: str,
    hash_file: Callable[[Path], str] = hash_file,
) -> Plan:
    """Plans the least work that answers the requests.

    Args:
        model: Decides what is stored: embeddings, pair scores or replies.
        requests: In sample order.
        sampler: Chooses frames.
        precision: `trainer.precision`.
        hash_file: Hashes one file's bytes; may remember.

    Raises:
        ConfigError: The model implements no known protocol.
        DataError: Every message shows a text that would pass for the video.
    """
    if _is_clip_encoder(model) or _is_frame_encoder(model):
        return plan_encoder(requests, model, sampler, precision, hash_file)
    requests = list(requests)
    if _is_text_scorer(model) and all(request.task == "match" for request in requests):
        return plan_texts(requests, model, precision)
    if _is_language_model(model):
        check_marks(requests)
        if isinstance(model, Checks):
            model.check(requests)
        return plan_language(requests, model, sampler, precision, hash_file)
    if isinstance(model, PairScorer):
        return plan_pairs(requests, model)
    raise _unknown(model)


def ask_for(model: object, settings: LoaderSettings) -> Ask:
    """Returns what puts prepared work to the model.

    Args:
        model: Of any family.
        settings: Batch sizes.

    Raises:
        ConfigError: The model implements no known protocol.
    """
    if _is_clip_encoder(model):
        return AskClipEncoder(model, settings.frames_per_batch)
    if _is_frame_encoder(model):
        return AskFrameEncoder(model, settings.frames_per_batch)
    texts = AskTextScorer(model) if _is_text_scorer(model) else None
    if _is_language_model(model):
        questions = AskLanguageModel(model)
        return AskBoth(texts, questions) if texts else questions
    if texts:
        return texts
    if isinstance(model, PairScorer):
        return AskPairScorer(model)
    raise _unknown(model)


def _is_clip_encoder(model: object) -> TypeGuard[ClipEncoder]:
    # The class, not the instance as isinstance would: to ask an instance for `module` is to load
    # its weights, which planning must not.
    return _has(model, "identity", "embed_clips", "embed_texts")


def _is_frame_encoder(model: object) -> TypeGuard[FrameEncoder]:
    return _has(model, "identity", "embed_frames", "pool", "embed_texts")


def _is_text_scorer(model: object) -> TypeGuard[TextScorer]:
    return _has(model, "identity", "score_texts")


def _is_language_model(model: object) -> TypeGuard[VideoLanguageModel]:
    return _has(model, "identity", "answer")


def _has(model: object, *methods: str) -> bool:
    return all(callable(getattr(type(model), method, None)) for method in methods)


def _unknown(model: object) -> ConfigError:
    return ConfigError(
        f"{type(model).__name__} is no model that vbench can ask",
        where="model._target_",
        why="it implements none of the protocols in vbench.protocols",
        mend="give it the members of FrameEncoder, ClipEncoder, PairScorer or VideoLanguageModel",
    )
