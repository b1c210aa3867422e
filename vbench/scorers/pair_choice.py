"""Which of two captions the model says describes the video, asked in both orders.

VELOCITI v2's choice test (arXiv 2406.10889v2, metrics.py of its repository) counts a sample only if
the right caption is chosen as A and as B; v1 asked Gemini once, in an order fixed by its data.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

from vbench.errors import ConfigError
from vbench.prompts import MessagePrompt
from vbench.records import Answer, Kind, Reply, Request, Sample, Score, Task
from vbench.scorers.readers import Reader, read_as
from vbench.scorers.replies import (
    Tokens,
    continuations,
    cut_off,
    replies,
    unanswered,
    untold,
    word_log_probs,
)

_LETTERS = "AB"


@dataclass(frozen=True)
class PairChoice:
    """One request per order; a caption scores the share of orders in which it was chosen.

    Asked in both orders, a model that keeps to its letter ties the captions: a miss under strict
    ties, half a hit under half ties. Strict accuracy is then v2's accuracy in both orders.
    """

    read: Literal["probability", "text"] = "probability"
    """`probability`: the more probable letter. `text`: the letter that the model writes."""
    orders: Literal["both", "as_given"] = "both"
    """`as_given`: once, the dataset's first caption as A. Where that is always the right one, as in
    v1's JSON files, this measures a preference for A; v1's CSV files fix balanced orders."""
    letters: Tokens = "encode"
    """With read=probability: which tokens are the letters."""
    reader: Reader = "rules"
    """With read=text: how the letter is read."""
    kinds: ClassVar[tuple[Kind, ...]] = ("v2t", "mcq")
    probabilities: ClassVar[bool] = False

    @property
    def task(self) -> Task:
        """What the model is asked to do."""
        return "score" if self.read == "probability" else "generate"

    @property
    def _orders(self) -> list[tuple[int, int]]:
        return [(0, 1), (1, 0)] if self.orders == "both" else [(0, 1)]

    def requests(self, sample: Sample, prompt: MessagePrompt) -> list[Request]:
        """Returns one request per order.

        Raises:
            ConfigError: There are other than two texts.
        """
        if len(sample.texts) != 2:
            raise ConfigError(
                f"PairChoice needs two texts, not {len(sample.texts)}",
                where=f"test {sample.test}, sample {sample.sample_id}",
                mend="use scorer=option_probability or scorer=letters",
            )
        asked = continuations(_LETTERS, self.letters) if self.read == "probability" else ()
        pair = replace(sample, letters=(), void_letters=())
        told = [prompt.message(pair, [sample.texts[i] for i in order]) for order in self._orders]
        return [Request(sample.clips, message=message, continuations=asked) for message in told]

    def score(self, sample: Sample, answers: Sequence[Answer]) -> Score:
        """Scores both captions; one unread order leaves the sample unscored, as in v2's code.

        Args:
            sample: The sample.
            answers: One per request, in the order of `requests`.
        """
        failed = unanswered(sample, answers)
        if failed is not None:
            return failed
        given = replies(answers)
        if self.read == "text":
            return self._by_text(sample, given)
        shares = []
        for reply in given:
            told = word_log_probs(reply, 2, self.letters)
            missing = untold(sample, _LETTERS, told)
            if missing is not None:
                return missing
            shares.append(0.5 if told[0] == told[1] else float(told[0] > told[1]))
        values, observed = self._counted(sample, shares)
        truncated = any(answer.truncated for answer in answers)
        return Score(sample, "ok", values, truncated=truncated, observed=observed)

    def _by_text(self, sample: Sample, given: Sequence[Reply]) -> Score:
        texts = [reply.text or "" for reply in given]
        readings = [
            read_as(
                self.reader,
                text,
                {letter: sample.texts[i] for letter, i in zip(_LETTERS, order, strict=True)},
            )
            for text, order in zip(texts, self._orders, strict=True)
        ]
        response = "\n".join(texts)
        rule = ", ".join(reading.rule for reading in readings)
        if any(reading.letter not in tuple(_LETTERS) for reading in readings):
            reason = f"no caption is read from a reply ({rule})"
            return Score(sample, "unparsed", (), reason, cut_off(given), response, rule)
        shares = [float(reading.letter == "A") for reading in readings]
        values, observed = self._counted(sample, shares)
        return Score(sample, "ok", values, "", cut_off(given), response, rule, observed)

    def _counted(
        self, sample: Sample, shares: Sequence[float]
    ) -> tuple[tuple[float, ...], Mapping[str, float]]:
        """Returns both scores and what was observed.

        Args:
            sample: The sample.
            shares: Per order, how far the caption shown first was chosen: 1, 0, or 0.5 for a tie.
        """
        first = [share if order[0] == 0 else 1 - share for share, order in self._by_order(shares)]
        score = sum(first) / len(first)
        observed = {"first_picked": sum(shares) / len(shares)}
        if isinstance(sample.target, int):
            for share, order in self._by_order(shares):
                right = share if order[0] == sample.target else 1 - share
                shown = "first" if order[0] == sample.target else "second"
                observed[f"right_shown_{shown}"] = right
        return (score, 1 - score), observed

    def _by_order(self, shares: Sequence[float]) -> list[tuple[float, tuple[int, int]]]:
        return list(zip(shares, self._orders, strict=True))
