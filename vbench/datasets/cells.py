"""Reads single cells of a user's table; never guesses."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Literal

from vbench.datasets.rows import Row

AnswerAs = Literal["auto", "letter", "index", "text"]

_LETTER = re.compile(r"\(?([A-Za-z])[).:]?")
_WORDS = {"yes": 0, "true": 0, "no": 1, "false": 1}
YES_NO = ("yes", "no")


class CellError(ValueError):
    """A cell that cannot be used.

    Args:
        column: Its column.
        problem: What is wrong.
    """

    def __init__(self, column: str, problem: str) -> None:
        super().__init__(f"column '{column}': {problem}")


def text_cell(row: Row, column: str) -> str:
    """Returns a text or number as a text; it may not be blank.

    >>> text_cell({"a": 7}, "a"), text_cell({"a": "x "}, "a")
    ('7', 'x ')

    Raises:
        CellError: It is missing, blank or something else.
    """
    value = _present(row, column)
    return _as_text(value, column)


def seconds_cell(row: Row, column: str) -> float:
    """Returns a time in seconds, not negative.

    Raises:
        CellError: It is missing or no such number.
    """
    value = _present(row, column)
    try:
        seconds = math.nan if isinstance(value, bool) else float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        seconds = math.nan
    if not 0 <= seconds < math.inf:
        raise CellError(column, f"{_shown(value)} is no time in seconds")
    return seconds


def list_cell(row: Row, column: str) -> list[str]:
    """Returns a list of texts: a list, a JSON list in a text, or an object keyed A, B, ….

    >>> list_cell({"o": '["a cat", 3]'}, "o")
    ['a cat', '3']
    >>> list_cell({"o": {"A": "x", "B": "y", "C": None}}, "o")
    ['x', 'y']

    Raises:
        CellError: It is no such list, or an entry is blank.
    """
    value = _present(row, column)
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            value = None
        if not isinstance(value, list | dict):
            raise CellError(column, f'{_shown(row[column])} is no JSON list: ["…", "…"]')
    if isinstance(value, Mapping):
        letters = [chr(ord("A") + i) for i in range(len(value))]
        if sorted(map(str, value)) != letters:
            raise CellError(column, f"its keys are {', '.join(map(str, value))}, not A, B, …")
        value = [value[letter] for letter in letters]
    if not isinstance(value, Sequence):
        raise CellError(column, f"{_shown(value)} is no list")
    return _without_tail([(entry, column) for entry in value])


def column_cells(row: Row, columns: Sequence[str]) -> list[str]:
    """Returns the texts of several columns; the last ones may be blank and are left out.

    Raises:
        CellError: One before a filled one is blank.
    """
    return _without_tail([(row.get(column), column) for column in columns])


def answer_index(
    row: Row, column: str, options: Sequence[str], names: Sequence[str], read_as: AnswerAs
) -> int:
    """Returns which option is right.

    Args:
        row: The row.
        column: The answer's column.
        options: The options.
        names: The columns that the options stand in, where each has its own.
        read_as: How to read the answer; `auto`: as letter, 0-based index, text or column name,
            provided that all that fit agree.

    >>> answer_index({"a": "B"}, "a", ["cat", "dog"], [], "auto")
    1
    >>> answer_index({"a": "1"}, "a", ["1", "2"], [], "auto")
    Traceback (most recent call last):
    vbench.datasets.cells.CellError: column 'a': '1' can be read two ways: by index it is '2', by \
text it is '1'; set dataset.answer_as=letter|index|text

    Raises:
        CellError: It is none of them, or can be read two ways.
    """
    value = _present(row, column)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    answer = _as_text(value, column).strip()
    readings = {
        "letter": _by_letter(answer, len(options)),
        "index": _by_index(answer, len(options)),
        "text": _by_text(answer, options),
        "column": [i for i, name in enumerate(names) if name == answer],
    }
    if read_as != "auto":
        readings = {read_as: readings[read_as]}
    found = {(way, index) for way, indices in readings.items() for index in indices}
    indices = {index for _, index in found}
    if len(indices) == 1:
        return indices.pop()
    if not indices:
        ways = "letter, index from 0 or text" if read_as == "auto" else read_as
        raise CellError(column, f"{_shown(value)} is none of {len(options)} options by {ways}")
    shown = ", ".join(f"by {way} it is {options[i]!r}" for way, i in sorted(found))
    raise CellError(
        column,
        f"{_shown(value)} can be read two ways: {shown}; set dataset.answer_as=letter|index|text",
    )


def yes_no_index(row: Row, column: str) -> int:
    """Returns the index in `YES_NO`.

    Raises:
        CellError: It is neither yes, no, true nor false.
    """
    value = _present(row, column)
    index = _WORDS.get(str(value).strip().casefold())
    if index is None:
        raise CellError(column, f"{_shown(value)} is neither yes, no, true nor false")
    return index


def _by_letter(answer: str, count: int) -> list[int]:
    match = _LETTER.fullmatch(answer)
    index = ord(match[1].upper()) - ord("A") if match else count
    return [index] if index < count else []


def _by_index(answer: str, count: int) -> list[int]:
    plain = answer.isascii() and answer.isdecimal() and len(answer) < 5
    return [int(answer)] if plain and int(answer) < count else []


def _by_text(answer: str, options: Sequence[str]) -> list[int]:
    exact = [i for i, option in enumerate(options) if option.strip() == answer]
    folded = answer.casefold()
    return exact or [i for i, o in enumerate(options) if o.strip().casefold() == folded]


def _without_tail(cells: list[tuple[object, str]]) -> list[str]:
    while cells and _is_blank(cells[-1][0]):
        cells.pop()
    for value, column in cells:
        if _is_blank(value):
            raise CellError(column, "it is empty, but a later option is not")
    return [_as_text(value, column) for value, column in cells]


def _present(row: Row, column: str) -> object:
    value = row.get(column)
    if _is_blank(value):
        raise CellError(column, "it is empty")
    return value


def _is_blank(value: object) -> bool:
    if isinstance(value, float):
        return math.isnan(value)
    return value is None or (isinstance(value, str) and not value.strip())


def _as_text(value: object, column: str) -> str:
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:  # JSON can spell it: "\ud83c"
            raise CellError(
                column, f"{_shown(value)} is no valid text: it holds half a character"
            ) from None
        return value
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    raise CellError(column, f"{_shown(value)} is no text")


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}…"
