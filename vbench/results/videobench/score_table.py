"""Video-Bench's Tables 2 and 3: rows of datasets, levels and the final score, columns of models."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from vbench.results.tables import Cell, Column, Line, Table
from vbench.results.videobench.ours import Ours, notes
from vbench.results.videobench.printed import (
    CHANCE,
    ESTIMATES,
    SOURCE,
    TITLES,
    Printed,
    rows,
    slips,
    title_of,
)

JUDGES = {"table2": "GPT-3.5", "table3": "T5"}
"""How the printed answers became letters."""

PLACES = "first bold (blue), second underlined (green): among printed models, and among ours apart"

_NOTES = (
    PLACES,
    "†: counts half in its level; a level is the mean of its datasets by weight, final the mean of "
    "the levels",
)

_OUR_NOTES = (
    "ours: strict value [95 % interval, clustered by source]: an answer that names no option is "
    "wrong",
    "legacy: of the answered questions only, as the official scripts count",
    "over chance: the gain over chance on the same questions, in points (chance)",
)


def score_table(name: str, runs: Sequence[Ours]) -> Table:
    """Returns Table 2 or 3, printed and ours.

    Args:
        name: `table2` or `table3`.
        runs: Our runs, each a column.
    """
    printed = rows(name)
    lines = []
    for key in ESTIMATES:
        lines += _lines(key, printed, runs)
    scorers = ", ".join(dict.fromkeys(run.scorer for run in runs))
    title = f"Video-Bench, Table {name[-1]}, printed ({SOURCE}, judged by {JUDGES[name]})"
    title += f" and ours (scorer {scorers})" if runs else ""
    columns = columns_of(printed, runs)
    told = [*_NOTES, *slips(name), *(_OUR_NOTES if runs else ()), *notes(runs)]
    return Table(f"{title}: accuracy in %", "Dataset", columns, tuple(lines), tuple(told))


def level_table(runs: Sequence[Ours]) -> Table:
    """Returns Table 3 (E): the levels as GPT judges, those of T5 below, and what differs."""
    gpt, t5 = rows("table2"), rows("table3")
    lines = []
    for key in TITLES:
        first, *details = _lines(key, gpt, runs)
        cells = [Cell(row.texts[key]) for row in t5] + [Cell()] * len(runs)
        apart = [
            Cell(f"{a.values[key] - b.values[key]:+.2f}") for a, b in zip(gpt, t5, strict=True)
        ]
        lines += [
            replace(first, label=f"{title_of(key)}, GPT"),
            Line("T5 (Table 3)", tuple(cells), detail=True),
            Line("GPT - T5 (derived)", (*apart, *([Cell()] * len(runs))), detail=True),
            *details,
        ]
    title = f"Video-Bench, Table 3 (E), printed ({SOURCE}) and ours: accuracy in %"
    told = (PLACES, *(_OUR_NOTES if runs else ()), *notes(runs))
    return Table(title, "Level", columns_of(gpt, runs), tuple(lines), told)


def columns_of(printed: Sequence[Printed], runs: Sequence[Ours]) -> tuple[Column, ...]:
    """Returns a column per printed model and one per run."""
    return (
        *(Column(row.key, row.label) for row in printed),
        *(Column(f"ours {run.label}", f"{run.label}{run.mark}", "ours") for run in runs),
    )


def places(values: Iterable[float | None]) -> list[int]:
    """Returns 1 for each highest value, 2 for each second highest, 0 for others.

    >>> places([27.78, 11.11, 27.78, None, 16.67])
    [1, 0, 1, 0, 2]
    """
    listed = list(values)
    best = sorted({value for value in listed if value is not None}, reverse=True)[:2]
    return [best.index(value) + 1 if value in best else 0 for value in listed]


def printed_cells(printed: Sequence[Printed], key: str) -> list[Cell]:
    """Returns a row of printed cells, the first and second model marked.

    Args:
        printed: The models; one of them may be chance, which takes no place.
        key: The dataset, level or `final`.
    """
    chance = next((row.values[key] for row in printed if row.key == CHANCE), None)
    ranked = places(None if row.key == CHANCE else row.values.get(key) for row in printed)
    cells = []
    for row, place in zip(printed, ranked, strict=True):
        value = row.values.get(key)
        numbers: dict[str, float | int] = {} if value is None else {"value": value / 100}
        if value is not None and chance is not None:
            numbers |= {"gain": (value - chance) / 100, "chance": chance / 100}
        cells.append(Cell(row.texts.get(key, ""), numbers | {"place": place}, place))
    return cells


def our_cells(runs: Sequence[Ours], key: str) -> list[Cell]:
    """Returns a row of our cells with intervals, the first and second run marked.

    Args:
        runs: Our runs.
        key: The dataset, level or `final`.
    """
    found = [run.find(key) for run in runs]
    ranked = places(None if of is None else float(of["value"]) for of in found)
    if len(runs) < 2:
        ranked = [0] * len(runs)
    cells = []
    for run, of, place in zip(runs, found, ranked, strict=True):
        if of is None:
            cells.append(Cell())
            continue
        low, high = 100 * of["ci_low"], 100 * of["ci_high"]
        part = " (partial)" if run.lacking(key) else ""
        legacy = run.find(key, legacy=True)
        numbers = {
            **of,
            "gain": of["value"] - of["chance"],
            "legacy": legacy and legacy["value"],
            "answered": answered(run, key)[0],
            "place": place,
        }
        text = f"{100 * of['value']:.1f} [{low:.1f}, {high:.1f}]{part}"
        cells.append(Cell(text, numbers, place))
    return cells


def answered(run: Ours, key: str) -> tuple[int, int]:
    """Returns how many questions of a row have a usable answer, and how many there are."""
    of, legacy = run.find(key), run.find(key, legacy=True)
    whole = 0 if of is None else int(of["n"])
    return (0 if legacy is None else int(legacy["n"])), whole


def _lines(key: str, printed: Sequence[Printed], runs: Sequence[Ours]) -> list[Line]:
    cells = [*printed_cells(printed, key), *our_cells(runs, key)]
    value = Line(title_of(key), tuple(cells))
    gains = [Cell(_gain(row, printed, key)) for row in printed]
    found = [run.find(key) for run in runs]
    gains += [
        Cell(f"{100 * (of['value'] - of['chance']):+.1f} ({100 * of['chance']:.1f})" if of else "")
        for of in found
    ]
    lines = [value, Line("over chance (derived)", tuple(gains), detail=True)]
    if not runs:
        return lines if key in TITLES else [value]
    none = (Cell(),) * len(printed)
    legacies = [run.find(key, legacy=True) for run in runs]
    ns = [Cell(f"{of['n']} ({of['clusters']})" if of else "") for of in found]
    return [
        *lines,
        Line("legacy", (*none, *(Cell(_percent(of)) for of in legacies)), detail=True),
        Line("answered", (*none, *(Cell(_coverage(run, key)) for run in runs)), detail=True),
        Line("n (sources)", (*none, *ns), detail=True),
    ]


def _gain(row: Printed, printed: Sequence[Printed], key: str) -> str:
    chance = next(of.values[key] for of in printed if of.key == CHANCE)
    return "" if row.key == CHANCE else f"{row.values[key] - chance:+.2f}"


def _percent(of: Mapping[str, float] | None) -> str:
    return "" if of is None else f"{100 * of['value']:.1f}"


def _coverage(run: Ours, key: str) -> str:
    given, whole = answered(run, key)
    if not whole:
        return ""
    return "100 %" if given == whole else f"{1000 * given // whole / 10:.1f} %"
