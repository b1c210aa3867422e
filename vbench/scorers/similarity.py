"""How well each text of a sample fits each of its clips: the paper's s(V, C).

For an encoder s is the cosine of the two embeddings, for a pair scorer its own number
(VELOCITI §4.3).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from vbench.prompts import Prompt
from vbench.records import Answer, Kind, Request, Sample, Score, Task


@dataclass(frozen=True)
class Similarity:
    """One request per clip and text; the answers in the same order are the score matrix."""

    task: ClassVar[Task] = "match"
    kinds: ClassVar[tuple[Kind, ...]] = ("v2t", "t2v", "match", "mcq", "yes_no")

    def requests(self, sample: Sample, prompt: Prompt) -> list[Request]:
        """Returns the sample's requests, row-major: clips x texts."""
        rendered = [prompt.render(sample, text) for text in sample.texts]
        return [Request((clip,), text) for clip in sample.clips for text in rendered]

    def score(self, sample: Sample, answers: Sequence[Answer]) -> Score:
        """Fills the sample's matrix; one unanswered request leaves the whole sample unscored.

        Args:
            sample: The sample.
            answers: One per request, in the order of `requests`.
        """
        truncated = any(answer.truncated for answer in answers)
        for answer in answers:
            if answer.status != "ok":
                return Score(sample, answer.status, reason=answer.reason, truncated=truncated)
        values = tuple(answer.value for answer in answers)
        return Score(sample, "ok", values, truncated=truncated)
