"""What a judge is told, and how its verdict is read."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from vbench.records import Message

Wording = Literal["paper", "clean"]
"""`paper`: Video-Bench's three messages byte for byte, misspelt key and all. `clean`: ours."""

SYSTEM = "As a language expert, please complete the following task."
_TASK = (
    "You are now an answer selection expert, and I will provide you with a question with several "
    "options, as well as a target sentence. Please return the alphabet of the option with the "
    "highest probability of matching this target sentence. Given question with options and the "
    "target sequence:\n"
)
_FORM = (
    'Please output your responses in the form of a dictionary {"maximum probability":"xxx"}  where '
    "xxx is A or B or C or ..."
)
KEY = "maximum probability"

_NAMED = re.compile(rf"[\"']?{KEY}[\"']?\s*:\s*[\"']?\s*([A-Z])\b", re.I)
_ALONE = re.compile(r"^[\s\"'(\[{*]*([A-Z])[\s\"')\]}*.:]*$")


@dataclass(frozen=True)
class Verdict:
    """What a judge chose."""

    letter: str | None
    """None: nothing that is an option."""
    rule: str

    @property
    def is_final(self) -> bool:
        """Whether it settles the matter: an option, or plainly none of them."""
        return self.letter is not None or self.rule == "none"


def judge_message(
    wording: Wording, question: str, options: Mapping[str, str], response: str
) -> Message:
    """Returns what the judge is told. It never learns which option is right.

    Args:
        wording: Whose words.
        question: With its options, as the model was asked.
        options: Letter → text; `clean` shows them anew.
        response: What the model wrote.
    """
    if wording == "paper":
        # Step2_chatgpt_judge.py of PKU-YuanGroup/Video-Bench: Python's own form of a dict.
        shown = str({"target sequcene": response, "question": question})
        return Message(_FORM, SYSTEM, turns=(("assistant", _TASK + shown),))
    listed = "\n".join(f"{letter}. {text}" for letter, text in options.items())
    return Message(
        "Which option does the answer choose? Judge only what the answer says, not whether it is "
        f"right.\n\nQuestion and options:\n{question}\n\nOptions:\n{listed}\n\nAnswer:\n{response}"
        f'\n\nReply with JSON: {{"{KEY}": LETTER}}, LETTER being one of {", ".join(options)}, or '
        '"none" if the answer chooses no option.'
    )


def read_verdict(text: str, letters: Sequence[str]) -> Verdict:
    """Reads a judge's reply: as the JSON it was asked for, else by what is plainly meant.

    Args:
        text: The reply.
        letters: Of the sample's own options; no other is a verdict.

    >>> read_verdict('{"maximum probability":"B"}', "AB")
    Verdict(letter='B', rule='json')
    >>> read_verdict('Sure: {"maximum probability": "b"} because …', "AB").rule
    'named'
    >>> read_verdict('{"maximum probability":"E"}', "AB")
    Verdict(letter=None, rule='no_option')
    """
    found, rule = _json(text), "json"
    if found is None:
        named = {letter.upper() for letter in _NAMED.findall(text)}
        alone = _ALONE.match(text.strip())
        if len(named) == 1:
            found, rule = named.pop(), "named"
        elif not named and alone:
            found, rule = alone[1], "alone"
        else:
            return Verdict(None, "several" if named else "unreadable")
    if found.lower() == "none":
        return Verdict(None, "none")
    return Verdict(found, rule) if found in letters else Verdict(None, "no_option")


def _json(text: str) -> str | None:
    try:
        held = json.loads(text)
    except (ValueError, RecursionError):
        return None
    found = held.get(KEY) if isinstance(held, dict) else None
    return found.strip() if isinstance(found, str) else None
