"""One table, five ways to write it: terminal, Markdown, LaTeX (booktabs), CSV and HTML.

Names of runs, models, tests and groups come from users and datasets, so every text is escaped for
its format and rid of control characters, which could otherwise steer a terminal.
"""

from __future__ import annotations

import csv
import html
import io
import re
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any

from rich import box
from rich.table import Table as RichTable
from rich.text import Text

from vbench.errors import RunError
from vbench.results.store import cannot_write, write_atomically


@dataclass(frozen=True)
class Cell:
    """What stands in one place. An empty cell is shown as a dash and left out of the CSV."""

    text: str = ""
    """As a reader sees it, not escaped."""
    numbers: Mapping[str, Any] = field(default_factory=dict)
    """The same unrounded, by name; only the CSV has room for them."""
    place: int = 0
    """1: the first of those it is compared with, 2: the second; 0: neither, or not compared."""


@dataclass(frozen=True)
class Column:
    """A column beside the labels."""

    key: str
    """Its name in the CSV."""
    title: str
    group: str = ""
    """A heading over neighbouring columns of the same group."""
    detail: bool = False
    """It restates numbers of another column: not in the CSV."""


@dataclass(frozen=True)
class Line:
    """A row: its label and a cell per column."""

    label: str
    cells: tuple[Cell, ...]
    detail: bool = False
    """It qualifies the line above: dim in a terminal, indented elsewhere, not in the CSV."""


@dataclass(frozen=True)
class Table:
    """What is written."""

    title: str
    corner: str
    """The heading over the labels."""
    columns: tuple[Column, ...]
    lines: tuple[Line, ...]
    notes: tuple[str, ...] = ()
    """Printed below; not in the CSV."""


def to_terminal(table: Table) -> RichTable:
    """Returns the table for `rich.console.Console.print`."""
    notes = Text("\n".join(map(_plain, table.notes)), justify="left")
    shown = RichTable(
        title=Text(_plain(table.title), justify="left"),
        caption=notes if table.notes else None,
        title_justify="left",
        caption_justify="left",
        box=box.MINIMAL,
        padding=0,
        pad_edge=False,
    )
    # In a narrow terminal numbers may break, between value and interval, but labels stay whole.
    shown.add_column(Text(_plain(table.corner)), no_wrap=True)
    for column in table.columns:
        heading = Text(_plain(f"{column.group} {column.title}"))
        shown.add_column(heading, justify="right", overflow="fold")
    for line in table.lines:
        label = textwrap.fill(_plain(line.label), 24, subsequent_indent="  ")
        label = textwrap.indent(label, "  " if line.detail else "")
        cells = [Text(_plain(cell.text) or "-", style=_STYLE[cell.place]) for cell in line.cells]
        shown.add_row(Text(label), *cells, style="dim" if line.detail else None)
    return shown


def to_markdown(table: Table) -> str:
    """Returns a GitHub-flavoured Markdown table with its title above and notes below."""
    titles = [_markdown(f"{column.group} {column.title}") for column in table.columns]
    rows = [
        [_markdown(table.corner), *titles],
        [":---", *("---:" for _ in table.columns)],
        *(
            [
                ("&emsp;" if line.detail else "") + _markdown(line.label),
                *(_marked(_markdown(cell.text), _MARKDOWN[cell.place]) for cell in line.cells),
            ]
            for line in table.lines
        ),
    ]
    body = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    notes = "\n".join(f"- {_markdown(note)}" for note in table.notes)
    return f"**{_markdown(table.title)}**\n\n{body}\n" + (f"\n{notes}\n" if notes else "")


def to_latex(table: Table) -> str:
    r"""Returns a LaTeX table; the document needs `\usepackage{booktabs}`."""
    heads = [[_latex(table.corner), *(_latex(column.title) for column in table.columns)]]
    body = [
        [
            ("\\quad " if line.detail else "") + _latex(line.label),
            *(_marked(_latex(cell.text), _LATEX_PLACE[cell.place]) for cell in line.cells),
        ]
        for line in table.lines
    ]
    parts = [
        "\\begin{table}\n\\centering",
        f"\\caption{{{_latex(table.title)}}}",
        f"\\begin{{tabular}}{{l{'r' * len(table.columns)}}}",
        "\\toprule",
        *_latex_groups(table.columns),
        *_latex_rows(heads),
        "\\midrule",
        *_latex_rows(body),
        "\\bottomrule\n\\end{tabular}",
        *(f"\\par{{\\footnotesize {_latex(note)}}}" for note in table.notes),
        "\\end{table}\n",
    ]
    return "\n".join(parts)


def _latex_groups(columns: Sequence[Column]) -> list[str]:
    if not any(column.group for column in columns):
        return []
    heads, rules, first = [""], "", 2
    for group, members in groupby(columns, lambda column: column.group):
        width = len(list(members))
        heads.append(f"\\multicolumn{{{width}}}{{c}}{{{_latex(group)}}}")
        if group:
            rules += f"\\cmidrule(lr){{{first}-{first + width - 1}}}"
        first += width
    return [*_latex_rows([heads]), rules]


