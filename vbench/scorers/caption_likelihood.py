"""How probable a caption is as what the model says about the video.

With a prior: how much more probable the video makes it (pointwise mutual information), which takes
away that short or ordinary sentences are probable anyway.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from vbench.prompts import MessagePrompt
from vbench.records import Answer, Continuation, Form, Kind, Reply, Request, Sample, Score, Task
from vbench.scorers.replies import replies, unanswered, untold


@dataclass(frozen=True)
class CaptionLikelihood:
    """One request per clip and caption, and with a prior one more per caption, without a video."""

    per_token: bool = True
    """True: the mean over the caption's tokens. False: their sum, which prefers short captions."""
    prior: Literal["none", "video_free"] = "none"
    """`video_free`: minus the caption's log-likelihood after the same message without a video."""
    tokens: Form = "encode"
    """Which tokens spell a caption; `space` where the prompt does not end with one."""
    task: ClassVar[Task] = "score"
    kinds: ClassVar[tuple[Kind, ...]] = ("v2t", "t2v", "match", "mcq")
    probabilities: ClassVar[bool] = False

    def requests(self, sample: Sample, prompt: MessagePrompt) -> list[Request]:
        """Returns the sample's requests, row-major: clips x texts, then the texts without video."""
        message = prompt.message(sample, ())
        captions = [(Continuation(text, self.tokens),) for text in sample.texts]
        shown = [(clip,) for clip in sample.clips]
        return [
            Request(clips, message=message, continuations=caption)
            for clips in ([*shown, ()] if self.prior == "video_free" else shown)
            for caption in captions
        ]

    def score(self, sample: Sample, answers: Sequence[Answer]) -> Score:
        """Fills the sample's matrix with log-likelihoods, in nats.

        Args:
            sample: The sample.
            answers: One per request, in the order of `requests`.
        """
        failed = unanswered(sample, answers)
        if failed is not None:
            return failed
        values = [self._likelihood(reply) for reply in replies(answers)]
        width, size = len(sample.texts), len(sample.clips) * len(sample.texts)
        missing = untold(sample, ["a caption"] * len(values), values)
        if missing is not None:
            return missing
        prior = values[size:] or [0.0] * width
        matrix = tuple(value - prior[i % width] for i, value in enumerate(values[:size]))
        return Score(sample, "ok", matrix, truncated=any(answer.truncated for answer in answers))

    def _likelihood(self, reply: Reply) -> float:
        """NaN where the mean is wanted and the model does not tell the tokens."""
        (total,) = reply.log_probs
        if not self.per_token:
            return total
        count = len(reply.token_ids[0]) if reply.token_ids else 0
        return total / count if count else math.nan
