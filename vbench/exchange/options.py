"""The options of a question, from fields of other harnesses or from the prompt that was shown."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

_LINE = re.compile(r"^\s*(?:\(([A-Z])\)|([A-Z])[.):])[ \t]*(\S.*?)\s*$")
"""`(A) a dog`, `A. a dog`, `A) a dog`, `A: a dog`."""

FIELDS = ("options", "candidates", "choices")
"""Where harnesses keep the options of a question."""

YES_NO = {"A": "Yes", "B": "No"}


def from_fields(row: Mapping[str, Any]) -> dict[str, str]:
    """Returns the options of a row: a list in one field, or columns A, B, C, …; none: empty.

    >>> from_fields({"candidates": "['A. a cat', 'B. a dog']"})
    {'A': 'a cat', 'B': 'a dog'}
    >>> from_fields({"A": "a cat", "B": "a dog", "C": None, "answer": "A"})
    {'A': 'a cat', 'B': 'a dog'}
    """
    for name in FIELDS:
        value = row.get(name)
        if isinstance(value, Mapping):
            return {str(k): str(v) for k, v in value.items() if v is not None}
        listed = _listed(value)
        if listed:
            return lettered(listed)
    found = {}
    for letter in _LETTERS:
        if _is_text(row.get(letter)):
            found[letter] = str(row[letter]).strip()
    return found


def from_prompt(text: str) -> dict[str, str]:
    r"""Returns the options that a prompt lists, a line each, from A on; the last list counts.

    >>> from_prompt("What is it?\n(A) a cat\n(B) a dog\nOnly give the best option.")
    {'A': 'a cat', 'B': 'a dog'}
    >>> from_prompt("A. Lincoln was president. Was he tall?")
    {}
    """
    found: dict[str, str] = {}
    best: dict[str, str] = {}
    for line in text.splitlines():
        match = _LINE.match(line)
        if match is None:
            continue
        letter = match[1] or match[2]
        if letter == "A":
            found = {}
        if letter == _LETTERS[len(found)]:
            found[letter] = match[3]
            if len(found) > 1:
                best = dict(found)
    return best


def lettered(texts: Sequence[Any]) -> dict[str, str]:
    """Letters options in order; letters that the texts have already are taken off."""
    plain = [str(text) for text in texts]
    matches = [_LINE.match(text) for text in plain]
    own = [match is not None and (match[1] or match[2]) == _LETTERS[n]
           for n, match in enumerate(matches)]  # fmt: skip
    if plain and all(own):
        plain = [match[3] for match in matches if match is not None]
    return dict(zip(_LETTERS, plain, strict=False))


def letter_of(target: object, options: Mapping[str, str]) -> str | None:
    """Returns the letter that a target means: a letter, an option's text, or its number from 0.

    >>> letter_of("(B) a dog", {"A": "a cat", "B": "a dog"})
    'B'
    >>> letter_of("1", {"A": "a cat", "B": "a dog"}), letter_of("3", {"A": "1", "B": "3"})
    ('B', 'B')
    """
    text = str(target).strip()
    for letter, option in options.items():
        if text == letter or text.casefold() == option.strip().casefold():
            return letter
    match = re.fullmatch(r"\(?([A-Z])\)?[.):]?(?:\s.*)?", text, re.S)
    if match and match[1] in options:
        return match[1]
    if text.isdigit() and int(text) < len(options):
        return list(options)[int(text)]
    return None


def _listed(value: object) -> list[Any]:
    """Reads a list that a table holds as text: JSON, or as Python writes one. Nothing is run."""
    if isinstance(value, list | tuple):
        return list(value)
    if not isinstance(value, str) or not value.lstrip().startswith("[") or len(value) > 100_000:
        return []
    try:
        found = json.loads(value)
    except ValueError:
        try:
            found = ast.literal_eval(value.strip())
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            return []
    return list(found) if isinstance(found, list) else []


def _is_text(value: object) -> bool:
    return value is not None and value == value and str(value).strip() != ""  # NaN is not itself
