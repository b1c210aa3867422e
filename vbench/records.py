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

Status = Literal[
    "ok", "refused", "unparsed", "overlong", "decode_error", "model_error", "oom", "not_judged"
]
"""What became of a request. Only FINAL statuses are kept on resume; the others are tried again.

`overlong`: prompt and video are more than the model's context holds. They are never cut to fit.
"""

FINAL: frozenset[str] = frozenset({"ok", "refused", "unparsed", "overlong"})


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
    letters: tuple[str, ...] = ()
    """What the dataset calls each text; none: A, B, C, … in order. Answers are read by it, never by
    position."""
    void_letters: tuple[str, ...] = ()
    """Letters to which the dataset gives no text (null). They are no options, and only a prompt
    that is to be byte for byte as published shows them."""


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


Task = Literal["match", "score", "generate"]
"""What a model is asked to do with a request. `match`: say how well a text fits a clip. `score`:
say how probable each of some continuations is after a message. `generate`: answer a message."""

Form = Literal["encode", "bare", "space"]
"""Which tokens spell a continuation. `encode`: those the tokenizer makes of the text alone, as
`tokenizer.encode(text, add_special_tokens=False)`. `bare`, `space`: those that spell it without, or
with, a space before it; for SentencePiece `A` and `▁A` are different tokens."""


@dataclass(frozen=True, slots=True)
class Continuation:
    """What a language model's reply might be."""

    text: str
    form: Form = "encode"


@dataclass(frozen=True, slots=True)
class Message:
    """What a language model is told.

    VIDEO in the text marks where the video goes; without the mark it comes first.
    """

    text: str
    system: str | None = None
    """None: the chat template's own system prompt, if it has one."""
    render: Literal["chat", "raw"] = "chat"
    """`chat`: through the checkpoint's chat template. `raw`: the text is all that the model reads.
    """
    quoted: tuple[str, ...] | None = None
    """What of the text is a dataset's: it may not hold a model's control tokens. None: all."""
    turns: tuple[tuple[Literal["user", "assistant"], str], ...] = ()
    """What was said after the system prompt and before the text, by whom; of a chat only."""


VIDEO = "<video>"
"""Stands for the video in a message's text."""


@dataclass(frozen=True, slots=True)
class Request:
    """The smallest thing a model is asked."""

    clips: tuple[Clip, ...]
    """Usually one. None: a language model is asked without any video."""
    text: str = ""
    """The caption or option to `match`, as rendered by the prompt: exactly what the model reads."""
    message: Message | None = None
    """What to `score` continuations of, or to `generate` an answer to."""
    continuations: tuple[Continuation, ...] = ()
    """To `score`; a message without any is to be answered freely."""

    @property
    def task(self) -> Task:
        """What is asked."""
        if self.message is None:
            return "match"
        return "score" if self.continuations else "generate"


@dataclass(frozen=True, slots=True)
class Reply:
    """What a language model gave for one request, with what it takes to check it."""

    status: Status = "ok"
    reason: str = ""
    prompt: str = ""
    """The rendered prompt, before the video's placeholder is multiplied."""
    text: str | None = None
    """What it generated."""
    log_probs: tuple[float, ...] = ()
    """(continuations,) natural log-probability of each continuation: the fp32 sum over its tokens.
    NaN where an API does not say."""
    token_ids: tuple[tuple[int, ...], ...] = ()
    """The tokens of each continuation."""
    prompt_tokens: int = 0
    """All tokens before the reply, those of the video included."""
    visual_tokens: int = 0
    frame_shape: tuple[int, ...] = ()
    """Frames x height x width as delivered to the vision tower, after the processor."""
    reply_tokens: int = 0
    finish_reason: str = ""
    """`stop`, `length` (max_new_tokens were not enough), or an API's own word."""
    dtype: str = ""
    """What the arithmetic was in; empty for an API."""
    model_version: str = ""
    """What an API says it ran."""
    usd: float = 0.0
    """What it cost, where prices are known."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A request's outcome, whatever it was computed from."""

    status: Status
    value: float = math.nan
    """The score of a `match`, higher for a better one; NaN unless status is ok."""
    reason: str = ""
    truncated: bool = False
    reply: Reply | None = None
    """A language model's."""


@dataclass(frozen=True, slots=True, eq=False)
class Prediction:
    """One stored result of a model, one row on disk: an embedding, a pair's score or a reply."""

    key: str
    """Content hash of everything that can change it."""
    kind: Literal["clip", "text", "pair", "frame", "reply"]
    """A `frame` is for the embedding cache only: no request needs it by itself. A `clip` of a
    language model has no embedding: it tells which frames were shown, or why there are none."""
    status: Status
    embedding: np.ndarray | None = None
    """Unit vector (d,), float32, of a clip or a text; None unless status is ok."""
    score: float | None = None
    """Of a pair, or of a text that is scored by itself; None unless status is ok."""
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
    reply: Reply | None = None
    """A language model's; its status and reason are the row's."""
    audio: Literal["", "unused", "heard"] = ""
    """What became of a clip's sound; empty: it has none."""


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
    """At least one of its texts was longer than the model reads, or a reply was cut off."""
    response: str = ""
    """What the model wrote, where the scorer read it."""
    rule: str = ""
    """By which rule the scorer read it."""
    observed: Mapping[str, float] = field(default_factory=dict)
    """What the scorer noticed beside the score, as shares from 0 to 1: `first_picked`, the share of
    orders in which the first option was chosen. Averaged per test in summary.json."""


Outcome = Literal["right", "wrong", "tie", "unscored"]
"""`tie`: the deciding comparison is tied. `unscored`: status is not ok, or no target is known."""
