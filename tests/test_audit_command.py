"""`vbench doctor --audit`: what texts give away, with no video anywhere near."""

from __future__ import annotations

import csv
import json
import random
from pathlib import Path

import pytest

from vbench.cli import main
from vbench.errors import ConfigError
from vbench.schema import compose


@pytest.fixture
def words(tmp_path: Path) -> list[str]:
    """A table of caption pairs in which the right caption is the longer one."""
    dice = random.Random(0)
    vocabulary = ["the", "red", "ball", "rolls", "over", "beach", "blue", "square", "pushes"]
    with (tmp_path / "qa.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["video", "positive", "negative"])
        for i in range(80):
            long, short = (" ".join(dice.choices(vocabulary, k=k)) for k in (16, 5))
            writer.writerow([f"film{i}.mp4", f"{long} {i}", f"{short} {i}"])
    return ["dataset=table", "dataset.kind=pairs", f"dataset.file={tmp_path}/qa.csv"]


def test_the_flag_and_the_setting_print_the_same_table(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["doctor", "--audit", *words]) == 3
    out = capsys.readouterr().out
    assert main(["doctor", *words, "audit=true"]) == 3
    assert capsys.readouterr().out == out
    assert "80 samples, no file was opened" in out
    assert "missing" not in out
    (row,) = [line for line in out.splitlines() if line.startswith("    longest ")]
    assert row.split()[1:3] == ["100.0", "[95.5,"]
    assert row.endswith("*")
    (warning,) = [line for line in out.splitlines() if "'longest' is right in 100.0 %" in line]
    assert warning.startswith("warning  shortcut")


def test_json_holds_the_audit(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--audit", "--json", *words]) == 3
    said = json.loads(capsys.readouterr().out)
    assert list(said)[-2:] == ["files", "audit"]
    assert said["files"] == []
    lines = {line["shortcut"]: line for line in said["audit"]["lines"]}
    assert lines["longest"]["value"] == 1.0
    assert lines["longest"]["p_holm"] < 1e-20
    assert lines["shortest"]["value"] == 0.0
    assert lines["file name"]["value"] == lines["file name"]["chance"] == 0.5
    assert not lines["common option"]["found"]
    assert said["audit"]["repeats"] == said["audit"]["left_out"] == {}


def test_without_the_flag_nothing_is_audited(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    main(["doctor", "--json", *words, "loader.num_workers=0"])
    said = json.loads(capsys.readouterr().out)
    assert "audit" not in said
    assert set(said["counts"]) == {"missing"}


def test_a_model_that_looks_at_clips_is_refused(words: list[str]) -> None:
    from vbench.doctor import examine

    with pytest.raises(ConfigError) as caught:
        examine(compose([*words, "audit=true", "model=toy/clip"], "doctor"))
    assert "does not score texts alone" in caught.value.why
    assert "model=vera" in caught.value.mend


def test_a_dataset_that_cannot_be_read(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["dataset=table", "dataset.kind=pairs", "dataset.file=/nowhere.csv"]
    assert main(["doctor", "--audit", *words]) == 3
    assert "unreadable_dataset" in capsys.readouterr().out
