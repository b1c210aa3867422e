"""Captions by template: one sentence a set of role fillers, in the form of the released captions.

The scene comes first, then who does it, the verb in the present continuous and the rest in a fixed
order. True and false captions are made by the same rule, so that form tells nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from vbench.datasets.velociti.vidsitu.labels import (
    MANNER,
    PATIENT,
    SCENE,
    Argument,
    LabelledEvent,
)
from vbench.datasets.velociti.vidsitu.phrases import ing, plain

PREPOSITIONS = frozenset(
    re.findall(
        r"\w+",
        "about above across after against along among around as at away back before behind below "
        "beneath beside between beyond by down during for forward from in inside into like near of "
        "off on onto out outside over past since through to toward towards under underneath until "
        "up upon with within without",
    )
)
DETERMINERS = frozenset(
    re.findall(
        r"\w+",
        "a an the this that these those his her its their my your our some several many both each "
        "every another other all no one two three four five six seven eight nine ten he she it "
        "they everyone everybody someone somebody people men women children",
    )
)
SEVERAL = frozenset(
    re.findall(
        r"\w+",
        "these those some several many both all two three four five six seven eight nine ten they "
        "people men women children",
    )
)

GLOSSES: tuple[tuple[str, str], ...] = (
    ("instrument", "with"),
    ("tool", "with"),
    ("hearer", "to"),
    ("listener", "to"),
    ("recipient", "to"),
    ("destination", "to"),
    ("end point", "to"),
    ("source", "from"),
    ("start point", "from"),
    ("benef", "for"),
    ("topic", "about"),
)
"""What the gloss of a numbered argument holds → how it is attached."""

_ADVERB = re.compile(r"\w+ly", re.IGNORECASE)
_LOOSE_ENDS = " \t.,;:!?"


def event_caption(event: LabelledEvent) -> str | None:
    """Returns the caption of an event, or None where neither Arg0 nor Arg1 says who or what.

    >>> agent, manner = Argument("Arg0", "man in black"), Argument("AMnr", "slowly")
    >>> scene = Argument("AScn", "front porch")
    >>> event_caption(LabelledEvent(0, "sit", (agent, manner, scene)))
    'In the front porch, the man in black is slowly sitting.'
    """
    subject = event.agent or event.get(PATIENT)
    if subject is None:
        return None
    scene = event.get(SCENE)
    who = noun_phrase(subject)
    opening = f"{_attached(scene, 'in', noun_phrase)}, " if scene else ""
    sentence = f"{opening}{who} {predicate(event)}."
    return sentence[0].upper() + sentence[1:]


def predicate(event: LabelledEvent) -> str:
    """Returns what is done, without agent and scene: `is slowly sitting`."""
    has_agent = event.agent is not None
    subject = event.agent if has_agent else event.get(PATIENT)
    manner = _tidy(event.get(MANNER) or "")
    early = bool(_ADVERB.fullmatch(manner))
    rest = [
        _rendered(argument)
        for argument in sorted(event.arguments, key=lambda a: _RANK.get(a.role, -1))
        if argument.role in _RANK and (has_agent or argument.role != PATIENT)
    ]
    parts = [
        "are" if is_several(subject or "") else "is",
        manner.lower() if early else "",
        ing(event.verb),
        *rest,
    ]
    late = f", {manner}" if manner and not early else ""
    return " ".join(filter(None, parts)) + late


def is_several(phrase: str) -> bool:
    """Says whether a phrase names more than one person or thing.

    >>> is_several("two men"), is_several("man and woman"), is_several("man with two hats")
    (True, True, False)
    """
    spelled = plain(phrase).lower().split()
    return bool(spelled) and (spelled[0] in SEVERAL or "and" in spelled[:4])


def noun_phrase(phrase: str) -> str:
    """Returns a phrase that can stand in a sentence: with an article unless it has a determiner.

    >>> noun_phrase("man in black."), noun_phrase("The man"), noun_phrase("Bob"), noun_phrase("he")
    ('the man in black', 'the man', 'Bob', 'he')
    """
    tidy = _tidy(phrase)
    first, _, rest = tidy.partition(" ")
    if first.lower() in DETERMINERS:
        return f"{first.lower()} {rest}".strip()
    return tidy if first[:1].isupper() or first[:1].isdigit() else f"the {tidy}"


def _tidy(text: str) -> str:
    return plain(text).strip(_LOOSE_ENDS)


def _attached(text: str, preposition: str, phrase: Callable[[str], str] | None = None) -> str:
    tidy = _tidy(text)
    first = tidy.partition(" ")[0].lower()
    if first in PREPOSITIONS:
        return tidy[0].lower() + tidy[1:]
    return f"{preposition} {(phrase or noun_phrase)(tidy)}"


def _rendered(argument: Argument) -> str:
    preposition = _RULES.get(argument.role, "")
    if argument.role.startswith("Arg"):
        preposition = _preposition(argument)
    if not preposition:
        tidy = _tidy(argument.text)
        is_phrase = argument.role == PATIENT and tidy.partition(" ")[0].lower() not in PREPOSITIONS
        return noun_phrase(tidy) if is_phrase else tidy
    return _attached(argument.text, preposition)


def _preposition(argument: Argument) -> str:
    """Reads how a numbered argument is attached off its gloss: `thing looked at` says "at"."""
    gloss = argument.key.partition("(")[2].rstrip(") ").lower()
    last = re.split(r"[\s,/]+", gloss)[-1]
    if last in PREPOSITIONS:
        return last
    known = next((word for part, word in GLOSSES if part in gloss), "")
    return known or ("" if argument.role == PATIENT else "with")


_RULES = {"ALoc": "at", "APrp": "for", "AGol": "toward"}
_RANK = {
    role: rank
    for rank, role in enumerate(
        (PATIENT, "Arg2", "Arg3", "Arg4", "Arg5", "ADir", "ALoc", "APrp", "AGol")
    )
}
"""The order of what follows the verb; agent, manner and scene have places of their own."""

GOVERNED = ("Arg2", "Arg3", "Arg4", "Arg5", "ADir")
"""Roles that a verb asks for: another verb would seldom take them."""
