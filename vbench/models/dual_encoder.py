"""Image-text dual encoders of transformers: CLIP, SigLIP, SigLIP2 and their kin."""

from __future__ import annotations

import inspect
import json
from collections.abc import Sequence
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import torch

from vbench.checkpoints import find_checkpoint
from vbench.errors import ModelError
from vbench.models.embedding import Pooling, embedding_of, pool_frames
from vbench.models.loading import (
    find_architecture,
    load_config,
    load_dual_encoder,
    load_image_processor_config,
    load_tokenizer,
)
from vbench.models.texts import RULES, TextPadding, TextReader
from vbench.preprocess import from_hf_image_processor
from vbench.protocols import Need, Preprocess


class DualEncoder:
    """Any transformers model with `get_image_features` and `get_text_features`.

    Made from the checkpoint's configs and tokenizer; its weights are loaded on first use.

    Args:
        checkpoint: A folder, `pkg://package/folder`, or a hub id `owner/name`.
        revision: Branch, tag or commit of a hub id; None: its default branch, now.
        pooling: How the frames of a clip become one embedding.
        text_padding: `auto` pads as the family was trained (see `vbench.models.texts`).
        max_text_tokens: Longest text in tokens; None: all the model can read. Longer texts are cut
            and flagged.
        text_batch: Texts encoded at once; changes speed and memory only.

    Raises:
        ConfigError: `max_text_tokens` is more than the model can read.
        ModelError: The checkpoint cannot be found or loaded, or its parts do not fit together.
    """

    needs: ClassVar[frozenset[Need]] = frozenset({"frames", "text"})

    preprocess: Preprocess

    def __init__(
        self,
        checkpoint: str,
        revision: str | None = None,
        pooling: Pooling = "mean_then_normalise",
        text_padding: TextPadding = "auto",
        max_text_tokens: int | None = None,
        text_batch: int = 256,
    ) -> None:
        self._checkpoint = find_checkpoint(checkpoint, revision)
        self._pooling = pooling
        self._text_batch = text_batch
        self._config = config = load_config(self._checkpoint)
        _check_fixed_size(checkpoint, find_architecture(checkpoint, config))
        self._texts = TextReader(
            checkpoint, load_tokenizer(self._checkpoint), config, text_padding, max_text_tokens
        )
        self.preprocess = from_hf_image_processor(load_image_processor_config(self._checkpoint))
        _check_image_size(checkpoint, config, self.preprocess)
        self.embedding_width = _embedding_width(config)

    @cached_property
    def module(self) -> torch.nn.Module:
        """All the weights, in float32 on the CPU until Lightning moves them.

        Raises:
            ModelError: They cannot be read, or do not fill the architecture exactly.
        """
        return load_dual_encoder(self._checkpoint)

    @property
    def max_text_tokens(self) -> int:
        """The longest text that is read whole, in tokens, special tokens included."""
        return self._texts.max_tokens

    def overlong(self, texts: Sequence[str]) -> list[bool]:
        """Says of each text whether it is cut at `max_text_tokens`."""
        return [length > self._texts.max_tokens for length in self._texts.lengths(texts)]

    @cached_property
    def _content(self) -> str:
        return self._checkpoint.identity()

    def identity(self) -> str:
        """Returns the checkpoint's content and every setting that can change an embedding."""
        settings = {
            "model": "transformers",
            "checkpoint": self._content,
            "pooling": self._pooling,
            **self._texts.identity(),
        }
        return json.dumps(settings, sort_keys=True)

    def embed_frames(self, pixels: torch.Tensor) -> torch.Tensor:
        """Encodes pixels (n, 3, h, w) into frame embeddings (n, d), not normalised."""
        model: Any = self.module
        weights = next(model.parameters())
        pixels = pixels.to(weights.device, weights.dtype)
        return embedding_of(model.get_image_features(pixel_values=pixels))

    def pool(self, frames: torch.Tensor) -> torch.Tensor:
        """Pools the frame embeddings (n, d) of one clip into a unit vector (d,), in float32."""
        return pool_frames(frames, self._pooling)

    def embed_texts(self, texts: Sequence[str]) -> tuple[torch.Tensor, list[bool]]:
        """Encodes texts into unit vectors (n, d) in float32, and flags each truncated text."""
        return self._texts.embed(self.module, texts, self._text_batch)


def _embedding_width(config: Any) -> int | None:
    """Returns d where the config tells: CLIP projects to it, SigLIP's vision tower ends in it."""
    tower: Any = getattr(config, "vision_config", None)
    return getattr(config, "projection_dim", None) or getattr(tower, "hidden_size", None)


def _check_fixed_size(name: str, architecture: Any) -> None:
    if "spatial_shapes" in inspect.signature(architecture.get_image_features).parameters:
        raise ModelError(
            f"{architecture.__name__} takes images of any aspect ratio (NaFlex)",
            where=f"checkpoint {name}",
            why="a dual encoder here takes frames of one fixed size",
            mend="use a fixed-resolution checkpoint of the family, e.g. "
            "google/siglip2-base-patch16-224",
        )


def _check_image_size(name: str, config: Any, preprocess: Preprocess) -> None:
    """Refuses an image processor whose output the vision tower cannot take."""
    if config.model_type not in RULES:
        return  # convolutional towers take any size
    side = config.vision_config.image_size
    made = tuple(preprocess([np.zeros((48, 64, 3), np.uint8)]).shape[-2:])
    if made != (side, side):
        raise ModelError(
            f"the image processor makes {made[0]}x{made[1]} pixels, the model takes {side}x{side}",
            where=f"checkpoint {name}",
            why="preprocessor_config.json and config.json do not belong together",
            mend="set size (and crop_size) in the image processor's config to the model's size",
        )
