"""Which option the model names in its own words, read by rules."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from vbench.prompts import MessagePrompt, letters_of
from vbench.records import Answer, Kind, Request, Sample, Score, Task
from vbench.scorers.readers import Reader, read_as
from vbench.scorers.replies import cut_off, replies, unanswered


@dataclass(frozen=True)
class Letters:
    """One request per sample; the option that the reply names scores 1, the others 0."""

    reader: Reader = "rules"
    task: ClassVar[Task] = "generate"
    kinds: ClassVar[tuple[Kind, ...]] = ("mcq", "yes_no", "v2t")
    probabilities: ClassVar[bool] = False

    def requests(self, sample: Sample, prompt: MessagePrompt) -> list[Request]:
        """Returns the sample's one request."""
        return [Request(sample.clips, message=prompt.message(sample, sample.texts))]

    def score(self, sample: Sample, answers: Sequence[Answer]) -> Score:
        """Reads the reply; one that names no option, or several, is `unparsed`.

        Args:
            sample: The sample.
            answers: The one answer.
        """
        failed = unanswered(sample, answers)
        if failed is not None:
            return failed
        (reply,) = replies(answers)
        response = reply.text or ""
        letters = letters_of(sample)
        reading = read_as(self.reader, response, dict(zip(letters, sample.texts, strict=True)))
        values: tuple[float, ...] = ()
        if reading.letter is not None:
            values = tuple(float(letter == reading.letter) for letter in letters)
        return Score(
            sample,
            "ok" if values else "unparsed",
            values,
            reason="" if values else f"no option is read from the reply ({reading.rule})",
            truncated=cut_off([reply]),
            response=response,
            rule=reading.rule,
        )
