"""Loads a checkpoint's own processor, and sets its visual budget in its own terms."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from vbench.checkpoints import Checkpoint
from vbench.errors import ConfigError, ModelError, did_you_mean
from vbench.models.loading import explained, quietly
from vbench.models.vlm.assembled import find_processor, register

_SAMPLING = frozenset({"do_sample_frames", "fps", "num_frames", "min_frames", "max_frames"})
"""Terms of a video processor that choose frames: the sampler does."""

_MACHINERY = frozenset(
    {"device", "return_tensors", "return_metadata", "video_metadata", "data_format"}
    | {"input_data_format"}
)
"""Terms of a video processor that say how it is called, not what it makes."""


def load_processor(
    checkpoint: Checkpoint, visual: Mapping[str, Any], *, remote_code: bool = False
) -> Any:
    """Loads tokenizer, video processor and chat template of a checkpoint.

    Args:
        checkpoint: Where it is.
        visual: Settings of its video processor that replace the checkpoint's.
        remote_code: Whether code in the checkpoint may run.

    Raises:
        ConfigError: The video processor has no such setting.
        ModelError: The processor cannot be loaded, or takes no video.
    """
    register()
    with (
        packages_named(checkpoint.name, "processor"),
        explained(checkpoint.name, "processor"),
        quietly(),
    ):
        processor = find_processor(checkpoint).from_pretrained(
            checkpoint.source, trust_remote_code=remote_code, **checkpoint.load_options()
        )
    if getattr(processor, "video_processor", None) is None or not video_token(processor):
        raise ModelError(
            f"{type(processor).__name__} takes no video",
            where=f"checkpoint {checkpoint.name}",
            why="it has no video processor, or no token that stands for a video",
            mend="choose a checkpoint of a video-language model (docs/language_models.md)",
        )
    processor.video_processor = _adjusted(checkpoint.name, processor.video_processor, visual)
    return processor


def video_token(processor: Any) -> str:
    """Returns the text that stands for a video in a rendered prompt; empty if there is none."""
    return str(getattr(processor, "video_token", None) or "")


@contextmanager
def packages_named(name: str, part: str) -> Iterator[None]:
    """Turns the lack of a package that a checkpoint needs into an error that names it.

    Args:
        name: The checkpoint.
        part: What needs it.
    """
    try:
        yield
    except (ModelError, ImportError) as error:
        cause = error.__cause__ if isinstance(error, ModelError) else error
        if not isinstance(cause, ImportError):
            raise
        text = " ".join(str(cause).split())
        found = re.search(r"pip install (?:-U )?`?([\w.\[\]-]+)", text)
        found = found or re.search(r"`([\w-]+)`", text)
        package = found[1] if found else cause.name or "the package it names"
        raise ModelError(
            f"the {part} needs a package that is not installed",
            where=f"checkpoint {name}",
            why=text[:300],
            mend=f"pip install {package}, or pip install 'vbench-eval[vlm]' for what most need",
        ) from cause


def _adjusted(name: str, processor: Any, visual: Mapping[str, Any]) -> Any:
    """Makes the video processor anew with other settings."""
    terms = frozenset(processor.valid_kwargs.__annotations__) - _MACHINERY
    for term in visual:
        if term in _SAMPLING:
            raise ConfigError(
                f"'{term}' is no visual budget",
                where=f"model.visual.{term}",
                why="which frames a model sees is the sampler's to choose",
                mend="use sampler=… (sampler=native is the checkpoint's own rule)",
            )
        if term not in terms:
            own = sorted(terms - _SAMPLING)
            hint = did_you_mean(term, own)
            raise ConfigError(
                f"{type(processor).__name__} has no setting '{term}'",
                where=f"model.visual.{term}, checkpoint {name}",
                why=f"its settings are blind, {', '.join(own)}",
                mend=hint if hint.startswith("did") else "use one of these",
            )
    given = dict(visual)
    # transformers 5.24 warns that its default will change: what counts is said here.
    if "cap_pixels_per_frame" in terms and processor.cap_pixels_per_frame is None:
        given.setdefault("cap_pixels_per_frame", True)
    if not given:
        return processor
    size = {**(processor.to_dict().get("size") or {}), **(given.get("size") or {})}
    settings = {**processor.to_dict(), **given, **({"size": size} if "size" in given else {})}
    with explained(name, "video processor"), quietly():
        return type(processor)(**settings)
