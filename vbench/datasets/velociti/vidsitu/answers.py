"""Reads a language model's answer and says what is wrong with it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from vbench.datasets.velociti.vidsitu.captioning import Change, Positive
from vbench.datasets.velociti.vidsitu.labels import MANNER, LabelledEvent
from vbench.datasets.velociti.vidsitu.phrases import (
    contains,
    inflections,
    overlaps,
    plain,
    word_set,
    words,
)

MAX_WORDS = 80
"""The longest released caption has 69 words."""

MAX_REWRITTEN = 0.25
"""Share of the true caption's other words that a false one may lack."""

REFUSED = "refused"

_REFUSAL = re.compile(
    r"\s*(?:i['’]?m (?:very )?sorry|sorry|i apologi[sz]e|i can(?:no|['’])t|i am (?:not able|unable)"
    r"|i['’]m (?:not able|unable)|i won['’]t|as an ai)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Complaint:
    """Why an answer cannot be used."""

    reason: str
    """What is counted."""
    detail: str = ""
    """What the model is told; the reason where empty."""

    def __str__(self) -> str:
        return self.detail or self.reason


Fields = Mapping[str, str]
Check = Callable[[Fields], Complaint | None]


def parse(text: str, keys: tuple[str, ...]) -> Fields | Complaint:
    """Reads the JSON object of an answer, whatever stands around it.

    Args:
        text: The answer.
        keys: The texts it must hold.

    >>> parse('Sure: {"caption": "A dog barks."}', ("caption",))
    {'caption': 'A dog barks.'}
    >>> parse('{"caption": "A dog ba', ("caption",)).reason
    'half a JSON object'
    >>> parse("I'm sorry, but no.", ("caption",)).reason, parse("blah", ("caption",)).reason
    ('refused', 'no JSON object')
    """
    start = text.find("{")
    if start < 0:
        if not text.strip():
            return Complaint("an empty answer")
        return Complaint(REFUSED if _REFUSAL.match(text) else "no JSON object")
    try:
        found, _ = json.JSONDecoder().raw_decode(text[start:])
    except (json.JSONDecodeError, RecursionError):
        whole = "}" in text[start:]
        return Complaint("JSON that cannot be read" if whole else "half a JSON object")
    fields = {}
    for key in keys:
        value = found.get(key)
        if not isinstance(value, str) or not any(map(str.isalnum, value)):
            return Complaint("a key is missing or empty", f'"{key}" must be a text')
        fields[key] = value
    return fields


def sentence(caption: str) -> str:
    """Returns a caption as the released ones are written: one line, capital, full stop, ASCII."""
    text = plain(caption).strip('" ')
    text = text[:1].upper() + text[1:]
    return text if text.endswith(".") else f"{text.rstrip('!?;,: ')}."


def check_description(event: LabelledEvent, change: Change | None) -> Check:
    """Returns the check of a caption of an event, as labelled or with another agent."""

    def check(fields: Fields) -> Complaint | None:
        caption = sentence(fields["caption"])
        wrong = _form(caption) or _agent(caption, event)
        if wrong is None and change is not None and not contains(change.new, change.old):
            said = [a.text for a in event.arguments]
            if contains(caption, change.old) and not any(contains(t, change.old) for t in said):
                return Complaint("the old agent is still there", f"'{change.old}' must not occur")
        return wrong

    return check


def check_manner(positive: Positive) -> Check:
    """Returns the check of a caption with another manner."""
    place = positive.place
    old = place.event.get(MANNER) or ""

    def check(fields: Fields) -> Complaint | None:
        new, caption = plain(fields["replacement"]), sentence(fields["caption"])
        if any(overlaps(new, used) for used in place.video.manners):
            return Complaint(
                "the replacement is a manner of the video, or part of one",
                f"'{new}' is one of the manners of the clip, or a part or an extension of one",
            )
        return (
            _form(caption)
            or _agent(caption, place.event)
            or _replaced(caption, word_set(old), contains(caption, old), new, contains)
            or _rewritten(caption, positive, word_set(old))
        )

    return check


def check_verb(positive: Positive) -> Check:
    """Returns the check of a caption with another action."""
    place = positive.place
    old = inflections(place.event.verb)

    def check(fields: Fields) -> Complaint | None:
        new, caption = plain(fields["replacement"]).lower(), sentence(fields["caption"])
        forms = inflections(new)
        if any(forms & inflections(done) for done in place.video.verbs):
            return Complaint(
                "the adversarial verb occurs in the video", f"'{new}' is a verb of the clip"
            )
        told = {word for a in place.event.arguments for word in words(a.text)}
        still = bool((old - told) & word_set(caption))
        return (
            _form(caption)
            or _agent(caption, place.event)
            or _replaced(caption, old, still, new, lambda text, _: bool(forms & word_set(text)))
            or _rewritten(caption, positive, old)
        )

    return check


def _form(caption: str) -> Complaint | None:
    if len(caption.split()) > MAX_WORDS:
        return Complaint("the caption is too long", f"at most {MAX_WORDS} words")
    return None


def _agent(caption: str, event: LabelledEvent) -> Complaint | None:
    if event.agent is not None and not contains(caption, event.agent):
        return Complaint(
            "the agent is not in the caption", f"the caption must hold the words '{event.agent}'"
        )
    return None


def _replaced(
    caption: str, old: frozenset[str], still: bool, new: str, holds: Callable[[str, str], bool]
) -> Complaint | None:
    if still:
        return Complaint(
            "the true filler is still there", f"{', '.join(sorted(old))} must be replaced"
        )
    if not holds(caption, new):
        return Complaint("the replacement is not in the caption", f"the caption must hold '{new}'")
    return None


def _rewritten(caption: str, positive: Positive, old: frozenset[str]) -> Complaint | None:
    others = word_set(positive.caption.text) - old
    lost = others - word_set(caption)
    if len(lost) > MAX_REWRITTEN * len(others):
        return Complaint(
            "more was changed than the one thing", "leave every other word of the caption as it is"
        )
    return None
