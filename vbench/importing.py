"""The story of `vbench import`: run folders from another harness's results."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import get_args

from vbench.errors import ConfigError, did_you_mean
from vbench.exchange import lmms_eval, vlmevalkit
from vbench.exchange.foreign import write_run
from vbench.scorers.readers import Reader

HARNESSES = {lmms_eval.HARNESS: lmms_eval.read, vlmevalkit.HARNESS: vlmevalkit.read}


def import_results(
    harness: str,
    path: str,
    out: str = "outputs/imported",
    name: str | None = None,
    reader: str = "rules",
) -> Iterator[Path]:
    """Makes run folders of results.

    Args:
        harness: `lmms-eval` or `vlmevalkit`.
        path: A file or folder of its results.
        out: Where the run folders go.
        name: The model's name; None: as the files or folders say.
        reader: How answers become letters: `rules`, or as published.

    Yields:
        The run folders.

    Raises:
        ConfigError: There is no such harness or reader, or no such file.
        DataError: The results cannot be read, or are not about multiple-choice questions.
        RunError: A folder cannot be written.
    """
    if harness not in HARNESSES:
        raise ConfigError(
            f"results of '{harness}' cannot be imported",
            where="vbench import",
            mend=did_you_mean(harness, list(HARNESSES)),
        )
    readers: tuple[Reader, ...] = get_args(Reader)
    chosen = next((one for one in readers if one == reader), None)
    if chosen is None:
        mend = did_you_mean(reader, readers)
        raise ConfigError(f"there is no reader '{reader}'", where="--reader", mend=mend)
    if not Path(path).exists():
        raise ConfigError("there is no such file or folder", where=path, mend="name the results")
    for origin, items in HARNESSES[harness](Path(path), name):
        yield write_run(items, origin, Path(out), chosen)
