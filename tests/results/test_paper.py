"""The paper's tables agree with themselves, with the released counts and with our arithmetic."""

from fractions import Fraction

import pytest

from vbench.datasets.velociti.layout import RELEASED_COUNTS
from vbench.metrics.association import CHANCE
from vbench.metrics.velociti import AVERAGED, CONTROLS, IVAT
from vbench.results.paper import items, read, rows
from vbench.results.verdict import counts_printed_as, prints_as

TABLES = ("velociti/table2", "velociti/table3")
MODELS = [
    (table, row.key, key, cell)
    for table in TABLES
    for row in rows(table)
    for key, cell in row.cells.items()
    if row.key != "random" and key != "average" and cell
]


def test_the_tables_are_whole() -> None:
    two, three = (rows(table) for table in TABLES)
    assert (len(two), len(three)) == (14, 16)
    assert all(tuple(row.cells) == (*CONTROLS, *IVAT) for row in two)
    assert all(tuple(row.cells) == (*AVERAGED, "average") for row in three)
    assert {row.key for row in two} == {row.key for row in three} - {"vera", "gemini"}
    assert {row["key"] for row in read("velociti/rows")} == {r.key for r in three} - {"random"}


def test_a_dash_is_no_number() -> None:
    dashes = {
        (r.key, key) for t in TABLES for r in rows(t) for key, cell in r.cells.items() if not cell
    }
    assert dashes == {("human", "control_t2v"), ("human", "control_v2t"), ("human", "ivat_group")}


def test_averages_are_the_mean_of_the_seven_tests() -> None:
    for row in rows("velociti/table3"):
        printed = [row.cells.get(test, "") for test in AVERAGED]
        mean = sum(map(float, printed)) / len(printed) if all(printed) else None
        assert mean is not None
        assert float(row.cells["average"]) == pytest.approx(mean, abs=0.1), row.label


def test_the_random_row_is_chance() -> None:
    two, three = (rows(table)[0].cells for table in TABLES)
    expected = {f"ivat_{name}": chance for name, chance in CHANCE.items()} | dict.fromkeys(
        CONTROLS, 0.5
    )
    for key, cell in two.items():
        assert cell in prints_as(Fraction(expected[key]).limit_denominator(100)), key
    assert set(three.values()) == {"50.0"}


NO_SHARE = {("human", "ivat_independent_v2t")}
"""95.4 is no multiple of 1/300; 286 of 300 print as 95.3."""


@pytest.mark.parametrize(("table", "row", "key", "cell"), MODELS)
def test_every_cell_is_a_share_of_the_samples(table: str, row: str, key: str, cell: str) -> None:
    fits = any(counts_printed_as(cell, n) for n in items(row, key))
    assert fits == ((row, key) not in NO_SHARE)


def test_the_papers_own_counts_are_not_those_of_its_numbers() -> None:
    def fit(key: str, n: int) -> bool:
        table = rows("velociti/table2" if key.startswith("ivat") else "velociti/table3")
        cells = [row.cells[key] for row in table if row.key not in ("random", "human", "gemini")]
        return all(counts_printed_as(cell, n) for cell in cells if cell)

    assert fit("action_modif", 514)
    assert not fit("action_modif", 500)
    assert fit("ivat_group", 719)
    assert not fit("ivat_group", 900)


def test_items_are_the_released_counts() -> None:
    for test, count in RELEASED_COUNTS.items():
        key = "ivat_matching_v2t" if test == "ivat" else test
        assert items("clip_b32", key) == (count,)
    printed = {row["key"]: int(row["tests"]) for row in read("velociti/table1")}
    other = {test for test, count in RELEASED_COUNTS.items() if printed[test] != count}
    assert other == {"ivat", "action_modif"}


def test_some_cells_need_double_rounding() -> None:
    def single(share: Fraction) -> str:
        return f"{float(round(100 * share, 1)):.1f}"

    coref = [
        row.cells["agent_coref"] for row in rows("velociti/table3") if row.key == "vifi_clip_b16"
    ]
    (count,) = counts_printed_as(coref[0], 418)
    assert (coref[0], count, single(Fraction(count, 418))) == ("54.6", 228, "54.5")
