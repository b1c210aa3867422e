"""The story of `vbench sheet`: samples with the answers of several runs, as one page."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from vbench.results.naming import run_names
from vbench.results.run import load_run
from vbench.results.sheets import page
from vbench.results.store import cannot_write_out, write_atomically


def write_sheet(paths: Sequence[str], names: Sequence[str], out: str) -> Path:
    """Writes a response sheet.

    Args:
        paths: Folders of finished runs.
        names: Samples, as for `vbench show`; none: of each test the first on which the runs
            differ, or the first.
        out: The HTML file.

    Returns:
        The file.

    Raises:
        RunError: There is no such run or sample, or the file cannot be written.
    """
    runs = [load_run(path) for path in paths]
    text = page(list(zip(run_names(runs), runs, strict=True)), names)
    fill = partial(Path.write_text, data=text, encoding="utf-8")
    write_atomically(Path(out), fill, cannot_write_out)
    return Path(out)
