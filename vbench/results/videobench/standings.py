"""Video-Bench's Figures 2 (ranking), 4 (numbers of questions) and 5 (metrics compared)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from vbench.metrics.videobench import FINAL
from vbench.results.samples import read_samples
from vbench.results.tables import Cell, Column, Line, Table
from vbench.results.videobench.ours import Ours, notes
from vbench.results.videobench.printed import (
    CHANCE,
    ESTIMATES,
    SOURCE,
    TITLES,
    averages,
    datasets,
    rows,
    title_of,
)
from vbench.results.videobench.score_table import PLACES, our_cells, places


def figure_2(runs: Sequence[Ours]) -> Table:
    """Returns the ranking by final score with the gain over chance, printed and ours.

    Ours are ranked among the printed only with all thirteen released datasets, asked in full;
    others stand below, in their own order.
    """
    printed = [row for row in rows("table2") if row.key != CHANCE]
    chance = next(row for row in rows("table2") if row.key == CHANCE)
    ranked: list[tuple[float, str, tuple[Cell, ...]]] = []
    for row in printed:
        values = {key: (row.texts[key], row.values[key], chance.values[key]) for key in TITLES}
        ranked.append((row.values[FINAL], f"{row.label} (paper)", _ranking_cells(values)))
    apart: list[tuple[float, str, tuple[Cell, ...]]] = []
    for run in runs:
        if run.find(FINAL) is None:
            continue
        own = {key: of for key in TITLES if (of := run.find(key)) is not None}
        values = {k: (f"{100 * of['value']:.1f} [{100 * of['ci_low']:.1f}, "
                      f"{100 * of['ci_high']:.1f}]", 100 * of["value"], 100 * of["chance"])
                  for k, of in own.items()}  # fmt: skip
        part = ", partial" if run.lacking(FINAL) else ""
        label = f"{run.label} (ours{part}){run.mark}"
        entry = (values[FINAL][1], label, _ranking_cells(values))
        (ranked if run.is_released and run.is_whole else apart).append(entry)
    ranked.sort(key=lambda entry: -entry[0])
    apart.sort(key=lambda entry: -entry[0])
    lines = [Line(label, (Cell(str(n)), *cells)) for n, (_, label, cells) in enumerate(ranked, 1)]
    lines += [Line(label, (Cell(), *cells)) for _, label, cells in apart]
    columns = (Column("rank", "rank"), *_ranking_columns())
    title = f"Video-Bench, Figure 2 (B), printed ({SOURCE}, Table 2, judged by GPT-3.5) and ours"
    told = ["over: points over chance, derived from Table 2 for printed rows", *notes(runs)]
    if apart:
        told.append("without a rank: not all questions of the thirteen released datasets")
    return Table(f"{title}: accuracy in %", "Model", columns, tuple(lines), tuple(told))


def _ranking_columns() -> tuple[Column, ...]:
    keys = [FINAL, *(key for key in TITLES if key != FINAL)]
    return tuple(
        column
        for key in keys
        for column in (
            Column(key, "score", title_of(key)),
            Column(f"{key}_over_chance", "over", title_of(key)),
        )
    )


def _ranking_cells(values: Mapping[str, tuple[str, float, float]]) -> tuple[Cell, ...]:
    cells: list[Cell] = []
    for key in [FINAL, *(key for key in TITLES if key != FINAL)]:
        if key not in values:
            cells += [Cell(), Cell()]
            continue
        text, value, chance = values[key]
        cells.append(Cell(text, {"value": value / 100, "chance": chance / 100}))
        cells.append(Cell(f"{value - chance:+.2f}", {"value": (value - chance) / 100}))
    return tuple(cells)


def figure_4(runs: Sequence[Ours]) -> Table:
    """Returns how many questions each dataset has: as released, in Figure 4, and in our runs."""
    asked = [_asked(run) for run in runs]
    lines = []
    for key, about in datasets().items():
        told = [about["questions"], about["figure4"], about["videos"]]
        own = [str(counts[key]) if counts[key] else "" for counts in asked]
        gap = int(about["questions"]) - int(about["figure4"])
        cells = [Cell(about["task"]), *map(_count, told), Cell(f"{gap:+d}" if gap else "")]
        lines.append(Line(title_of(key), (*cells, *map(_count, own))))
    known = datasets().values()
    sums = [sum(int(about[name]) for about in known) for name in ("questions", "figure4")]
    ours = [str(sum(counts.values())) for counts in asked]
    totals = [Cell(), *(_count(str(n)) for n in sums), Cell(), Cell(f"{sums[0] - sums[1]:+d}")]
    lines.append(Line("together", (*totals, *map(_count, ours))))
    columns = (
        Column("task", "task"), Column("released", "released", "questions"),
        Column("figure4", "Figure 4", "questions"), Column("videos", "videos"),
        Column("difference", "released - Figure 4 (derived)"),
        *(Column(f"ours {run.label}", run.label, "asked by ours") for run in runs),
    )  # fmt: skip
    below = (
        "released: in the question files; cells of Tables 2 and 3 are shares of these",
        "Figure 4: as read from the paper's chart",
    )
    title = f"Video-Bench, Figure 4: numbers of questions ({SOURCE})"
    return Table(title, "Dataset", columns, tuple(lines), below)


def _asked(run: Ours) -> Counter[str]:
    return Counter(read_samples(run.run.path, ("test",))["test"].to_pylist())


def _count(text: str) -> Cell:
    return Cell(text, {"value": float(text)} if text else {})


def figure_5(runs: Sequence[Ours]) -> Table:
    """Returns Video-ChatGPT under three ways to read answers, and our runs by scorer."""
    printed = rows("figure5")
    made = [row.values | averages(row.values) for row in printed]
    lines = []
    for key in ESTIMATES:
        marks = places(values[key] for values in made)
        cells = [
            Cell(row.texts.get(key) or f"{of[key]:.2f}", {"value": of[key] / 100}, place)
            for row, of, place in zip(printed, made, marks, strict=True)
        ]
        lines.append(Line(title_of(key), (*cells, *our_cells(runs, key))))
    columns = (
        *(Column(row.key, row.label, "Video-ChatGPT") for row in printed),
        *(
            Column(f"ours {run.label}", f"{run.label}: {run.scorer}{run.mark}", "ours")
            for run in runs
        ),
    )
    title = f"Video-Bench, Figure 5: ways to read answers, printed ({SOURCE}) and ours"
    told = [PLACES, "levels and final of the printed columns: derived from their cells"]
    told += notes(runs)
    return Table(f"{title}: accuracy in %", "Dataset", columns, tuple(lines), tuple(told))
