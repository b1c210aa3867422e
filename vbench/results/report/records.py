"""A run's answers as columns: rows are made where they are looked at, a batch at a time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from vbench.results.rows import read_records

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
        self._table = read_records(folder)

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
