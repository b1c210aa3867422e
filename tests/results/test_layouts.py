import csv
import io

import numpy as np
import pytest

from vbench.metrics.outcomes import Mean, Outcomes
from vbench.metrics.velociti import AVERAGED, CONTROLS, IVAT
from vbench.results.layouts import (
    VELOCITI_2,
    VELOCITI_3,
    RunSummary,
    paper_table,
    run_notes,
    table_of_tests,
    tables,
)
from vbench.results.statistics import summary
from vbench.results.tables import to_csv, to_markdown

CHANCE = dict(zip(IVAT, (0.5, 0.5, 0.25, 0.25, 1 / 6), strict=True))


def row(name, right, n=40, **more):
    credit = np.arange(n) < right
    return Outcomes(
        **{
            "name": name,
            "credit": credit.astype(float),
            "half_credit": credit.astype(float),
            "clusters": np.arange(n).astype(str),
            "truncated": np.zeros(n, bool),
            "chance": CHANCE.get(name, 0.5),
        }
        | more
    )


@pytest.fixture(scope="module")
def full():
    rows = [row(name, 30) for name in (*CONTROLS, *IVAT)]
    rows += [row(name, 20 + i) for i, name in enumerate(AVERAGED)]
    return summary([*rows, Mean("average", tuple(rows[-7:]))], [])


@pytest.fixture(scope="module")
def patchy():
    tied = np.where(np.arange(20) < 10, 1.0, np.where(np.arange(20) < 12, 0.5, 0.0))
    cut = np.arange(20) < 4
    chrono = row("chrono", 10, 20, half_credit=tied, truncated=cut, unanswered=1)
    return summary([chrono, row("genre=<b>", 5, 5)], [])


def cells(table, label):
    (line,) = [line for line in table.lines if line.label == label]
    keys = [column.key for column in table.columns]
    return {key: cell.text for key, cell in zip(keys, line.cells, strict=True)}


def details(table, run):
    """The detail lines below a run, by label."""
    labels = [line.label for line in table.lines]
    first = labels.index(run) + 1
    keys = [column.key for column in table.columns]
    return {
        line.label: {key: cell.text for key, cell in zip(keys, line.cells, strict=True)}
        for line in table.lines[first : first + 4]
    }


def test_table_2_has_the_papers_columns(full):
    table = paper_table(VELOCITI_2, [RunSummary("toy/clip", full)])
    heads = [f"{column.group} {column.title}".strip() for column in table.columns]
    assert heads == ["C t2v", "C v2t", "I t2v", "I v2t", "M t2v", "M v2t", "Group"]
    assert [column.key for column in table.columns] == [*CONTROLS, *IVAT]
    assert list(cells(table, "Chance").values()) == [
        "50.0", "50.0", "50.0", "50.0", "25.0", "25.0", "16.7"
    ]  # fmt: skip


def test_table_3_has_the_papers_columns(full):
    table = paper_table(VELOCITI_3, [RunSummary("toy/clip", full)])
    heads = [f"{column.group} {column.title}".strip() for column in table.columns]
    assert heads == [
        "Agent Iden", "Agent Bind", "Agent Coref", "Action Adv", "Action Bind", "Action Modif",
        "Chrono", "Avg",
    ]  # fmt: skip
    assert cells(table, "toy/clip")["average"].startswith("57.5 [")
    assert table.title == "VELOCITI, layout of Table 3: accuracy in %, 95 %, 40 sources"


def test_every_number_comes_with_what_qualifies_it(full):
    test = full["tests"]["agent_iden"]
    table = paper_table(VELOCITI_3, [RunSummary("toy/clip", full)])
    want = f"50.0 [{100 * test['ci_low']:.1f}, {100 * test['ci_high']:.1f}]"
    assert cells(table, "toy/clip")["agent_iden"] == want
    assert {name: values["agent_iden"] for name, values in details(table, "toy/clip").items()} == {
        "n (sources)": "40 (40)",
        "ties (as half)": "0 (50.0)",
        "truncated": "0",
        "answered": "100 %",
    }


def test_ties_truncation_and_coverage_are_shown(patchy):
    table = paper_table(VELOCITI_3, [RunSummary("patchy", patchy)])
    found = {name: values["chrono"] for name, values in details(table, "patchy").items()}
    assert found == {
        "n (sources)": "20 (20)",
        "ties (as half)": "2 (55.0)",
        "truncated": "4",
        "answered": "95 %, 47.6-52.4",
    }
    assert "answered: share, and the value if the rest were all wrong - all right" in table.notes


def test_what_a_run_lacks_is_empty(full, patchy):
    table = paper_table(VELOCITI_3, [RunSummary("a", full), RunSummary("b", patchy)])
    assert set(details(table, "b")["truncated"].values()) == {"", "4"}
    assert cells(table, "b")["agent_iden"] == ""
    assert table.title.endswith("95 %, 20-40 sources")
    assert "| b | - | - | - | - | - | - | 50.0 [" in to_markdown(table)


