"""Runs against one another: who is compared with whom, in what family, and what is in bold."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from vbench.metrics.outcomes import REGROUPED, Outcomes
from vbench.results.contest import ALPHA, Rows, contest, leading
from vbench.results.contest_tables import Shown, contest_table, family, verdict, warnings
from vbench.results.layouts import VELOCITI_3, RunSummary, paper_table, table_of_tests
from vbench.results.paired import detectable, difference, holm
from vbench.results.pairing import Setting
from vbench.results.statistics import summary
from vbench.results.tables import Table

N = 200


def row(name: str, right: int, first: int = 0) -> Outcomes:
    """Right on `right` samples from number `first` on."""
    place = np.arange(N)
    credit = ((place >= first) & (place < first + right)).astype(float)
    none = np.zeros(N, bool)
    return Outcomes(name, credit, credit, place.astype(np.str_), none, 0.5)


def run(**right: int) -> Rows:
    return {name: row(name, count) for name, count in right.items()}


@pytest.fixture
def three() -> list[Rows]:
    return [run(x=100, y=150), run(x=140, y=149), run(x=141, y=50)]


def test_of_two_the_first_is_held_against_the_second() -> None:
    a, b = run(x=100, y=150, z=3), run(x=140, y=149)
    found = contest([a, b])
    assert [(m.test, m.a, m.b) for m in found.matches] == [("x", 0, 1), ("y", 0, 1)]
    assert found.matches[0].difference == difference(a["x"], b["x"])
    p_values = [m.difference.p for m in found.matches]
    assert [m.p_holm for m in found.matches] == holm(p_values)
    assert found.compared == 2
    assert [m.better for m in found.matches] == [1, None]
    assert found.matches[1].detectable == detectable(found.matches[1].difference, ALPHA / 2)


def test_of_more_each_is_held_against_the_best_and_all_pairs_count(three: list[Rows]) -> None:
    found = contest(three)
    assert found.best == {"x": 2, "y": 0}
    pairs = [("x", 0, 2), ("x", 1, 2), ("y", 1, 0), ("y", 2, 0)]
    assert [(m.test, m.a, m.b) for m in found.matches] == pairs
    assert found.compared == 6
    every = holm(
        [
            difference(three[a][test], three[b][test]).p
            for test in ("x", "y")
            for a, b in ((0, 1), (0, 2), (1, 2))
        ]
    )
    assert [m.p_holm for m in found.matches] == [every[1], every[2], every[3], every[4]]
    assert found.matches[2].difference == difference(three[1]["y"], three[0]["y"])


def test_a_run_may_be_named(three: list[Rows]) -> None:
    found = contest(three, ["y"], against=1)
    assert [(m.test, m.a, m.b) for m in found.matches] == [("y", 0, 1), ("y", 2, 1)]
    assert found.compared == 2
    assert [verdict(m)[:9] for m in found.matches] == ["not shown", "B better"]


def test_bold_is_the_best_and_what_is_not_shown_to_be_below(three: list[Rows]) -> None:
    found, compared = leading(three, ["x", "y", "z"])
    assert found == [{"y"}, {"x", "y"}, {"x"}]
    assert compared == 6
    assert leading([three[0]], ["x"]) == ([frozenset()], 0)
    assert leading([{}, {}], ["x"])[1] == 0


def shown(runs: list[Rows], **more: object) -> Shown:
    names = tuple(f"run {place}" for place in range(len(runs)))
    return Shown(contest(runs), names, names, **more)  # type: ignore[arg-type]


def test_a_verdict_never_says_equal(three: list[Rows]) -> None:
    table = contest_table(shown([three[0], three[0]]))
    texts = [line.cells[-1].text for line in table.lines]
    # Level 5 %/2 takes seven sources that differ; of 200, 4.5 % bring these in 80 of 100 runs.
    assert texts == ["not shown (4.5)"] * 2
    assert stats.binom.sf(6, 200, 0.045) == pytest.approx(0.8, abs=0.01)
    assert table.lines[0].cells[2].text == "+0.0 [-1.8, +1.8]"
    few = contest([{"x": part(row("x", 3), 4)}, {"x": part(row("x", 1), 4)}])
    assert verdict(few.matches[0]) == "not shown (too few sources)"


def part(whole: Outcomes, count: int) -> Outcomes:
    cut = slice(0, count)
    return Outcomes(
        whole.name, whole.credit[cut], whole.half_credit[cut], whole.clusters[cut],
        whole.truncated[cut], 0.5,
    )  # fmt: skip


def test_the_family_is_named(three: list[Rows]) -> None:
    assert family(shown(three[:2])) == "Holm over 2 comparisons, level 0.05: 2 tests: x, y"
    said = family(shown(three))
    assert said.startswith("Holm over 6 comparisons, level 0.05: all pairs of 3 runs")
    assert said.endswith("in 2 tests: x, y")


def test_warnings_are_in_the_table(three: list[Rows]) -> None:
    settings = (Setting("sampler.num_frames", (8, None)),)
    found = shown(three[:2], settings=settings, apart={"run 1": 3})
    assert warnings(found) == [
        "warning: sampler.num_frames is not the same: A 8, B -",
        "warning: 3 samples of B are not in all runs; left out",
    ]
    assert set(warnings(found)) < set(contest_table(found).notes)


def test_needed_sources_are_a_column(three: list[Rows]) -> None:
    table = contest_table(shown(three[:2], detect=0.02))
    keys = [column.key for column in table.columns]
    cell = table.lines[1].cells[keys.index("needed")]
    found = contest(three[:2])
    assert cell.numbers["sources"] == found.needed(found.matches[1], 0.02)
    assert cell.text == f"{cell.numbers['sources']} ({cell.numbers['samples']} samples)"


def bold(table: Table) -> dict[str, list[str]]:
    keys = [column.key for column in table.columns]
    return {
        line.label: [key for key, cell in zip(keys, line.cells, strict=True) if cell.place == 1]
        for line in table.lines
        if not line.detail and line.label != "Chance"
    }


def test_tables_of_runs_show_it(three: list[Rows]) -> None:
    names = {"x": "chrono", "y": "agent_iden"}
    runs = []
    for place, rows in enumerate(three):
        own = {
            names[key]: row(names[key], int(one.parts[0].credit.sum())) for key, one in rows.items()
        }
        runs.append(RunSummary(f"run {place}", summary(list(own.values()), []), rows=own))
    table = paper_table(VELOCITI_3, runs)
    assert bold(table) == {
        "run 0": ["agent_iden"], "run 1": ["agent_iden", "chrono"], "run 2": ["chrono"]
    }  # fmt: skip
    assert sum("Holm over 6 comparisons" in note for note in table.notes) == 1
    marked = bold(table_of_tests(runs))
    assert [label for label, keys in marked.items() if keys] == [
        "run 0: agent_iden", "run 1: chrono", "run 1: agent_iden", "run 2: chrono"
    ]  # fmt: skip
    plain = paper_table(VELOCITI_3, [RunSummary("a", runs[0].summary), runs[1]])
    assert not any(bold(plain).values())
    assert not any("Holm" in note for note in plain.notes)


def test_rows_that_show_others_again_are_never_in_bold(three: list[Rows]) -> None:
    of = [dict(rows) | {"y": replace(rows["y"], beside=REGROUPED)} for rows in three]
    assert contest(of).tests == ("x",)
    assert contest(of).beside == {"y": REGROUPED}
    assert contest(of, ["y", "x"]).compared == 6
    runs = [RunSummary(f"{i}", summary(list(r.values()), []), rows=r) for i, r in enumerate(of)]
    table = table_of_tests(runs)
    assert [name for name, keys in bold(table).items() if keys] == ["1: x", "2: x"]
    assert table.notes[-1] == "never in bold, as they show other rows again: y"
    assert any("Holm over 3 comparisons" in note for note in table.notes)
