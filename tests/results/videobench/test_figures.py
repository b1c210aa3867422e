"""Figures 2, 4, 5, 7 and 8: their numbers, and files of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from PIL import Image
from scipy import stats

from vbench.errors import DataError
from vbench.results.drawing import save_drawing
from vbench.results.tables import Table
from vbench.results.videobench.catalogue import drawing, read_models
from vbench.results.videobench.ours import Ours
from vbench.results.videobench.parts import figure_7, figure_8, printed_models, table_1
from vbench.results.videobench.standings import figure_2, figure_4, figure_5

Make = Callable[..., Ours]

LEVELS = {"video_exclusive": 0.4, "prior_knowledge": 0.3, "comprehension_decision": 0.5}


def texts(table: Table, label: str) -> list[str]:
    return [cell.text for cell in next(one for one in table.lines if one.label == label).cells]


def test_the_ranking_is_the_papers_with_its_gains(make: Make) -> None:
    table = figure_2([])
    assert [one.label for one in table.lines][:3] == [
        "Video-ChatGPT (paper)", "PandaGPT (paper)", "Otter (paper)",
    ]  # fmt: skip
    assert texts(table, "Video-ChatGPT (paper)")[:3] == ["1", "38.52", "+10.07"]
    assert texts(table, "Video-LLaMA (paper)")[0] == "8"


def test_only_whole_runs_on_released_data_get_a_rank(make: Make) -> None:
    whole = make("whole", {**LEVELS, "final": 0.38}, "videobench/all")
    toy = make("toy", {**LEVELS, "final": 0.9})
    part = make("part", {"final (without MOT)": 0.9}, "videobench/all")
    table = figure_2([toy, whole, part])
    labels = [one.label for one in table.lines]
    assert labels.index("whole (ours)") == 1
    assert texts(table, "whole (ours)")[0] == "2"
    assert texts(table, "PandaGPT (paper)")[0] == "3"
    assert labels[-2:] == ["toy (ours)", "part (ours, partial)"]
    assert texts(table, "toy (ours)")[:3] == ["", "90.0 [85.0, 95.0]", "+65.00"]


def test_counts_released_and_in_the_figure() -> None:
    table = figure_4([])
    assert texts(table, "MSVD-QA")[1:5] == ["2000", "1000", "486", "+1000"]
    assert texts(table, "together")[1:3] == ["17036", "15033"]


def test_three_ways_to_read_answers_and_their_levels(make: Make) -> None:
    table = figure_5([make("a", {"MSVD": 0.5, "MSVD_legacy": 0.5})])
    assert texts(table, "MSVD-QA") == ["27.35", "53.85", "57.50", "50.0 [45.0, 55.0]"]
    assert texts(table, "(D) Final")[:3] == ["28.76", "38.06", "38.52"]
    assert [c.place for c in table.lines[1].cells] == [0, 2, 1, 0]


def test_groups_of_modules_against_a_mean_by_hand() -> None:
    table = figure_7([], {})
    assert texts(table, "w/ TM and AE (paper, derived)")[:2] == ["VideoChat, Video-LLaMA", "2"]
    # (38.52 + 33.96 + 35.31) / 3
    assert texts(table, "w/ TM (paper, derived)")[-1] == "35.93"
    sizes = [int(one.cells[1].text) for one in table.lines if one.cells[1].text]
    assert sum(sizes) == 8
    assert texts(table, "w/ AE - w/o AE (paper, derived)")[-1] == "-0.43 (p = 0.786, n = 3, 5)"


def test_sizes_against_scipy() -> None:
    table = figure_8([], {})
    models = [model for model in printed_models() if model.size("pretraining_size") is not None]
    assert len(models) == 5
    rho = stats.spearmanr(
        [model.size("pretraining_size") for model in models],
        [model.scores["final"] for model in models],
    ).statistic
    (line,) = [one for one in table.lines if one.label.startswith("rho with pre-training")]
    assert line.cells[-1].numbers["value"] == pytest.approx(rho)
    assert line.cells[-1].text.endswith("n = 5)")
    assert texts(table, "video - image (paper, derived)")[-1].endswith("n = 5, 3)")


def test_models_of_ours_join_by_a_file(make: Make, tmp_path: Path) -> None:
    file = tmp_path / "models.csv"
    head = "key,temporal_module,audio_encoder,pretraining_size,instruction_size,instruction_data\n"
    file.write_text(head + "a,Cluster,,1000000,20000,video\n")
    about = read_models(str(file))
    runs = [make("a", {**LEVELS, "final": 0.4}), make("b", {**LEVELS, "final": 0.3})]
    table = figure_7(runs, about)
    assert texts(table, "w/ TM (ours, derived)")[:2] == ["a", "1"]
    assert table.notes[-1].startswith("not shown: b: ")
    assert texts(figure_8(runs, about), "a (ours)")[:3] == ["1M", "20K", "video"]
    assert texts(table_1(about), "a (ours)")[1] == "Cluster"
    file.write_text(head + "a,Cluster,,1M,20000,video\n")
    with pytest.raises(DataError, match="'1M' is no number of samples"):
        read_models(str(file))
    file.write_text("key\na\n")
    with pytest.raises(DataError, match="no column temporal_module"):
        read_models(str(file))


@pytest.mark.parametrize("name", ["figure2", "figure4", "figure5", "figure7", "figure8"])
def test_figures_as_files(name: str, make: Make, tmp_path: Path) -> None:
    runs = [make("$x^2$ <run>", {**LEVELS, "final": 0.4, "MSVD": 0.4})] if name != "figure4" else []
    files = save_drawing(drawing(name, runs, {}), tmp_path, name)
    assert {file.suffix for file in files} == {".md", ".tex", ".csv", ".html", ".png", ".svg"}
    with Image.open(tmp_path / f"{name}.png") as picture:
        assert min(picture.size) > 300
        colours = picture.convert("RGB").getcolors(1 << 24) or []
        assert len(colours) > 10  # something is drawn
    svg = (tmp_path / f"{name}.svg").read_text()
    assert "<script" not in svg
    first = (tmp_path / f"{name}.svg").read_bytes()
    save_drawing(drawing(name, runs, {}), tmp_path, name)
    assert (tmp_path / f"{name}.svg").read_bytes() == first
