"""`vbench table videobench/…`, from printed values alone, and with runs in it."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from vbench.cli import main
from vbench.exchange.foreign import Item, Origin, write_run
from vbench.results.videobench.printed import DATASETS
from vbench.run_commands import PAPER_TABLES

NAMES = [name for name in PAPER_TABLES if name.startswith("videobench/")]


@pytest.mark.parametrize("name", NAMES)
def test_from_the_printed_values_alone(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    for form, sign in (("markdown", "| :---"), ("latex", "\\toprule"), ("html", "<caption>"),
                       ("csv", "row,column"), ("terminal", "│")):  # fmt: skip
        assert main(["table", name, "--format", form]) == 0
        assert sign in capsys.readouterr().out


def made(folder: Path, name: str, wrong: int) -> str:
    """Returns a run of two questions a dataset, some of them wrong, one not answered."""
    options = {"A": "a cat", "B": "a dog"}
    items = [
        Item(key, str(n), "What?", options, "A", "B" if number < wrong and n == 0 else "A", "What?")
        for number, key in enumerate(DATASETS)
        for n in range(2)
    ]
    items[-1] = Item("SQA3D", "1", "What?", options, "A", None, "What?")
    return str(write_run(items, Origin("lmms-eval", name, "other", {name: name}), folder))


def test_ours_beside_the_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runs = [made(tmp_path, "one", 3), made(tmp_path, "two", 0)]
    assert main(["table", "videobench/table2", *runs, "--format=csv"]) == 0
    cells = {
        (cell["row"], cell["column"]): cell
        for cell in csv.DictReader(io.StringIO(capsys.readouterr().out))
    }
    assert float(cells["Activitynet-QA", "ours one"]["value"]) == 0.5
    assert float(cells["Activitynet-QA", "ours two"]["gain"]) == 0.5
    sqa = cells["SQA3D", "ours two"]
    assert (float(sqa["value"]), float(sqa["legacy"]), sqa["answered"]) == (0.5, 1.0, "1")
    # Three of 6.5 weights half right, then 2 of 2.5 with SQA3D half right.
    one, two = (float(cells["(D) Final", f"ours {name}"]["value"]) for name in ("one", "two"))
    assert one == pytest.approx((5 / 6.5 + 1 + 2 / 2.5) / 3)
    assert two == pytest.approx((1 + 1 + 2 / 2.5) / 3)
    assert cells["(D) Final", "ours two"]["place"] == "1"
    main(["table", "videobench/table2", *runs, "--format=markdown"])
    assert "imported from lmms-eval" in capsys.readouterr().out


def test_files_of_a_figure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = made(tmp_path, "one", 3)
    out = tmp_path / "figures"
    assert main(["table", "videobench/figure2", run, "--out", str(out)]) == 0
    assert "one (ours" in capsys.readouterr().out
    assert {file.name for file in out.iterdir()} == {
        f"videobench_figure2.{ending}" for ending in ("png", "svg", "csv", "md", "tex", "html")
    }
    assert main(["table", "videobench/figure3"]) == 1
    assert "there is no table 'videobench/figure3'" in capsys.readouterr().err


@pytest.mark.slow
def test_the_whole_table_on_the_toy_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["experiment=videobench/table2", "logger=none", "trainer=cpu", "limit=3"]
    assert main([*words, f"dataset.root={tmp_path}/set"]) in (0, 3)
    said = capsys.readouterr().out
    last = said[said.rindex("Video-Bench, Table 2") :]
    assert "ours (scorer letters)" in last
    assert "visual=shown" in last
    assert "visual=none" in last
    for folder in tmp_path.glob("outputs/sweeps/videobench-table2/*/*/*/summary.json"):
        tests = json.loads(folder.read_text())["tests"]
        assert set(DATASETS) | {"video_exclusive", "prior_knowledge", "final"} <= set(tests)
