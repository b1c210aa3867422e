"""The captioner that asks a language model, and takes no answer on trust.

Each answer is read and checked; one that fails is sent back once with what is wrong, and rejected
with a counted reason if it fails again. Nothing a model answers ends the build.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from vbench.datasets.velociti.vidsitu import prompting
from vbench.datasets.velociti.vidsitu.answers import (
    REFUSED,
    Check,
    Complaint,
    Fields,
    check_description,
    check_manner,
    check_verb,
    parse,
    sentence,
)
from vbench.datasets.velociti.vidsitu.asking import Asked, Asker
from vbench.datasets.velociti.vidsitu.captioning import VERB, Caption, Change, Order, Positive
from vbench.datasets.velociti.vidsitu.labels import MANNER
from vbench.datasets.velociti.vidsitu.phrases import plain
from vbench.datasets.velociti.vidsitu.prompting import Messages
from vbench.datasets.velociti.vidsitu.tally import Tally

REPAIRED = "an answer was repaired"
UNANSWERED = "no answer"

_REFUSALS = frozenset({"refusal", "content_filter"})


@dataclass(frozen=True, slots=True)
class _Question:
    kind: str
    where: str
    messages: Messages
    keys: tuple[str, ...]
    check: Check


@dataclass(frozen=True, slots=True)
class _Accepted:
    fields: Fields
    answers: tuple[str, ...]


class LlmCaptioner:
    """Writes every caption by asking (`captioning.Captioner`).

    Args:
        asker: Asks, by way of the journal.
    """

    def __init__(self, asker: Asker) -> None:
        self._asker = asker

    def describe(self, orders: Sequence[Order], tally: Tally) -> list[Caption | None]:
        """Captions events as labelled; with another agent, the same question on other labels."""
        events = [o.change.applied(o.place.event) if o.change else o.place.event for o in orders]
        questions = [
            _Question(
                "another agent" if order.change else "positive",
                order.place.where,
                prompting.describe(event),
                ("caption",),
                check_description(event, order.change),
            )
            for order, event in zip(orders, events, strict=True)
        ]
        found = self._obtain(questions, tally)
        return [
            Caption(sentence(a.fields["caption"]), event, order.change, a.answers) if a else None
            for order, event, a in zip(orders, events, found, strict=True)
        ]

    def change_manners(self, of: Sequence[Positive], tally: Tally) -> list[Caption | None]:
        """Has a wrong manner thought of, then the caption with it."""
        questions = [
            _replacement("manner", positive, prompting.replace(positive, "manner"), check_manner)
            for positive in of
        ]
        return self._replaced(of, questions, MANNER, tally)

    def change_verbs(self, of: Sequence[Positive], tally: Tally) -> list[Caption | None]:
        """Has a contradictory verb thought of, then the caption with it."""
        questions = [
            _replacement("verb", positive, prompting.replace(positive, "verb"), check_verb)
            for positive in of
        ]
        return self._replaced(of, questions, VERB, tally)

    def _replaced(
        self, of: Sequence[Positive], questions: Sequence[_Question], role: str, tally: Tally
    ) -> list[Caption | None]:
        captions: list[Caption | None] = []
        for positive, found in zip(of, self._obtain(questions, tally), strict=True):
            if found is None:
                captions.append(None)
                continue
            event = positive.place.event
            new = plain(found.fields["replacement"])
            old = event.verb if role == VERB else event.get(role) or ""
            change = Change(role, old, new.lower() if role == VERB else new)
            text = sentence(found.fields["caption"])
            captions.append(Caption(text, change.applied(event), change, found.answers))
        return captions

    def _obtain(self, questions: Sequence[_Question], tally: Tally) -> list[_Accepted | None]:
        """Asks, checks, and asks those that failed once more."""
        first = self._asker.ask([question.messages for question in questions])
        verdicts = [_judge(q, asked) for q, asked in zip(questions, first, strict=True)]
        again = [n for n, v in enumerate(verdicts) if isinstance(v, Complaint) and _mendable(v)]
        repairs = [
            prompting.repair(questions[n].messages, _text(first[n]), str(verdicts[n]))
            for n in again
        ]
        for n, asked in zip(again, self._asker.ask(repairs), strict=True):
            verdicts[n] = _judge(questions[n], asked, (first[n].key,))
            if isinstance(verdicts[n], _Accepted):
                tally.add(REPAIRED, questions[n].where)
        return [_counted(q, v, tally) for q, v in zip(questions, verdicts, strict=True)]


def _counted(question: _Question, verdict: _Accepted | Complaint, tally: Tally) -> _Accepted | None:
    if isinstance(verdict, _Accepted):
        return verdict
    detail = f" ({verdict.detail})" if verdict.reason == UNANSWERED else ""
    tally.add(f"rejected, {question.kind}: {verdict.reason}", question.where + detail)
    return None


def _replacement(
    kind: str, positive: Positive, messages: Messages, check: Callable[[Positive], Check]
) -> _Question:
    keys = ("replacement", "caption")
    return _Question(kind, positive.place.where, messages, keys, check(positive))


def _mendable(complaint: Complaint) -> bool:
    return complaint.reason not in (REFUSED, UNANSWERED)


def _text(asked: Asked) -> str:
    return asked.reply.text if asked.reply else ""


def _judge(
    question: _Question, asked: Asked, before: tuple[str, ...] = ()
) -> _Accepted | Complaint:
    if asked.reply is None:
        return Complaint(UNANSWERED, asked.failure)
    if asked.reply.finish in _REFUSALS:
        return Complaint(REFUSED)
    fields = parse(asked.reply.text, question.keys)
    if isinstance(fields, Complaint):
        return fields
    complaint = question.check(fields)
    return complaint or _Accepted(fields, (*before, asked.key))
