"""How probable it is that a video entails a caption: P(Yes) / (P(Yes) + P(No)).

VELOCITI arXiv 2406.10889, Fig. 8 (v1) and its strict entailment (v2), after VideoCon: the model is
asked whether the video entails the caption and its reply's first token is weighed.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from vbench.prompts import MessagePrompt
from vbench.records import Answer, Kind, Request, Sample, Score, Task
from vbench.scorers.replies import (
    Tokens,
    continuations,
    replies,
    unanswered,
    untold,
    word_log_probs,
)


@dataclass(frozen=True)
class Entailment:
    """One request per clip and caption; each score is the probability of a yes among yes and no."""

    tokens: Tokens = "encode"
    """Which tokens are the words; `encode` is what the papers' code does."""
    yes_word: str = "Yes"
    no_word: str = "No"
    arithmetic: Literal["fp32", "bf16"] = "fp32"
    """`fp32`: the sigmoid of the difference, which two captions rarely share. `bf16`: both
    probabilities and their ratio are rounded to bfloat16, as in VideoCon's code, whose published
    scores are full of ties."""
    task: ClassVar[Task] = "score"
    kinds: ClassVar[tuple[Kind, ...]] = ("v2t", "t2v", "match")
    probabilities: ClassVar[bool] = True

    @property
    def _words(self) -> tuple[str, str]:
        return self.yes_word, self.no_word

    def requests(self, sample: Sample, prompt: MessagePrompt) -> list[Request]:
        """Returns the sample's requests, row-major: clips x texts."""
        told = [prompt.message(sample, [text]) for text in sample.texts]
        asked = continuations(self._words, self.tokens)
        return [
            Request((clip,), message=message, continuations=asked)
            for clip in sample.clips
            for message in told
        ]

    def score(self, sample: Sample, answers: Sequence[Answer]) -> Score:
        """Fills the sample's matrix with probabilities; one unanswered request leaves it empty.

        Args:
            sample: The sample.
            answers: One per request, in the order of `requests`.
        """
        failed = unanswered(sample, answers)
        if failed is not None:
            return failed
        values = []
        for reply in replies(answers):
            told = word_log_probs(reply, 2, self.tokens)
            missing = untold(sample, self._words, told)
            if missing is not None:
                return missing
            values.append(self._share(*told))
        if any(map(math.isnan, values)):
            reason = f"neither {self.yes_word} nor {self.no_word} has a probability above 0"
            return Score(sample, "unparsed", reason=reason, rule="no_probability")
        return Score(sample, "ok", tuple(values), truncated=any(a.truncated for a in answers))

    def _share(self, yes: float, no: float) -> float:
        return sigmoid(yes - no) if self.arithmetic == "fp32" else bf16_share(yes, no)


def sigmoid(difference: float) -> float:
    """Returns 1 / (1 + exp(-x)) without overflow.

    >>> sigmoid(0.0), sigmoid(-1000.0)
    (0.5, 0.0)
    """
    small = math.exp(-abs(difference))
    return 1 / (1 + small) if difference >= 0 else small / (1 + small)


def bf16_share(yes: float, no: float) -> float:
    """Returns P(yes) / (P(yes) + P(no)) with every intermediate result rounded to bfloat16.

    Args:
        yes: Natural log-probability.
        no: The same of the other word.

    Returns:
        NaN where both probabilities round to 0.

    >>> bf16_share(-0.0001, -9.0), bf16_share(-0.0002, -8.5)
    (1.0, 1.0)
    """
    p_yes, p_no = bf16(math.exp(yes)), bf16(math.exp(no))
    total = bf16(p_yes + p_no)
    return bf16(p_yes / total) if total else math.nan


def bf16(value: float) -> float:
    """Returns the nearest bfloat16, ties to even; for finite values of at least 0.

    >>> bf16(0.797), bf16(1.0)
    (0.796875, 1.0)
    """
    (bits,) = struct.unpack("<I", struct.pack("<f", value))
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000
    (nearest,) = struct.unpack("<f", struct.pack("<I", rounded))
    return float(nearest)
