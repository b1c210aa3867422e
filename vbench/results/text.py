"""Plain text for a terminal or a pipe: nothing in it can steer the terminal, nothing wraps."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from rich.cells import cell_len


def visible(text: object) -> str:
    r"""Writes a text as it is, with every character that cannot be seen written out.

    >>> print(visible("a red ball\n\x1b[31m"))
    a red ball\n\x1b[31m
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in str(text))


_PRIVATE = r"(?:api_?key|passw(?:or)?d|authorization|(?:access|auth|hf)_?token|client_?secret)"


def public(value: object, name: str = "") -> object:
    """Returns a setting as it may be handed on: without passwords and keys.

    Args:
        value: The setting; a text may be a whole command.
        name: Of the setting.

    >>> public("https://me:pw@host/v1?api_key=abc&n=1"), public("abc", "model.extra_body.api_key")
    ('https://host/v1?api_key=…&n=1', '…')
    """
    if isinstance(value, list | tuple):
        return [public(entry, name) for entry in value]
    if isinstance(value, Mapping):
        return {key: public(entry, str(key)) for key, entry in value.items()}
    if not isinstance(value, str):
        return value
    if re.search(rf"{_PRIVATE}$", name, re.IGNORECASE):
        return "…"
    text = re.sub(r"(\w://)[^/@\s]+@", r"\1", value)
    return re.sub(rf"({_PRIVATE}['\"]?\s*[:=]\s*)[^&,}}]+", r"\1…", text, flags=re.IGNORECASE)


def aligned(rows: Sequence[Sequence[object]], right: bool = False, indent: int = 2) -> list[str]:
    """Returns one line per row, with cells in columns.

    Args:
        rows: Cells; a row may be shorter than others.
        right: Whether columns after the first are numbers, to be flush right.
        indent: Spaces before each line.

    >>> print(*aligned([["", "all"], ["chrono", 3], ["iden", 12]], right=True), sep="|")
              all|  chrono    3|  iden     12
    """
    texts = [[visible(cell) for cell in row] for row in rows]
    widths: list[int] = []
    for row in texts:
        widths += [0] * (len(row) - len(widths))
        for column, text in enumerate(row):
            widths[column] = max(widths[column], cell_len(text))
    lines = []
    for row in texts:
        cells = []
        for column, text in enumerate(row):
            space = " " * (widths[column] - cell_len(text))
            cells.append(space + text if right and column else text + space)
        lines.append(" " * indent + "  ".join(cells).rstrip())
    return lines


def age(seconds: float) -> str:
    """Writes a span of time roughly.

    >>> [age(s) for s in (4, 200, 8000, 400000)]
    ['4 s', '3 min', '2 h', '4 d']
    """
    for unit, size in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{int(seconds / size)} {unit}"
    return f"{int(seconds)} s"