def _latex_rows(rows: Sequence[Sequence[str]]) -> list[str]:
    joined = [" & ".join(row) for row in rows]
    # An empty group keeps labels such as [a] and *a from being read as arguments of the \\ before.
    return [("{}" if row[:1] in ("[", "*") else "") + f"{row} \\\\" for row in joined]


def to_csv(table: Table) -> str:
    """Returns one line per cell that restates no other: its row, column, text and raw numbers.

    The numbers' names are the header of the remaining columns. Text that a spreadsheet would run as
    a formula gets a leading apostrophe.
    """
    cells = [
        (line.label, column.key, cell)
        for line in table.lines
        for column, cell in zip(table.columns, line.cells, strict=True)
        if cell.text and not line.detail and not column.detail
    ]
    names = list(dict.fromkeys(name for *_, cell in cells for name in cell.numbers))
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["row", "column", "text", *names])
    for label, key, cell in cells:
        texts = [_csv_text(text) for text in (label, key, cell.text)]
        writer.writerow([*texts, *(cell.numbers.get(name) for name in names)])
    return out.getvalue()


def to_html(table: Table) -> str:
    """Returns a `<table>` with its title as caption and its notes below; no page around it."""
    groups = [(group, len(list(of))) for group, of in groupby(table.columns, lambda c: c.group)]
    spans = "".join(f'<th colspan="{width}">{_html(group)}</th>' for group, width in groups)
    heads = "".join(f"<th>{_html(column.title)}</th>" for column in table.columns)
    body = "\n".join(
        f'<tr{_DETAIL_CLASS if line.detail else ""}><th scope="row">{_html(line.label)}</th>'
        + "".join(_html_cell(cell) for cell in line.cells)
        + "</tr>"
        for line in table.lines
    )
    notes = "".join(f"<li>{_html(note)}</li>" for note in table.notes)
    return (
        f"<table>\n<caption>{_html(table.title)}</caption>\n<thead>\n"
        + (f"<tr><th></th>{spans}</tr>\n" if any(group for group, _ in groups) else "")
        + f"<tr><th>{_html(table.corner)}</th>{heads}</tr>\n</thead>\n"
        + f"<tbody>\n{body}\n</tbody>\n</table>\n"
        + (f"<ul>{notes}</ul>\n" if notes else "")
    )


FORMATS = {"md": to_markdown, "tex": to_latex, "csv": to_csv}
"""Writers of files, by file ending."""


def save(
    table: Table,
    folder: Path,
    name: str,
    refused: Callable[[Path, OSError], RunError] = cannot_write,
) -> None:
    """Writes `<name>.md`, `<name>.tex` and `<name>.csv`, each atomically.

    Args:
        table: The table.
        folder: Where to.
        name: Of the files, without ending.
        refused: Makes the error; see `write_atomically`.

    Raises:
        RunError: The folder cannot be written.
    """
    for ending, write in FORMATS.items():
        fill = partial(Path.write_text, data=write(table), encoding="utf-8")
        write_atomically(folder / f"{name}.{ending}", fill, refused)


_STYLE = ("", "bold blue", "underline green")
_MARKDOWN = ("{}", "**{}**", "*{}*")
_LATEX_PLACE = ("{}", "\\textbf{{{}}}", "\\underline{{{}}}")
"""How the first and the second look: blue and green as on paper, where there is colour."""

_DETAIL_CLASS = ' class="detail"'


def _marked(text: str, form: str) -> str:
    return form.format(text) if text else "-"


def _html_cell(cell: Cell) -> str:
    text = _html(cell.text) or "-"
    kind = ("", ' class="first"', ' class="second"')[cell.place]
    inner = (text, f"<b>{text}</b>", f"<u>{text}</u>")[cell.place]
    return f"<td{kind}>{inner}</td>"


def _html(text: str) -> str:
    return html.escape(_plain(text))


def _plain(text: str) -> str:
    """Makes every character that is not printable a space: line breaks, escapes, bidi overrides."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def _markdown(text: str) -> str:
    text = re.sub(r"([\\`*<>|~$&])", r"\\\1", _plain(text))
    text = re.sub(r"\](?=[(\[:])", r"\]", text)
    text = re.sub(r"^(\d*)([#+-]|[.)](?= ))", r"\1\\\2", text)
    # Within a word an underscore is only itself: agent_bind stays readable in the source.
    return re.sub(r"(?<![^\W_])_|_(?![^\W_])", r"\\_", text)


_LATEX = {
    "\\": "\\textbackslash{}", "{": "\\{", "}": "\\}", "$": "\\$", "&": "\\&", "#": "\\#",
    "%": "\\%", "_": "\\_", "~": "\\textasciitilde{}", "^": "\\textasciicircum{}",
    "<": "\\textless{}", ">": "\\textgreater{}", "|": "\\textbar{}",
}  # fmt: skip


def _latex(text: str) -> str:
    # An empty group between dashes keeps --flag from becoming an en dash.
    return "".join(_LATEX.get(c, c) for c in _plain(text)).replace("--", "-{}-{}")


def _csv_text(text: str) -> str:
    text = _plain(text)
    return f"'{text}" if text.startswith(("=", "+", "-", "@")) else text
