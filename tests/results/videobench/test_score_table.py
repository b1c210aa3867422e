"""Tables 2, 3 and 3 (E): printed cells, first and second place, ours beside them."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable

import pytest

from vbench.results.tables import Table, to_csv, to_html, to_latex, to_markdown
from vbench.results.videobench.ours import Ours
from vbench.results.videobench.printed import ESTIMATES, averages, rows, slips, title_of
from vbench.results.videobench.score_table import level_table, places, score_table

Make = Callable[..., Ours]


def line(table: Table, label: str, after: str = "") -> list[str]:
    labels = [one.label for one in table.lines]
    start = labels.index(after) if after else 0
    return [cell.text for cell in table.lines[labels.index(label, start)].cells]


def marked(table: Table, label: str) -> dict[str, int]:
    one = next(one for one in table.lines if one.label == label)
    pairs = zip(table.columns, one.cells, strict=True)
    return {column.key: cell.place for column, cell in pairs if cell.place}


@pytest.mark.parametrize("name", ["table2", "table3"])
def test_every_printed_cell_is_there(name: str) -> None:
    table = score_table(name, [])
    for key in ESTIMATES:
        assert line(table, title_of(key)) == [row.texts[key] for row in rows(name)]
    assert len([one for one in table.lines if not one.detail]) == 17


def test_first_and_second_among_printed_models() -> None:
    table = score_table("table2", [])
    assert marked(table, "(D) Final") == {"video_chatgpt": 1, "pandagpt": 2}
    assert marked(table, "MSRVTT-QA") == {"otter": 1, "video_chatgpt": 2}
    # Three share the first place; chance, which is higher than one model, has none.
    mot = {"videochat": 1, "video_chatgpt": 1, "mplug_owl": 1}
    second = {"otter": 2, "pandagpt": 2, "video_llama": 2, "chat_univi": 2}
    assert marked(table, "MOT†") == mot | second
    assert places([None, 3.0]) == [0, 1]


def test_marks_in_every_format() -> None:
    table = score_table("table2", [])
    assert "**38.52**" in to_markdown(table)
    assert "*37.52*" in to_markdown(table)
    assert "\\textbf{38.52}" in to_latex(table)
    assert "\\underline{37.52}" in to_latex(table)
    assert '<td class="first"><b>38.52</b></td>' in to_html(table)
    cells = list(csv.DictReader(io.StringIO(to_csv(table))))
    best = [cell["column"] for cell in cells if cell["row"] == "(D) Final" and cell["place"] == "1"]
    assert best == ["video_chatgpt"]
    (gain,) = [c["gain"] for c in cells if (c["row"], c["column"]) == ("(D) Final", "otter")]
    assert float(gain) == pytest.approx(0.0902)


def test_averages_that_do_not_follow_are_named_and_no_other() -> None:
    assert list(slips("table2")) == []
    (slip,) = slips("table3")
    assert slip.startswith("Random: ")
    assert "24.57 for 25.85" in slip
    assert "28.03 for 28.45" in slip
    assert slip in score_table("table3", []).notes
    assert averages({"TVQA": 1.0, "MV": 2.0, "NBA": 3.0}) == {"prior_knowledge": 2.0}


def test_ours_stand_beside_with_legacy_chance_and_coverage(make: Make) -> None:
    values = {"MSVD": 0.6, "MSVD_legacy": 0.75, "TVQA": 0.2, "final": 0.5, "final_legacy": 0.5}
    ours, other = make("a", values), make("b", {"MSVD": 0.4})
    ours.run.summary["tests"]["MSVD_legacy"]["n"] = 80
    table = score_table("table2", [ours, other])
    assert line(table, "MSVD-QA")[-2:] == ["60.0 [55.0, 65.0]", "40.0 [35.0, 45.0]"]
    assert marked(table, "MSVD-QA")["ours a"] == 1
    assert line(table, "over chance (derived)", "MSVD-QA")[-2:] == ["+35.0 (25.0)", "+15.0 (25.0)"]
    assert line(table, "legacy", "MSVD-QA")[-2:] == ["75.0", ""]
    assert line(table, "answered", "MSVD-QA")[-2] == "80.0 %"
    assert line(table, "n (sources)", "MSVD-QA")[-1] == "100 (50)"
    assert "ours (scorer letters)" in table.title
    assert any("compare ours with their chance" in note for note in table.notes)
    assert any(note.startswith("b: no levels") for note in table.notes)


def test_a_partial_score_says_so(make: Make) -> None:
    ours = make("a", {"TVQA": 0.2, "final (without MSVD, MOT)": 0.3}, "videobench/all")
    table = score_table("table2", [ours])
    assert line(table, "(D) Final")[-1].endswith("(partial)")
    assert "a: partial scores, without MSVD, MOT" in table.notes
    assert not ours.is_whole
    assert not any("compare ours" in note for note in table.notes)


def test_levels_by_both_judges() -> None:
    table = level_table([])
    assert line(table, "(D) Final, GPT")[2] == "38.52"
    assert line(table, "T5 (Table 3)", "(D) Final, GPT")[2] == "38.06"
    assert line(table, "GPT - T5 (derived)", "(D) Final, GPT")[2] == "+0.46"
