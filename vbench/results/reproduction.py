"""A paper's table with its printed values and ours beside them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from vbench.metrics.velociti import IVAT
from vbench.results.layouts import (
    NOTES,
    VELOCITI_2,
    VELOCITI_3,
    Layout,
    marked,
    run_lines,
    run_notes,
)
from vbench.results.paper import SOURCE, PaperRow, items, rows
from vbench.results.rivals import Rival, deciding, differing, flips
from vbench.results.tables import Cell, Line, Table
from vbench.results.verdict import Verdict, of_mean, of_share

LAYOUTS: Mapping[str, Layout] = {"velociti/table2": VELOCITI_2, "velociti/table3": VELOCITI_3}

JUDGES = ("human", "simulated")
"""Models whose answers are what the others are held against, on the same data."""

_CHANCE = "random"

_OUR_NOTES = (
    "against the paper: exact, if ours prints as theirs under single or double rounding; else how "
    "many answers ours is away from the nearest that does; (k flip): between the runs shown",
    *NOTES,
)


def reproduction(name: str, rivals: Sequence[Rival]) -> Table:
    """Returns a paper's table: each printed row, our runs of it below, then our other runs.

    Args:
        name: `velociti/table2` or `velociti/table3`.
        rivals: Our runs; one belongs to a row by its entry, or else by its model.
    """
    layout = LAYOUTS[name]
    keys = [column.key for column in layout.columns]
    compared = marked([rival.shown for rival in rivals], keys)
    rivals = [replace(rival, shown=own) for rival, own in zip(rivals, compared, strict=True)]
    printed = rows(name)
    human = next((row for row in printed if row.key == "human"), None)
    lines: list[Line] = []
    for row in printed:
        cells = [Cell(row.cells[key], _share(row.cells[key])) for key in keys]
        own = [rival for rival in rivals if rival.makes(row)]
        state = "paper" if own or row.key == _CHANCE else "paper; not run"
        lines.append(Line(f"{row.label} ({state})", tuple(cells)))
        for rival in own:
            lines += _ours(rival, row, keys, _peers(rival, own), human)
    others = [rival for rival in rivals if not any(rival.makes(row) for row in printed)]
    for rival in others:
        judge = next((r for r in rivals if r.model in JUDGES and r.shares_data(rival)), None)
        lines += _apart(rival, keys, judge, human)
    notes = [*_OUR_NOTES, *_notes(printed, rivals), *run_notes([r.shown for r in rivals])]
    title = f"{layout.title}, printed ({SOURCE}) and ours: accuracy in %, 95 %"
    return Table(title, "Model", layout.columns, tuple(lines), tuple(notes))


def _peers(rival: Rival, rivals: Sequence[Rival]) -> list[Rival]:
    same = [other for other in rivals if other.corrected == rival.corrected]
    return [other for other in same if other.shares_data(rival)]


def _ours(
    rival: Rival, row: PaperRow, keys: Sequence[str], peers: Sequence[Rival], human: PaperRow | None
) -> list[Line]:
    """Returns the lines of a run that makes a printed row."""
    flipped = flips(peers) if len(peers) > 1 else None
    verdicts = [_verdict(rival, row, key) for key in keys]
    told = []
    for key, verdict in zip(keys, verdicts, strict=True):
        test = "ivat" if key == IVAT[-1] else key
        count = None if flipped is None or not verdict else flipped.get(test)
        more = "" if count is None else f" ({count} flip)"
        told.append(Cell(f"{verdict.text}{more}" if verdict else ""))
    gaps = [_gap(rival, key, None, human) for key in keys] if row.key != "human" else []
    value, *details = run_lines(rival.shown, keys)
    cells = [
        _with(cell, printed=_number(row.cells[key]), **_numbers(verdict))
        for cell, key, verdict in zip(value.cells, keys, verdicts, strict=True)
    ]
    shown = replace(value, label=rival.label(row.label), cells=tuple(cells))
    found = [shown, Line("against the paper", tuple(told), detail=True)]
    return [*found, *_gap_line(gaps, "gap to humans"), *details]


def _apart(
    rival: Rival, keys: Sequence[str], judge: Rival | None, human: PaperRow | None
) -> list[Line]:
    """Returns the lines of a run that makes no printed row."""
    value, *details = run_lines(rival.shown, keys)
    if rival is judge:
        return [value, *details]
    gaps = [_gap(rival, key, judge, human) for key in keys]
    title = f"gap to {judge.model}" if judge else "gap to humans"
    return [value, *_gap_line(gaps, title), *details]


def _gap_line(gaps: Sequence[float | None], title: str) -> list[Line]:
    if all(gap is None for gap in gaps):
        return []
    cells = [Cell("" if gap is None else f"{gap:.1f}") for gap in gaps]
    return [Line(title, tuple(cells), detail=True)]


def _gap(rival: Rival, key: str, judge: Rival | None, human: PaperRow | None) -> float | None:
    """Returns percentage points from ours to those of people on such samples; None: not known."""
    ours = rival.shown.summary["tests"].get(key)
    if ours is None:
        return None
    if judge is not None:
        theirs = judge.shown.summary["tests"].get(key)
        return None if theirs is None else 100 * (theirs["value"] - ours["value"])
    if human is None or not human.cells[key] or not rival.is_velociti:
        return None
    return float(human.cells[key]) - 100 * float(ours["value"])


def _verdict(rival: Rival, row: PaperRow, key: str) -> Verdict | None:
    """Compares a cell; None where there is nothing to compare."""
    printed, ours = row.cells[key], rival.shown.summary["tests"].get(key)
    if not printed or ours is None or not rival.has_items_of(row):
        return None
    if key == "average":
        tests = [test for test in row.cells if test != "average"]
        of = [_verdict(rival, row, test) for test in tests]
        same = all(verdict is not None and verdict.off is not None for verdict in of)
        return of_mean(printed, ours["value"]) if same else Verdict("other samples")
    wanted = items(row.key, key)
    per_sample = 2 if "independent" in key else 1
    return of_share(printed, ours["value"], per_sample * ours["n"], wanted)


def _numbers(verdict: Verdict | None) -> dict[str, object]:
    if verdict is None:
        return {}
    return {"verdict": verdict.text, "off_by": verdict.off, "off_of": verdict.of}


def _with(cell: Cell, **more: object) -> Cell:
    return replace(cell, numbers={**cell.numbers, **more}) if cell.text else cell


def _number(cell: str) -> float | None:
    return float(cell) if cell else None


def _share(cell: str) -> dict[str, float]:
    return {"value": float(cell) / 100} if cell else {}


def _notes(printed: Sequence[PaperRow], rivals: Sequence[Rival]) -> Iterator[str]:
    """Yields what decides our numbers, and why a row has none."""
    for rival in rivals:
        row = next((row for row in printed if rival.makes(row)), None)
        label = rival.label(row.label) if row else rival.shown.label
        told = [f"{label}: {deciding(rival)}"]
        if row is not None:
            told += [f"differs from {rival.entry_of(row)}: {x}" for x in differing(rival, row)]
            told += [f"theirs was made with {row.versions}"] if row.versions else []
            told += [f"not published: {row.unknown}"] if row.unknown else []
            if not rival.has_items_of(row):
                told.append(f"{rival.dataset} has not the paper's samples: nothing is compared")
        yield "; ".join(told)
    missing = [row for row in printed if row.key != _CHANCE]
    missing = [row for row in missing if not any(rival.makes(row) for rival in rivals)]
    waiting = [f"{row.label} (waits for {row.waits_for})" for row in missing if row.waits_for]
    ready = [row.key for row in missing if not row.waits_for]
    if waiting:
        yield f"not run: {'; '.join(waiting)}"
    if ready:
        yield f"not run, can be: vbench entry=velociti/v1/<row>, row = {', '.join(ready)}"
