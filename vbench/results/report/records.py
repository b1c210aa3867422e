"""A run's answers as columns: rows are made where they are looked at, a batch at a time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from vbench.errors import RunError

_BATCH = 16_384
"""Rows that are Python objects at once."""


class Records:
    """The rows of a run's records.parquet.

    Args:
        folder: The run folder.

    Raises:
        RunError: The file cannot be read.
    """

    def __init__(self, folder: Path) -> None:
        file = folder / "records.parquet"
        try:
            self._table = pq.read_table(file)
        except (OSError, ValueError) as error:  # Arrow's errors are ValueErrors
            raise RunError(
                "the records of a run cannot be read",
                where=str(file),
                why=str(error).splitlines()[0],
                mend="type the run's command again: it writes them from the stored answers",
            ) from error

    def rows(self, *names: str) -> Iterator[dict[str, Any]]:
        """Yields all rows with these fields only.

        Args:
            names: Columns.
        """
        yield from rows_of(self._table.select(names))

    def at(self, places: Sequence[int | None]) -> list[Mapping[str, Any] | None]:
        """Returns whole rows.

        Args:
            places: Their numbers; None where there is none.
        """
        there = iter(rows_at(self._table, [place for place in places if place is not None]))
        return [None if place is None else next(there) for place in places]


def rows_of(table: pa.Table) -> Iterator[dict[str, Any]]:
    """Yields a table's rows without ever holding all of them as Python objects.

    Args:
        table: Any.
    """
    for batch in table.to_batches(max_chunksize=_BATCH):
        yield from batch.to_pylist()


def rows_at(table: pa.Table, places: Sequence[int]) -> list[dict[str, Any]]:
    """Returns a table's rows of these numbers.

    Args:
        table: Any.
        places: The numbers.
    """
    found: list[dict[str, Any]] = table.take(pa.array(places, pa.int64())).to_pylist()
    return found
