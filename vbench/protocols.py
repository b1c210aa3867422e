"""What the loop asks of a dataset and of a model. No mode flags: a model is what it implements.

Axes, in this order wherever they occur: batch frames channels height width. Shapes in docstrings
use n (frames or texts), d (embedding width), h w (pixels).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, Literal, Protocol, runtime_checkable

from vbench.records import Clip, Facts, Sample

if TYPE_CHECKING:
    import numpy as np
    import torch

Need = Literal["frames", "audio", "text", "facts"]


class Dataset(Protocol):
    """A source of samples."""

    name: str
    """The word on the command line: `velociti/toy`."""

    def samples(self) -> list[Sample]:
        """Returns every sample in the dataset's own order.

        Raises:
            DataError: A file is missing or malformed.
        """
        ...

    def facts(self) -> Facts | None:
        """Returns the truth an oracle may consult, or None where the dataset has none."""
        ...


class Preprocess(Protocol):
    """Pure and picklable: runs in decode workers."""

    def __call__(self, frames: Sequence[np.ndarray]) -> torch.Tensor:
        """Turns decoded frames (each uint8, h w 3, RGB) into float32 pixels (n, 3, h', w')."""
        ...

    def digest(self) -> str:
        """Returns a short text that changes whenever the pixels would."""
        ...


@runtime_checkable
class TwoStepPreprocess(Preprocess, Protocol):
    """A Preprocess in two steps, so that frames wait as bytes: a quarter of the memory."""

    def shrink(self, frames: Sequence[np.ndarray]) -> torch.Tensor:
        """Turns decoded frames into grey levels (n, 3, h', w'), uint8."""
        ...

    def finish(self, levels: torch.Tensor) -> torch.Tensor:
        """Turns grey levels into what calling the Preprocess returns, wherever they lie."""
        ...


@runtime_checkable
class FrameEncoder(Protocol):
    """An image-text dual encoder; a clip is a pool over its frames."""

    needs: ClassVar[frozenset[Need]]
    preprocess: Preprocess

    @property
    def module(self) -> torch.nn.Module:
        """All the weights, loaded when first asked for: `vbench plan` never asks.

        Lightning moves it and sets its dtype by `trainer.precision`.
        """
        ...

    def identity(self) -> str:
        """Returns a text that changes whenever an embedding would.

        That is: checkpoint content or hub id with revision, pooling, text padding, activation.
        """
        ...

    def embed_frames(self, pixels: torch.Tensor) -> torch.Tensor:
        """Encodes pixels (n, 3, h, w) into frame embeddings (n, d), not normalised."""
        ...

    def pool(self, frames: torch.Tensor) -> torch.Tensor:
        """Pools the frame embeddings (n, d) of one clip into a unit vector (d,), in float32."""
        ...

    def embed_texts(self, texts: Sequence[str]) -> tuple[torch.Tensor, list[bool]]:
        """Encodes texts into unit vectors (n, d) in float32, and flags each truncated text."""
        ...


@runtime_checkable
class PairScorer(Protocol):
    """Scores a clip against a text directly: oracles now, matching heads later."""

    needs: ClassVar[frozenset[Need]]

    def identity(self) -> str:
        """Returns a text that changes whenever a score would."""
        ...

    def bind(self, facts: Facts | None) -> None:
        """Hands over the dataset's truth before the first score, where `needs` names facts."""
        ...

    def score(self, clip: Clip, texts: Sequence[str]) -> list[float]:
        """Returns one score per text, higher for a better match."""
        ...


@runtime_checkable
class TextLimit(Protocol):
    """A model that can say beforehand which texts are longer than it reads."""

    @property
    def max_text_tokens(self) -> int:
        """The longest text that is read whole, in tokens, special tokens included."""
        ...

    def overlong(self, texts: Sequence[str]) -> list[bool]:
        """Says of each text whether its end would be cut off."""
        ...
