"""VELOCITI's Table 1: how many videos and samples a test has, as printed, released and in a run."""

from __future__ import annotations

from collections.abc import Sequence

from vbench.results.paper import SOURCE, Row, items, read
from vbench.results.run import Run
from vbench.results.samples import read_samples
from vbench.results.tables import Cell, Column, Line, Table

_COLUMNS = (
    Column("retention_percent", "R (%)"),
    Column("videos", "printed", "Videos"),
    Column("our_videos", "ours", "Videos"),
    Column("tests", "printed", "Samples"),
    Column("released", "released", "Samples"),
    Column("our_tests", "ours", "Samples"),
    Column("human_eval_samples", "humans", "Samples"),
)

_NOTES = (
    "R: samples kept after quality control, as printed; `ours`: what the runs were asked",
    "released: counts of the authors' data; only these can give the accuracies of Tables 2 and 3",
)


def census(runs: Sequence[Run]) -> Table:
    """Returns Table 1 with the numbers of our runs, each test from the first run that has it.

    Args:
        runs: Their samples are counted, answered or not.

    Raises:
        RunError: A run folder does not say what was asked.
    """
    samples: dict[str, tuple[int, int]] = {}
    for run in runs:
        found: dict[str, list[str]] = {}
        for row in read_samples(run.path, ("test", "clips")).to_pylist():
            found.setdefault(row["test"], []).append(row["clips"][0]["video_id"])
        counts = {test: (len(videos), len(set(videos))) for test, videos in found.items()}
        samples = counts | samples
    lines = [_line(row, samples.get(row["key"])) for row in read("velociti/table1")]
    title = f"VELOCITI, Table 1, printed ({SOURCE}) and ours"
    return Table(title, "Test", _COLUMNS, tuple(lines), _NOTES)


def _line(row: Row, ours: tuple[int, int] | None) -> Line:
    score = "ivat_group" if row["key"] == "ivat" else row["key"]
    texts = dict(row) | {"released": str(items("clip_b32", score)[0])}
    if ours is not None:
        texts |= {"our_tests": str(ours[0]), "our_videos": str(ours[1])}
    cells = [texts.get(column.key, "") for column in _COLUMNS]
    return Line(row["label"], tuple(Cell(t, {"value": float(t)} if t else {}) for t in cells))
