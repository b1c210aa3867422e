"""The story of `vbench export`: a run as the files of another toolkit."""

from __future__ import annotations

from pathlib import Path

from vbench.exchange.official import write_official
from vbench.results.run import load_run


def export_run(path: str, out: str | None = None) -> Path:
    """Writes a finished run as Video-Bench's files.

    Args:
        path: The run folder.
        out: Where to; None: the folder `export` of the run.

    Returns:
        The folder.

    Raises:
        RunError: It is no finished run, asked nothing of Video-Bench, or cannot be written.
    """
    run = load_run(path)
    folder = run.path / "export" if out is None else Path(out)
    write_official(run, folder)
    return folder
