"""A finished run, as Python sees it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vbench.errors import RunError
from vbench.results.store import read_config

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Run:
    """A run folder with its summary."""

    path: Path
    config: dict[str, Any]
    """As composed and resolved."""
    summary: dict[str, Any]
    """`tests`: estimates by test; `coverage`: n, answered, statuses, failed."""

    @cached_property
    def records(self) -> pd.DataFrame:
        """One row per (test, sample_id)."""
        import pandas as pd

        return pd.read_parquet(self.path / "records.parquet")

    @property
    def exit_code(self) -> int:
        """0: everything was answered; 3: failures are recorded."""
        return 3 if self.summary["coverage"]["failed"] else 0


def load_run(path: str | Path) -> Run:
    """Reads a finished run.

    Args:
        path: The run folder.

    Raises:
        RunError: It is no run folder, or the run is not finished, or its summary is damaged.
    """
    folder = Path(path)
    config = read_config(folder)
    if not (folder / "summary.json").is_file():
        raise RunError(
            "the run is not finished", where=str(folder), why="it has no summary.json",
            mend="type its command again: it resumes",
        )  # fmt: skip
    return Run(folder, config, _summary(folder / "summary.json"))


def _summary(file: Path) -> dict[str, Any]:
    try:
        summary: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        if not {"tests", "coverage"} <= summary.keys():
            raise ValueError("it has no 'tests' or no 'coverage'")
    except (OSError, ValueError, AttributeError) as error:
        raise RunError(
            "the run's summary cannot be read",
            where=str(file),
            why=str(error),
            mend="delete it, and type the run's command again: it writes it from the answers",
        ) from error
    return summary


def metric_mark(config: Mapping[str, Any]) -> str:
    """Returns how a run's numbers differ from plain strict accuracy, empty where they do not.

    Args:
        config: A run's settings, plain and nested.
    """
    metric, tie = config["command"]["choices"].get("metric"), config["metric"].get("tie")
    name = f"metric={metric}" if metric not in ("velociti", "accuracy") else ""
    ties = f"tie={tie}" if tie not in (None, "strict") else ""
    return ", ".join(mark for mark in (name, ties) if mark)
