"""Which tables and figures of Video-Bench there are, by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from vbench.errors import DataError
from vbench.results.drawing import Drawing
from vbench.results.paper import Row
from vbench.results.videobench import charts
from vbench.results.videobench.ours import Ours
from vbench.results.videobench.parts import figure_7, figure_8, our_models, printed_models, table_1
from vbench.results.videobench.score_table import level_table, score_table
from vbench.results.videobench.standings import figure_2, figure_4, figure_5

NEEDED = (
    "temporal_module", "audio_encoder", "pretraining_size", "instruction_size", "instruction_data",
)  # fmt: skip
"""Columns of a file of models besides `key`; others of Table 1 may be there."""


def drawing(name: str, runs: Sequence[Ours], about: Mapping[str, Row]) -> Drawing:
    """Returns a table or figure.

    Args:
        name: `table1`, `table2`, `table3`, `table3e`, `figure2`, `figure4`, `figure5`, `figure7`
            or `figure8`.
        runs: Our runs.
        about: What is known of our models, by name; from `read_models`.
    """
    if name == "table1":
        return Drawing(table_1(about))
    if name in ("table2", "table3"):
        return Drawing(score_table(name, runs))
    if name == "table3e":
        return Drawing(level_table(runs))
    if name == "figure2":
        table = figure_2(runs)
        return Drawing(table, charts.ranking(table), (7.0, 1.2 + 0.3 * len(table.lines)))
    if name == "figure4":
        table = figure_4(runs)
        return Drawing(table, charts.counts(table), (9.0, 4.0))
    if name == "figure5":
        table = figure_5(runs)
        return Drawing(table, charts.metrics(table), (8.0, 4.5))
    if name == "figure7":
        table = figure_7(runs, about)
        return Drawing(table, charts.modules(table), (7.5, 4.0))
    table = figure_8(runs, about)
    models = printed_models(), our_models(runs, about)
    return Drawing(table, charts.sizes(*models, table.lines), (8.5, 4.0))


def read_models(file: str | None) -> dict[str, Row]:
    """Reads what is known of models: a CSV file in the columns of Table 1.

    Args:
        file: Its `key` is a model's word (`qwen2_5_vl_7b`) or a run's name; None: nothing is known.

    Raises:
        DataError: It cannot be read, or a column is missing.
    """
    import csv

    if file is None:
        return {}
    try:
        with Path(file).open(encoding="utf-8-sig", newline="") as opened:
            read = list(csv.DictReader(opened))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise DataError("the models cannot be read", where=file, why=str(error)) from error
    missing = [name for name in ("key", *NEEDED) if not read or name not in read[0]]
    if missing:
        raise DataError(
            f"the models have no column {', '.join(missing)}",
            where=file,
            mend="a row per model: key," + ",".join(NEEDED),
        )
    for row in read:
        _check_sizes(row, file)
    return {row["key"]: row for row in read}


def _check_sizes(row: Row, file: str) -> None:
    for name in ("pretraining_size", "instruction_size"):
        if row[name] and not row[name].isdigit():
            raise DataError(
                f"'{row[name]}' is no number of samples",
                where=f"{file}, {row['key']}, {name}",
                mend="write 153500, or nothing where there was no such training",
            )
