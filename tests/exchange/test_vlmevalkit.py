"""`vbench import vlmevalkit`: result tables of another harness."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from vbench.cli import main
from vbench.errors import DataError
from vbench.exchange.vlmevalkit import read
from vbench.results.run import load_run

Write = Callable[[str], Path]


@pytest.mark.parametrize("ending", ["xlsx", "tsv", "json"])
def test_every_kind_of_file_gives_the_same_run(
    vlmeval: Write, ending: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = vlmeval(ending)
    assert main(["import", "vlmevalkit", str(file), "--out", str(tmp_path / "in")]) == 0
    run = load_run(capsys.readouterr().out.strip())
    assert run.config["origin"]["model"] == "acme"
    assert list(run.summary["tests"]) == ["Video-MME_8frame", "duration=short", "duration=long"]
    records = run.records.set_index("sample_id")
    assert list(records.index) == ["0", "1", "2", "3"]
    assert list(records["outcome"]) == ["right", "wrong", "unscored", "right"]
    assert "Failed to obtain" in records.loc["2", "reason"]
    assert list(records.loc["3", "texts"])[2] == "A dog's shoe."
    assert run.summary["tests"]["Video-MME_8frame"]["value"] == pytest.approx(2 / 3)
    theirs = run.summary["observed"]["Video-MME_8frame"]["theirs"]
    assert (theirs["value"], theirs["n"]) == (pytest.approx(2 / 3), 3)  # -1 is no verdict


def test_columns_of_letters_and_hits(tmp_path: Path) -> None:
    file = tmp_path / "big_model_MMBench.tsv"
    file.write_text(
        "index\tquestion\tA\tB\tC\tanswer\tprediction\thit\n5\tWhat?\tx\ty\t\tB\tB\t1\n"
    )
    ((origin, (item,)),) = read(file, "big_model")
    assert (origin.model, origin.dataset) == ("big_model", "MMBench")
    assert item.options == {"A": "x", "B": "y"}
    assert (item.sample_id, item.target, item.theirs) == ("5", "B", 1.0)


def test_a_folder_takes_results_and_leaves_ratings(vlmeval: Write) -> None:
    file = vlmeval("tsv")
    (file.parent / "acme_Video-MME_rating.json").write_text('[{"overall": 1}]')
    ((origin, items),) = read(file.parent)
    assert (origin.dataset, len(items)) == ("Video-MME_8frame", 4)


def test_nothing_in_a_cell_is_run(tmp_path: Path) -> None:
    file = tmp_path / "m_d.tsv"
    bait = tmp_path / "bait"
    call = f"[__import__('pathlib').Path('{bait}').touch()]"
    file.write_text(f"index\tcandidates\tanswer\tprediction\n0\t{call}\tA\tA\n")
    with pytest.raises(DataError, match="has no options"):
        list(read(file))
    assert not bait.exists()


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("m_d.xlsx", "no zip", "cannot be read"),
        ("m_d.json", "[1, 2]", "no table"),
        ("m_d.json", "{", "cannot be read"),
        ("m_d.tsv", "index\tanswer\n0\tA\n", "no column prediction"),
        ("m_d.tsv", "A\tB\tanswer\tprediction\nx\ty\tQ\tA\n", "'Q' is none"),
    ],
)
def test_what_cannot_be_read_is_named(tmp_path: Path, name: str, text: str, said: str) -> None:
    file = tmp_path / name
    file.write_text(text)
    with pytest.raises(DataError, match=said):
        list(read(file))
