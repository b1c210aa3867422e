"""The nouns every floor shares: clips, samples, what is known of them, and predictions.

Nothing here imports torch, pandas or Lightning, so the console can list and plan cheaply.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    import numpy as np

Kind = Literal["v2t", "t2v", "match", "mcq", "yes_no", "open"]
"""How a sample's score matrix is read.

`v2t`: 1 clip x 2 texts, the right text must win. `t2v`: 2 clips x 1 text, the right clip must win.
`match`: 2 clips x 2 texts, clip i belongs to text i (IVAT). `mcq`, `yes_no`: 1 clip x K options.
`open`: 1 clip, a free answer, no options.
"""

Status = Literal["ok", "refused", "unparsed", "decode_error", "model_error", "oom", "not_judged"]
"""What became of a request. Only FINAL statuses are kept on resume; the others are tried again."""

FINAL: frozenset[str] = frozenset({"ok", "refused", "unparsed"})


@dataclass(frozen=True, slots=True)
class Clip:
    """A span of a video file, or of a folder of frame images.

    Frames whose presentation time t (seconds from the first frame of the file) satisfies
    start_s <= t < end_s belong to the clip.
    """

    video_id: str
    """The dataset's own name of the video; never shown to a model."""
    path: str
    """The video file, or the folder of frame images."""
    start_s: float = 0.0
    end_s: float | None = None
    """None: to the end of the file."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One test instance."""

    test: str
    """The test it belongs to: a row of the summary (`agent_bind`, `chrono`, …)."""
    sample_id: str
    """Unique within its test, stable across builds of the same data."""
    kind: Kind
    cluster: str
    """The source whose samples are not independent (for VELOCITI the YouTube id)."""
    clips: tuple[Clip, ...]
    texts: tuple[str, ...]
    """Captions or options as the dataset gives them, before any prompt is applied."""
    target: int | str | None = None
    """Index of the right text (v2t, mcq, yes_no) or right clip (t2v); the reference answer (open);
    None where clip i belongs to text i (match) or where the answer is not known."""
    question: str | None = None
    groups: Mapping[str, str] = field(default_factory=dict)
    """Values of the `group_by` columns; each gets a row of its own in the summary."""


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happens, as roles and fillers: what an oracle may know."""

    roles: tuple[tuple[str, str], ...]
    """Sorted (role, filler) pairs; the roles are agent, verb, patient, instrument, direction,
    manner and scene."""
    start_s: float = 0.0
    end_s: float = 0.0
    """Seconds within the file; both 0 in a caption's claim, which has no time of its own."""

    def get(self, role: str) -> str | None:
        """Returns the filler of a role, or None."""
        return dict(self.roles).get(role)


Relation = Literal["none", "same_agent", "then"]


@dataclass(frozen=True, slots=True)
class Claim:
    """What a caption says: its events in caption order and how they are related."""

    events: tuple[Event, ...]
    relation: Relation = "none"
    """`same_agent`: one agent does them all (AgCoref; the agent role is absent). `then`: they
    happen in this order (Chrono)."""


class Facts(Protocol):
    """The truth about a dataset, for oracles: clips and captions, never which caption is right."""

    def events_in(self, clip: Clip) -> tuple[Event, ...]:
        """Returns the events that lie wholly inside the clip's span, in time order."""
        ...

    def claim_of(self, text: str) -> Claim:
        """Returns what a caption claims, looked up in the dataset's provenance (never parsed).

        Raises:
            DataError: The caption is not in the provenance.
        """
        ...


@dataclass(frozen=True, slots=True)
class Request:
    """The smallest thing a model is asked: does this text fit these clips?"""

    clips: tuple[Clip, ...]
    """Usually one."""
    text: str
    """As rendered by the prompt: exactly what the model reads."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A request's outcome, whatever it was computed from."""

    status: Status
    value: float = math.nan
    """The score, higher for a better match; NaN unless status is ok."""
    reason: str = ""
    truncated: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Prediction:
    """One stored result of a model, one row on disk: an embedding or a pair's score."""

    key: str
    """Content hash of everything that can change it."""
    kind: Literal["clip", "text", "pair", "frame"]
    """A `frame` is for the embedding cache only: no request needs it by itself."""
    status: Status
    embedding: np.ndarray | None = None
    """Unit vector (d,), float32, of a clip or a text; None unless status is ok."""
    score: float | None = None
    """Of a pair; None unless status is ok."""
    reason: str = ""
    """Why the status is not ok, in one line."""
    video_id: str = ""
    path: str = ""
    frame_indices: tuple[int, ...] = ()
    """Ranks in presentation order within the file, in the order the model saw the frames."""
    timestamps_s: tuple[float, ...] = ()
    frames_wanted: int = 0
    """What the sampler was asked for; `len(frame_indices)` were delivered."""
    truncated: bool = False
    """The text was longer than the model reads."""


@dataclass(frozen=True, slots=True)
class Score:
    """A sample with its filled score matrix: all that a metric may see."""

    sample: Sample
    status: Status
    values: tuple[float, ...] = ()
    """Row-major, clips x texts; empty unless status is ok."""
    reason: str = ""
    """Why the status is not ok, in one line."""
    truncated: bool = False
    """At least one of its texts was longer than the model reads."""


Outcome = Literal["right", "wrong", "tie", "unscored"]
"""`tie`: the deciding comparison is tied. `unscored`: status is not ok, or no target is known."""
