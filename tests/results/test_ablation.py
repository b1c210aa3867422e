"""Accuracy along what a sweep varies: which runs form a series, and what is held against what."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml

from vbench.results.ablation import Ablation, ablations, to_table
from vbench.results.curves import drawing
from vbench.results.drawing import save_drawing
from vbench.results.graded import graded
from vbench.results.paired import by_name
from vbench.results.run import Run, load_run
from vbench.results.tables import to_csv, to_markdown

Study = Callable[..., list[Run]]


@pytest.fixture(scope="module")
def answers(evaluate_rows: Callable[..., Path]) -> list[Path]:
    """Runs that answer the same twenty samples by chance, each in its own way."""
    rows = [
        {"id": str(k), "video": f"{k // 2}.mp4", "positive": f"cat {k}", "negative": f"dog {k}"}
        for k in range(20)
    ]
    return [evaluate_rows(rows, f"model.seed={seed}") for seed in range(4)]


@pytest.fixture
def study(answers: list[Path], tmp_path: Path) -> Study:
    """Makes each of those runs one that was set otherwise, as if that were why answers differ."""

    def make(*settings: Mapping[str, Any]) -> list[Run]:
        runs = []
        for k, changes in enumerate(settings):
            folder = tmp_path / str(k)
            folder.mkdir()
            for file in answers[k % len(answers)].iterdir():
                if file.is_file():
                    (folder / file.name).write_bytes(file.read_bytes())
            config = yaml.safe_load((folder / "config.yaml").read_text())
            config["model"]["seed"] = 0
            config["dataset"]["file"] = str(answers[0].parent / "rows.jsonl")
            for key, value in changes.items():
                at = config
                *path, last = key.split(".")
                for name in path:
                    at = at.setdefault(name, {})
                at[last] = value
            (folder / "config.yaml").write_text(yaml.safe_dump(config))
            runs.append(load_run(folder))
        return runs

    return make


def sampler(word: str, order: str = "in_order", **more: object) -> dict[str, Any]:
    node = {"_target_": f"x.{word}", "name": word, "order": order, **more}
    return {"sampler": node, "command.choices.sampler": word}


def found(runs: list[Run]) -> dict[str, Ablation]:
    rows = [by_name(graded(run)) for run in runs]
    return {ablation.axis.name: ablation for ablation in ablations(runs, rows)}


def right(run: Run) -> np.ndarray:
    return np.array([scores[0] > scores[1] for scores in run.records.scores], float)


def test_each_count_is_held_against_the_one_before(study: Study) -> None:
    runs = study(*(sampler("nested", num_frames=n, max_frames=8) for n in (8, 1, 2)))
    (ablation,) = found(runs).values()
    assert (ablation.axis.name, ablation.test, ablation.places) == (
        "num_frames",
        "table",
        (1, 2, 8),
    )
    (series,) = ablation.series
    one, two, eight = series.points
    assert one.change is None
    for point, own, other in ((two, runs[2], runs[1]), (eight, runs[0], runs[2])):
        assert point.change is not None
        moved = right(own) - right(other)
        assert point.change.difference == pytest.approx(moved.mean())
        assert (point.change.wins, point.change.losses) == ((moved > 0).sum(), (moved < 0).sum())
        assert point.change.clusters == 10
        assert point.estimate == own.summary["tests"]["table"]
        assert point.score_change is None
    assert (two.against, eight.against) == (1, 2)
    assert ablation.chance == 0.5


def test_samplers_and_counts_are_series_of_one_another(study: Study) -> None:
    runs = study(
        sampler("nested", num_frames=1), sampler("nested", num_frames=4),
        sampler("left_edge", num_frames=1), sampler("left_edge", num_frames=4),
    )  # fmt: skip
    counts, samplers = found(runs)["num_frames"], found(runs)["sampler"]
    assert [series.name.split()[-1] for series in counts.series] == ["nested", "left_edge"]
    assert samplers.places == ("nested", "left_edge")
    assert [series.name.split()[-1] for series in samplers.series] == [
        "num_frames=1",
        "num_frames=4",
    ]
    for series, (first, second) in zip(samplers.series, ((0, 2), (1, 3)), strict=True):
        change = series.points[1].change
        assert change is not None
        assert change.difference == pytest.approx(
            right(runs[second]).mean() - right(runs[first]).mean()
        )


def test_a_sampler_of_one_frame_stands_beside_those_of_eight(study: Study) -> None:
    runs = study(sampler("left_edge", num_frames=8), sampler("nested", num_frames=8, max_frames=32),
                 sampler("middle"))  # fmt: skip
    assert found(runs).keys() == {"sampler"}
    (series,) = found(runs)["sampler"].series
    assert [point.place for point in series.points] == ["left_edge", "nested", "middle"]
    assert {point.against for point in series.points[1:]} == {"left_edge"}


def test_orders_are_held_against_time_and_say_how_far_scores_move(study: Study) -> None:
    eight = {"num_frames": 8}
    runs = study(
        sampler("nested", "shuffle", **eight), sampler("nested", "in_order", **eight),
        sampler("nested", "single", **eight),
        {**sampler("nested", "in_order", **eight), "model.visual": {"blind": "none"}},
    )  # fmt: skip
    (ablation,) = found(runs).values()
    assert ablation.places == ("in_order", "shuffle", "single", "none")
    first, shuffled, *_ = ablation.series[0].points
    assert first.score_change is None
    own, other = (np.stack(list(run.records.scores)) for run in (runs[0], runs[1]))
    assert shuffled.score_change == pytest.approx(np.abs(own - other).max())
    assert shuffled.score_change > 1e-3
    text = to_csv(to_table(ablation))
    line = next(line for line in text.splitlines() if "largest change of a score,shuffle" in line)
    assert line.endswith(str(shuffled.score_change))


def test_a_run_that_moves_nothing_says_so(study: Study) -> None:
    runs = study(*(sampler("nested", order) for order in ("in_order", "x", "y", "z", "reverse")))
    (ablation,) = found([runs[0], runs[4]]).values()  # both hold the first run's answers
    assert ablation.series[0].points[1].score_change == 0
    assert "| 0.0e+00 |" in to_markdown(to_table(ablation))


def test_places_at_which_clips_are_short_are_told(study: Study, tmp_path: Path) -> None:
    runs = study(*(sampler("nested", num_frames=n) for n in (20, 100, 400)))
    whole = {"clips": 20, "short": 0, "wanted_min": 20, "wanted_max": 20, "delivered_median": 20}
    cut = {"clips": 20, "short": 7, "wanted_min": 400, "wanted_max": 400, "delivered_median": 400}
    runs[0].summary["coverage"]["frames"] = whole
    runs[2].summary["coverage"]["frames"] = cut | {"short_min": 120, "short_max": 380}
    ablation = found(runs)["num_frames"]  # the second is of an earlier version, without the count
    line = "400: 7 of 20 clips have fewer frames than the 400 asked for: 120 to 380"
    assert to_table(ablation).notes[1:] == (line,)
    save_drawing(drawing(ablation), tmp_path / "figures", "a")
    assert line in (tmp_path / "figures" / "a.svg").read_text()
    table = pd.read_csv(tmp_path / "figures" / "a.csv").set_index(["row", "column"])
    counts = table.loc[ablation.series[0].name, ["frames_short", "frames_delivered_median"]]
    assert counts.loc[20].tolist() == [0, 20]
    assert counts.loc[100].isna().all()
    assert counts.loc[400].tolist() == [7, 400]


def test_a_short_place_of_one_series_only_names_it(study: Study) -> None:
    runs = study(
        sampler("nested", num_frames=1), sampler("nested", num_frames=4),
        sampler("left_edge", num_frames=1), sampler("left_edge", num_frames=4),
    )  # fmt: skip
    cut = {"clips": 2, "short": 1, "wanted_min": 4, "wanted_max": 4, "short_min": 3, "short_max": 3}
    runs[3].summary["coverage"]["frames"] = cut
    counts = found(runs)["num_frames"]
    (line,) = counts.short
    assert (
        line == f"{counts.series[1].name}, 4: 1 of 2 clips has fewer frames than the 4 asked for: 3"
    )
    runs[1].summary["coverage"]["frames"] = cut
    assert found(runs)["num_frames"].short == [line.removeprefix(f"{counts.series[1].name}, ")]


def test_runs_that_have_nothing_in_common_make_no_figure(study: Study) -> None:
    alone = study({**sampler("nested", num_frames=1), "model.seed": 1},
                  {**sampler("nested", num_frames=2), "model.seed": 2})  # fmt: skip
    assert found(alone) == {}


@pytest.mark.parametrize(("count", "letters"), [(3, 60), (9, 12), (1, 300)])
def test_no_name_is_cut_and_no_place_runs_into_the_next(
    study: Study, count: int, letters: int
) -> None:
    from matplotlib.figure import Figure

    runs = study(*(sampler("nested", num_frames=n) for n in (1, 2)))
    (ablation,) = found(runs).values()
    names = [f"{k} {('checkpoint=/Models/Qwen2.5-VL_' * 10)[:letters]}" for k in range(count)]
    many = replace(ablation, series=tuple(replace(ablation.series[0], name=n) for n in names))
    drawn = drawing(many)
    figure = Figure(drawn.size, layout="constrained")
    assert drawn.draw is not None
    drawn.draw(figure)
    figure.draw_without_rendering()
    (legend,) = figure.legends
    box = legend.get_window_extent()
    assert 0 <= box.x0 < box.x1 <= figure.bbox.width
    assert box.y0 >= 0
    assert len(legend.texts) == count
    spots = [line.get_xdata() for line in figure.axes[0].lines if len(line.get_xdata()) == 2]
    (first, second) = zip(*spots[:count], strict=True)
    assert max(first) < min(second)


def test_a_figure_without_differences_is_drawn(study: Study, tmp_path: Path) -> None:
    runs = study(sampler("nested", num_frames=1), sampler("nested", num_frames=2))
    (ablation,) = ablations(runs, [{}, {}])
    assert all(point.change is None for point in ablation.series[0].points)
    files = save_drawing(drawing(ablation), tmp_path / "figures", "a")
    assert {file.suffix for file in files} == {".md", ".tex", ".csv", ".html", ".png", ".svg"}
    svg = (tmp_path / "figures" / "a.svg").read_text()
    assert "nothing can be paired" in svg
    assert "number of frames" in svg
    table = pd.read_csv(tmp_path / "figures" / "a.csv")
    assert len(table) == 2