def test_chance_comes_from_whichever_run_has_the_test(full, patchy):
    table = paper_table(VELOCITI_3, [RunSummary("b", patchy), RunSummary("a", full)])
    assert set(cells(table, "Chance").values()) == {"50.0"}


def test_limited_runs_are_marked(full):
    for table in tables([RunSummary("toy/clip", full, limit=20)]).values():
        assert "toy/clip (limit=20)" in to_markdown(table)
        assert "limit=20: a seeded draw of at most 20 samples per test" in table.notes


def test_any_dataset_has_a_row_per_test(patchy):
    table = table_of_tests([RunSummary("mine", patchy)])
    assert table.title == "mine: accuracy in %, 95 %, 5-20 sources"
    assert list(cells(table, "chrono").values())[1:] == [
        "20 (20)", "2 (55.0)", "4", "95 %, 47.6-52.4", "50.0"
    ]  # fmt: skip
    assert "| genre=\\<b\\> | 100.0 [47.8, 100.0] |" in to_markdown(table)


def test_several_runs_share_one_table_of_tests(full, patchy):
    table = table_of_tests([RunSummary("a", full), RunSummary("b", patchy)])
    assert [line.label for line in table.lines][-3:] == ["a: average", "b: chrono", "b: genre=<b>"]


def test_the_csv_has_each_estimate_once_unrounded(full):
    run = RunSummary("toy/clip", full)
    rows = list(csv.DictReader(io.StringIO(to_csv(table_of_tests([run])))))
    assert [found["row"] for found in rows] == list(full["tests"])
    for found in rows:
        assert {k: float(v) for k, v in found.items() if k not in ("row", "column", "text")} == (
            full["tests"][found["row"]]
        )
    paper = list(csv.DictReader(io.StringIO(to_csv(paper_table(VELOCITI_3, [run])))))
    assert [found["row"] for found in paper] == ["Chance"] * 8 + ["toy/clip"] * 8
    assert float(paper[-1]["value"]) == full["tests"]["average"]["value"]


def test_only_tables_with_something_in_them(full, patchy):
    assert list(tables([RunSummary("a", full)])) == ["velociti_table2", "velociti_table3", "tests"]
    assert list(tables([RunSummary("b", patchy)])) == ["velociti_table3", "tests"]
    mine = summary([row("sports", 3, 5)], [])
    assert list(tables([RunSummary("c", mine)])) == ["tests"]


def test_a_run_without_answers_still_has_a_table():
    coverage = {"n": 3, "answered": 0, "statuses": {"unparsed": 2, "oom": 1}}
    empty = {"tests": {}, "coverage": coverage | {"failed": [{}], "incomplete": {}}}
    (table,) = tables([RunSummary("a", empty)]).values()
    assert table.title == "a: accuracy in %, no test answered"
    assert table.notes[-1] == "a: 0 % of 3 samples answered, 3 not: 2 unparsed, 1 oom"


def test_many_runs_with_all_answers_share_a_note():
    coverage = {"n": 3, "answered": 3, "failed": [], "incomplete": {}}
    same = {"tests": {}, "coverage": coverage}
    notes = run_notes([RunSummary(name, same) for name in "abcd"])
    assert notes == ["each of the 4 runs: 100 % of 3 samples answered"]
    other = {"tests": {}, "coverage": coverage | {"answered": 2}}
    notes = run_notes([*(RunSummary(name, same) for name in "abc"), RunSummary("d", other)])
    assert len(notes) == 4
    assert notes[-1] == "d: 66 % of 3 samples answered, 1 not"


def test_a_run_of_an_earlier_version_knows_no_statuses():
    coverage = {"n": 3, "answered": 2, "failed": [{}], "incomplete": {}}
    (table,) = tables([RunSummary("a", {"tests": {}, "coverage": coverage})]).values()
    assert table.notes[-1] == "a: 66 % of 3 samples answered, 1 not"


@pytest.mark.parametrize(
    ("answered", "shown"),
    [(10000, "100 %"), (9999, "99.9 %"), (9900, "99.0 %"), (9899, "98 %"), (0, "0 %")],
)
def test_only_all_is_100_percent(answered, shown):
    coverage = {"n": 10000, "answered": answered, "failed": [], "incomplete": {}}
    (table,) = tables([RunSummary("a", {"tests": {}, "coverage": coverage})]).values()
    lost = f", {10000 - answered} not" if answered < 10000 else ""
    assert table.notes[-1] == f"a: {shown} of 10000 samples answered{lost}"


def test_what_the_scorer_observed_stands_below_the_table(full):
    share = {"value": 0.73, "ci_low": 0.6, "ci_high": 0.9, "n": 10}
    seen = {"agent_bind": {"first_picked": share}, "chrono": {"first_picked": share}}
    (*_, note) = table_of_tests([RunSummary("a", full | {"observed": seen})]).notes
    assert note == "a, first_picked in %: agent_bind 73.0 [60.0, 90.0], chrono 73.0 [60.0, 90.0]"
