"""Which option's letter is most probable after the question: Video-Bench's Eq. 1.

arXiv 2311.16103, Probability metric: argmax over the letters of P(letter | prompt). The paper does
not say which tokens are the letters; here that is a setting, and only the sample's own options
count.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from vbench.prompts import MessagePrompt, letters_of
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
class OptionProbability:
    """One request per sample; the scores are the letters' log-probabilities, not normalised."""

    letters: Tokens = "encode"
    """Which tokens are the letters. `A` and `▁A` are different tokens of SentencePiece."""
    task: ClassVar[Task] = "score"
    kinds: ClassVar[tuple[Kind, ...]] = ("mcq", "yes_no")
    probabilities: ClassVar[bool] = False

    def requests(self, sample: Sample, prompt: MessagePrompt) -> list[Request]:
        """Returns the sample's one request."""
        message = prompt.message(sample, sample.texts)
        asked = continuations(letters_of(sample), self.letters)
        return [Request(sample.clips, message=message, continuations=asked)]

    def score(self, sample: Sample, answers: Sequence[Answer]) -> Score:
        """Scores each option by its letter; a letter of unknown probability leaves all unscored.

        Args:
            sample: The sample.
            answers: The one answer.
        """
        failed = unanswered(sample, answers)
        if failed is not None:
            return failed
        (reply,) = replies(answers)
        told = word_log_probs(reply, len(sample.texts), self.letters)
        missing = untold(sample, letters_of(sample), told)
        truncated = any(answer.truncated for answer in answers)
        return missing or Score(sample, "ok", told, truncated=truncated)
