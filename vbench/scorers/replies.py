"""What scorers of language models share: how words are put as continuations, and read back."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Literal

from vbench.records import Answer, Continuation, Form, Reply, Sample, Score, Status

Tokens = Literal["encode", "bare", "space", "sum"]
"""Which tokens spell a word (`records.Form`). `sum`: both `bare` and `space`, their probabilities
added; where a tokenizer spells both alike they count once."""


def continuations(words: Sequence[str], tokens: Tokens) -> tuple[Continuation, ...]:
    """Returns each word as what a reply might be, in as many forms as are summed.

    >>> [(one.text, one.form) for one in continuations(["A"], "sum")]
    [('A', 'bare'), ('A', 'space')]
    """
    return tuple(Continuation(word, form) for word in words for form in _forms(tokens))


def word_log_probs(reply: Reply, words: int, tokens: Tokens) -> tuple[float, ...]:
    """Returns the log-probability of each word from a reply to `continuations`.

    Args:
        reply: What the model said of all of them.
        words: How many were asked.
        tokens: As they were asked.

    Returns:
        (words,), NaN where the model does not say.
    """
    forms = len(_forms(tokens))
    return tuple(_added(reply, range(i * forms, (i + 1) * forms)) for i in range(words))


def _forms(tokens: Tokens) -> tuple[Form, ...]:
    return ("bare", "space") if tokens == "sum" else (tokens,)


def _added(reply: Reply, places: Sequence[int]) -> float:
    """Adds probabilities of spellings; one that is not told leaves the sum untold."""
    told = dict(_spellings(reply, places)).values()
    if any(map(math.isnan, told)):
        return math.nan
    top = max(told)
    if math.isinf(top):
        return top
    return top + math.log(sum(math.exp(value - top) for value in told))


def _spellings(reply: Reply, places: Sequence[int]) -> Iterator[tuple[object, float]]:
    for place in places:
        ids = reply.token_ids[place] if place < len(reply.token_ids) else ()
        yield ids or place, reply.log_probs[place]


def unanswered(sample: Sample, answers: Sequence[Answer]) -> Score | None:
    """Returns the score of a sample one of whose requests failed, or None if none did."""
    truncated = any(answer.truncated for answer in answers)
    for answer in answers:
        if answer.status != "ok":
            return Score(sample, answer.status, reason=answer.reason, truncated=truncated)
        if answer.reply is None:
            return Score(sample, "model_error", reason="the model gave no reply")
    return None


def untold(sample: Sample, words: Sequence[str], log_probs: Sequence[float]) -> Score | None:
    """Returns the score of a sample some word of which has no known probability, or None."""
    missing = [word for word, value in zip(words, log_probs, strict=True) if math.isnan(value)]
    if not missing:
        return None
    status: Status = "unparsed"
    return Score(
        sample,
        status,
        reason=f"the model does not tell the probability of {', '.join(missing)}",
        rule="no_probability",
    )


def replies(answers: Sequence[Answer]) -> list[Reply]:
    """Returns the replies of answered requests."""
    return [answer.reply for answer in answers if answer.reply is not None]


def cut_off(given: Sequence[Reply]) -> bool:
    """Returns whether a generated reply ended because it had become too long."""
    return any(reply.finish_reason == "length" for reply in given)
