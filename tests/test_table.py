"""`vbench table` and the end of a sweep, on runs of the toy world."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest

from vbench.cli import main

ROWS = ("chance", "oracle", "simulated")


@pytest.fixture(scope="module")
def sweep(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[str], str]:
    """Returns the run folders of a small toy Table 3, and what the sweep printed."""
    import contextlib

    folder = tmp_path_factory.mktemp("sweep")
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.chdir(folder):
        entries = ",".join(f"velociti/toy/{row}" for row in ROWS)
        words = ["experiment=velociti/toy_table3", f"entry={entries}", "logger=none"]
        more = ["dataset.num_videos=8", "dataset.render=false", "loader.num_workers=0"]
        assert main([*words, *more, "trainer=cpu"]) == 0
    runs = sorted(map(str, folder.glob("outputs/sweeps/velociti-toy_table3/*/*/*/")))
    return runs, said.getvalue()


def test_a_sweep_ends_with_all_its_rows_in_one_table(sweep: tuple[list[str], str]) -> None:
    runs, said = sweep
    assert len(runs) == len(ROWS)
    last = said[said.rindex("VELOCITI, layout of Table 3") :]
    assert all(f"velociti/toy/{row}" in last for row in ROWS)
    assert "Table 2" not in said


def test_the_papers_table_around_our_rows(
    sweep: tuple[list[str], str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["table", "velociti/table3", *sweep[0], "--format=csv"]) == 0
    lines = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    printed = {line["row"]: line["text"] for line in lines if line["column"] == "average"}
    assert printed["Human (paper; not run)"] == "94.4"
    assert printed["velociti/toy/oracle"].startswith("100.0")
    main(["table", "velociti/table3", *sweep[0], "--format=markdown"])
    text = capsys.readouterr().out
    assert text.count("gap to simulated") == 2
    assert "gap to humans" not in text


def test_a_folder_that_cannot_be_written_is_named_as_what_it_is(
    sweep: tuple[list[str], str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "taken").write_text("")
    folder = tmp_path / "taken" / "out"
    assert main(["table", *sweep[0], "--out", str(folder)]) == 1
    said = capsys.readouterr().err
    assert f"cannot write to the folder '{folder}'" in said
    assert "name another folder" in said
    assert "resumes" not in said


@pytest.mark.parametrize(
    ("form", "sign"),
    [("terminal", "│"), ("latex", "\\toprule"), ("html", "<caption>"), ("markdown", "| :---")],
)
def test_every_format(
    sweep: tuple[list[str], str], form: str, sign: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("velociti/table1", "velociti/table2", "velociti/table3"):
        assert main(["table", name, sweep[0][0], "--format", form]) == 0
        assert sign in capsys.readouterr().out


def test_table_one_counts_what_a_run_asked(
    sweep: tuple[list[str], str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["table", "velociti/table1", *sweep[0], "--format=csv"]) == 0
    cells = {
        (line["row"], line["column"]): line["text"]
        for line in csv.DictReader(io.StringIO(capsys.readouterr().out))
    }
    assert cells["IVAT", "released"] == "719"
    assert ("IVAT", "our_tests") not in cells
    assert cells["Chrono", "our_videos"] == "8"
    assert cells["Chrono", "our_tests"] == "48"  # six orders of events a video


def test_without_runs_a_papers_table_is_the_papers(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["table", "velociti/table2"]) == 0
    said = capsys.readouterr().out
    assert "Owl-Con (paper; not run)" in said
    assert "(ours)" not in said


def test_a_table_that_no_paper_has_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["table", "velociti/table4"]) == 1
    assert "velociti/table4" in capsys.readouterr().err
