"""What the loop asks of a dataset and of a model. No mode flags: a model is what it implements.

Axes, in this order wherever they occur: batch frames channels height width. Shapes in docstrings
use n (frames or texts), d (embedding width), h w (pixels).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, runtime_checkable

from vbench.records import Clip, Facts, Reply, Request, Sample, Task

if TYPE_CHECKING:
    import numpy as np
    import torch

Need = Literal["frames", "video", "audio", "text", "facts"]
"""What a model needs of a sample. `frames`: decoded by us. `video`: the file, for an API that
decodes it. A model that needs neither is never shown a file, and none is opened for it."""


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


class Encoder(Protocol):
    """An encoder of clips and texts into one space; a score is a cosine."""

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

    def embed_texts(self, texts: Sequence[str]) -> tuple[torch.Tensor, list[bool]]:
        """Encodes texts into unit vectors (n, d) in float32, and flags each truncated text."""
        ...


@runtime_checkable
class FrameEncoder(Encoder, Protocol):
    """An image-text dual encoder; a clip is a pool over its frames."""

    def embed_frames(self, pixels: torch.Tensor) -> torch.Tensor:
        """Encodes pixels (n, 3, h, w) into frame embeddings (n, d), not normalised."""
        ...

    def pool(self, frames: torch.Tensor) -> torch.Tensor:
        """Pools the frame embeddings (n, d) of one clip into a unit vector (d,), in float32."""
        ...


@runtime_checkable
class ClipEncoder(Encoder, Protocol):
    """A video-text dual encoder, which sees the frames of a clip together."""

    def embed_clips(self, pixels: torch.Tensor) -> torch.Tensor:
        """Encodes clips of n frames, pixels (b, n, 3, h, w), into unit vectors (b, d), float32.

        A clip's embedding must not depend on the others of the batch. n is what the sampler gives:
        a short clip may have fewer frames than were wanted.
        """
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
class TextScorer(Protocol):
    """Scores a text by itself, for how plausible it is: what an evaluation gives away unseen."""

    needs: ClassVar[frozenset[Need]]

    @property
    def module(self) -> torch.nn.Module:
        """All the weights, loaded when first asked for; Lightning moves and casts them."""
        ...

    def identity(self) -> str:
        """Returns a text that changes whenever a score would."""
        ...

    def score_texts(self, texts: Sequence[str]) -> tuple[list[float], list[bool]]:
        """Returns one score per text, higher for a likelier one, and flags truncated texts."""
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


@runtime_checkable
class Checks(Protocol):
    """A language model that can say beforehand what it cannot be asked."""

    def check(self, requests: Sequence[Request]) -> None:
        """Refuses what no request can be answered without; loads no weights.

        Raises:
            VbenchError: It is lacking.
        """
        ...


@runtime_checkable
class Scores(Protocol):
    """A language model some settings of which only decide what it writes."""

    def scoring_identity(self) -> str:
        """Returns a text that changes whenever the answer to a request to `score` would.

        Without it such answers are stored under `identity`, and asked again where it changes.
        """
        ...


@dataclass(frozen=True, eq=False)
class View:
    """A clip as a language model is shown it."""

    clip: Clip
    content: str = ""
    """Hash of the file's bytes."""
    frame_indices: tuple[int, ...] = ()
    """Ranks within the file, in the order shown."""
    timestamps_s: tuple[float, ...] = ()
    """Seconds from the start of the clip."""
    inputs: Mapping[str, Any] = field(default_factory=dict)
    """What the model's own preprocess made of the frames."""


@dataclass(frozen=True)
class ClipTiming:
    """When the frames of a clip were taken: what processors that write timestamps need."""

    frame_indices: tuple[int, ...]
    """Ranks within the file, in the order shown."""
    timestamps_s: tuple[float, ...]
    """Seconds from the start of the clip."""
    source_fps: float | None
    """Mean frame rate of the file; None for a folder of pictures without one."""
    total_frames: int
    """Frames that the file holds."""
    duration_s: float | None = None
    """How long the clip is; None: as long as its file."""


@runtime_checkable
class ClipPreprocess(Protocol):
    """What a language model's processor makes of a clip. Pure, picklable: workers run it."""

    def view(self, frames: Sequence[np.ndarray], timing: ClipTiming) -> Mapping[str, Any]:
        """Turns a clip's frames (each uint8, h w 3, RGB, all of one size) into a view's inputs.

        None of the frames may be left out, and none added: sampling is done.
        """
        ...

    def digest(self) -> str:
        """Returns a short text that changes whenever the inputs would."""
        ...


@runtime_checkable
class VideoLanguageModel(Protocol):
    """A model that reads a message beside a video: local weights, or an API."""

    needs: frozenset[Need]
    """Set on the class; an instance may need less (a blind one no frames)."""

    @property
    def tasks(self) -> frozenset[Task]:
        """What it can be asked: `score`, `generate` or both; `match` by a TextScorer, too."""
        ...

    @property
    def preprocess(self) -> ClipPreprocess | None:
        """None for a model that is shown no frames."""
        ...

    @property
    def module(self) -> torch.nn.Module | None:
        """The weights, loaded when first asked for; None where Lightning is to leave them alone.

        That is: for an API, and for weights that are quantised or placed by device_map.
        """
        ...

    def identity(self) -> str:
        """Returns a text that changes whenever an answer would."""
        ...

    def answer(self, asked: Sequence[tuple[View | None, Sequence[Request]]]) -> list[list[Reply]]:
        """Answers requests, grouped by the view they share; None: without any video.

        What concerns one request (a refusal, an overlong prompt) is the status of its reply; an
        exception concerns all that were asked together, and smaller parts will be tried.
        """
        ...
