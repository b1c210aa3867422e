"""Figures as PNG and SVG files, with their numbers beside them. Matplotlib is at home here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from vbench.results.store import cannot_write_out, write_atomically
from vbench.results.tables import Table, save, to_html

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_SETTINGS = {
    "text.parse_math": False,  # a run may be called anything, $x^2$ included
    "svg.hashsalt": "vbench",  # the same file each time
    "svg.fonttype": "none",
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
}

PRINTED, OURS, PLAIN = "#4477aa", "#ee6677", "#bbbbbb"
"""Colours of printed values, of ours and of chance; told apart by colour-blind eyes, too."""


@dataclass(frozen=True)
class Drawing:
    """A figure: its numbers as a table, and how they are drawn."""

    table: Table
    draw: Callable[[Figure], None] | None = None
    """Draws into an empty figure; None for a table."""
    size: tuple[float, float] = (7.0, 4.0)
    """Width and height in inches."""


def save_drawing(drawing: Drawing, folder: Path, name: str) -> list[Path]:
    """Writes `<name>.png` and `.svg`, and the numbers as `.md`, `.tex`, `.csv` and `.html`.

    Args:
        drawing: What to write.
        folder: Where to; made if need be.
        name: Of the files, without ending.

    Returns:
        The files.

    Raises:
        RunError: The folder cannot be written.
    """
    save(drawing.table, folder, name, cannot_write_out)
    page = partial(Path.write_text, data=to_html(drawing.table), encoding="utf-8")
    write_atomically(folder / f"{name}.html", page, cannot_write_out)
    endings = ["md", "tex", "csv", "html"]
    if drawing.draw is not None:
        endings += _save_pictures(drawing, folder, name)
    return [folder / f"{name}.{ending}" for ending in endings]


def _save_pictures(drawing: Drawing, folder: Path, name: str) -> list[str]:
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context(_SETTINGS):
        figure = Figure(figsize=drawing.size, layout="constrained")
        if drawing.draw is not None:
            drawing.draw(figure)
        for ending, metadata in (("png", {}), ("svg", {"Date": None})):
            write = partial(figure.savefig, format=ending, dpi=150, metadata=metadata)
            write_atomically(folder / f"{name}.{ending}", write, cannot_write_out)
    return ["png", "svg"]
