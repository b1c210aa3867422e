"""Video-Bench's scores against the paper's printed averages and hand-made cases."""

from __future__ import annotations

import csv
from importlib.resources import files

import numpy as np
import pytest

from vbench.errors import ConfigError
from vbench.metrics.outcomes import OTHER_RULE, REGROUPED, Outcomes
from vbench.metrics.videobench import LEVELS, VideoBench
from vbench.records import Clip, Sample, Score, Status
from vbench.results.statistics import estimate, summary


def printed(name: str) -> list[dict[str, str]]:
    text = files("vbench").joinpath(f"paper_tables/videobench/{name}.csv").read_text()
    return list(csv.DictReader(text.splitlines()))


def row(name: str, value: float) -> Outcomes:
    credit = np.array([value])
    return Outcomes(name, credit, credit, np.array([name]), credit > 2, 0.25)


def averages(cells: dict[str, str]) -> dict[str, float]:
    tests = [test for level in LEVELS.values() for test in level]
    found = {test: row(test, float(cells[test]) / 100) for test in tests}
    return {mean.name: 100 * estimate(mean).value for mean in VideoBench().means(found)}


def test_every_printed_average_but_one_follows_from_the_printed_cells() -> None:
    off = {}
    for table in ("table2", "table3"):
        for cells in printed(table):
            for name, value in averages(cells).items():
                if abs(value - float(cells[name])) > 0.02:
                    off[table, cells["key"], name] = round(value, 2)
    assert off == {
        ("table3", "random", "video_exclusive"): 24.57,
        ("table3", "random", "final"): 28.03,
    }


def test_the_one_exception_is_ucf_crime_s_chance() -> None:
    cells = printed("table3")[0] | {"Ucfcrime": "25.00"}
    assert averages(cells)["video_exclusive"] == pytest.approx(25.85, abs=0.005)


def test_weights_as_config_are_the_published_ones() -> None:
    for cells in printed("datasets"):
        assert LEVELS[cells["level"]][cells["key"]] == float(cells["weight"])
    assert sum(len(level) for level in LEVELS.values()) == len(printed("datasets")) == 13


def scored(test: str, number: int, right: bool | None, options: int = 4) -> Score:
    sample = Sample(
        test,
        str(number),
        "mcq",
        f"v{number}",
        (Clip("v", "f"),),
        tuple("abcdef"[:options]),
        0,
        groups={"task": "t"},
    )
    if right is None:
        status: Status = "unparsed"
        return Score(sample, status, reason="no letter")
    chosen = 0 if right else 1
    return Score(sample, "ok", tuple(float(n == chosen) for n in range(options)))


def test_an_invalid_answer_is_wrong_and_left_out_where_the_official_scripts_do() -> None:
    scores = [scored("MSVD", n, right) for n, right in enumerate([True, True, False, None])]
    found = summary(VideoBench()(scores), scores)
    assert (found["tests"]["MSVD"]["value"], found["tests"]["MSVD"]["n"]) == (0.5, 4)
    assert (found["tests"]["MSVD_legacy"]["value"], found["tests"]["MSVD_legacy"]["n"]) == (
        2 / 3,
        3,
    )
    assert found["tests"]["MSVD"]["chance"] == 0.25
    assert found["tests"]["task=t"]["value"] == 0.5
    assert found["coverage"]["incomplete"]["MSVD_legacy"]["answered"] == 3
    strict = found["coverage"]["incomplete"]["MSVD"]
    assert strict == {"n": 4, "answered": 3, "if_wrong": 0.5, "if_right": 0.75}
    outcomes = [VideoBench().outcome(score) for score in scores]
    assert outcomes == ["right", "right", "wrong", "wrong"]


def test_a_test_without_any_valid_answer_scores_nothing_and_has_no_legacy_score() -> None:
    scores = [scored("MSVD", 0, None), scored("MSRVTT", 1, True)]
    tests = summary(VideoBench()(scores), scores)["tests"]
    assert tests["MSVD"]["value"] == 0.0
    assert "MSVD_legacy" not in tests


def test_what_is_missing_is_in_the_name_of_the_score() -> None:
    scores = [scored(test, n, True) for test in ("TVQA", "MV", "MOT") for n in range(2)]
    names = [row.name for row in VideoBench()(scores)]
    assert "prior_knowledge (without NBA)" in names
    assert not {"final", "final_legacy", "prior_knowledge", "comprehension_decision"} & set(names)
    (final,) = [name for name in names if name.startswith("final (")]
    assert "SQA3D" in final
    assert "MOT" not in final


def test_a_complete_set_has_levels_a_final_score_and_weighted_chance() -> None:
    tests = [test for level in LEVELS.values() for test in level]
    scores = [
        scored(test, n, n % 2 == 0, 6 if test == "MOT" else 4) for test in tests for n in range(4)
    ]
    found = summary(VideoBench()(scores), scores)["tests"]
    assert [*found][:17] == [*tests, *LEVELS, "final"]
    level = found["video_exclusive"]
    assert level["value"] == pytest.approx(0.5)
    assert level["chance"] == pytest.approx((6 * 0.25 + 0.5 / 6) / 6.5)
    assert found["final"]["chance"] == pytest.approx((level["chance"] + 0.25 + 0.25) / 3)
    assert found["final"]["ci_low"] < 0.5 < found["final"]["ci_high"]


def test_levels_tasks_and_the_official_count_are_no_results_of_their_own() -> None:
    tests = [test for level in LEVELS.values() for test in level]
    rows = VideoBench()([scored(test, n, n == 0) for test in tests for n in range(2)])
    assert [row.name for row in rows if not row.beside] == [*tests, "final"]
    again = [row.name for row in rows if row.beside == REGROUPED]
    assert again == [*LEVELS, "task=t"]
    assert all(row.name.endswith("_legacy") for row in rows if row.beside == OTHER_RULE)
    assert len(rows) == 14 + 4 + 17


def test_the_interval_of_a_weighted_mean_is_that_of_the_weighted_sum() -> None:
    rng = np.random.default_rng(0)
    own = {
        name: Outcomes(
            name,
            (credit := (rng.random(50) < 0.5).astype(float)),
            credit,
            np.array([f"{name}{i}" for i in range(50)]),
            credit > 2,
            0.25,
        )
        for name in LEVELS["comprehension_decision"]
    }
    (level, _) = VideoBench({"c": LEVELS["comprehension_decision"]}).means(own)
    weights = np.array([0.5, 1, 1]) / 2.5
    variance = sum(
        w**2 * (part.credit.var() / 50) for w, part in zip(weights, own.values(), strict=True)
    )
    assert estimate(level).stderr == pytest.approx(np.sqrt(variance * 150 / 149))


def test_pairs_are_not_options() -> None:
    sample = Sample("MSVD", "1", "v2t", "v", (Clip("v", "f"),), ("a", "b"), 0)
    with pytest.raises(ConfigError, match="metric=accuracy"):
        VideoBench()([Score(sample, "ok", (1.0, 0.0))])
