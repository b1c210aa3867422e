import csv
import os
import re
from collections import Counter
from pathlib import Path

import pytest

from vbench.datasets.table import Table
from vbench.datasets.velociti.human_subset import HumanSubset
from vbench.doctor import examine
from vbench.errors import ConfigError, DataError
from vbench.records import Clip
from vbench.schema import compose

HEADER = "cap1,cap2,ev,gt,video_id\n"


@pytest.fixture
def released() -> Path:
    repository = Path(__file__).parents[3]
    shared = Path(os.environ.get("VBENCH_SHARED") or repository.parent / "shared")
    folder = shared / "data/velociti_human_subset"
    if not folder.is_dir():
        pytest.skip(f"the human-subset CSV files are not in {folder} (set VBENCH_SHARED)")
    return folder


def test_the_released_files(released: Path) -> None:
    samples = HumanSubset(str(released)).samples()
    counts = Counter(sample.test for sample in samples)
    assert counts == {"action_adv": 150, "agent_bind": 150, "agent_coref": 150, "chrono": 142}
    assert len({(s.test, s.sample_id) for s in samples}) == len(samples)
    targets = Counter((s.test, s.target) for s in samples)
    assert (targets["chrono", 0], targets["chrono", 1]) == (68, 74)
    assert all(len(s.texts) == 2 and s.kind == "v2t" for s in samples)
    assert all(f"v_{s.cluster}_seg_" in s.clips[0].video_id for s in samples)


def test_the_released_files_as_plain_tables(released: Path) -> None:
    samples = Table(
        file=str(released / "sequence.csv"),
        kind="pairs",
        video="video_id",
        texts=["cap1", "cap2"],
        answer="gt",
        extension=".mp4",
    ).samples()
    (chosen,) = [HumanSubset(str(released), tests=["chrono"]).samples()]
    assert [(s.texts, s.target) for s in samples] == [(s.texts, s.target) for s in chosen]


def test_names_clusters_and_videos(tmp_path: Path) -> None:
    (tmp_path / "coref.csv").write_text(
        HEADER
        + 'A.,B.,"[""Ev1"",""Ev2"",""Ev2""]",cap2,v_-a_seg_0_10\n'
        + 'A.,B.,"[""Ev1"",""Ev2"",""Ev2""]",cap2,v_-a_seg_0_10\n'
        + "C.,D.,Ev3,cap1,v_b_seg_5_15\n"
    )
    first, again, last = HumanSubset(str(tmp_path), videos="films").samples()
    assert first.sample_id == 'v_-a_seg_0_10/["Ev1","Ev2","Ev2"]'
    assert again.sample_id == first.sample_id + "#2"
    assert (first.target, last.target) == (1, 0)
    assert (first.cluster, last.cluster) == ("-a", "b")
    assert first.clips == (Clip("v_-a_seg_0_10", str(Path("films/v_-a_seg_0_10.mp4"))),)
    assert dict(first.groups) == {}
    beside = HumanSubset(str(tmp_path)).samples()[0].clips[0].path
    assert beside == str(tmp_path / "videos/v_-a_seg_0_10.mp4")


def test_errors(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no file of the human subset"):
        HumanSubset(str(tmp_path)).samples()
    with pytest.raises(DataError, match=r"'sequence\.csv' cannot be read"):
        HumanSubset(str(tmp_path), tests=["chrono"]).samples()
    with pytest.raises(ConfigError, match="has no test 'ivat'"):
        HumanSubset(str(tmp_path), tests=["ivat"]).samples()
    (tmp_path / "sequence.csv").write_text(HEADER + "A.,B.,Ev1,cap3,v_b_seg_5_15\n")
    with pytest.raises(DataError, match="row 1, column 'gt': 'cap3' is none of 2 options"):
        HumanSubset(str(tmp_path)).samples()
    (tmp_path / "sequence.csv").write_text(HEADER + "A.,B.,Ev1,cap1,../v\n")
    with pytest.raises(DataError, match="lies outside"):
        HumanSubset(str(tmp_path)).samples()


def test_chrono_swaps_two_clauses_and_coref_shares_its_first_half(released: Path) -> None:
    chrono = HumanSubset(str(released), tests=["chrono"]).samples()
    pattern = re.compile(r"First, (.+?\.) Then, (.+\.)")
    swapped = 0
    for sample in chrono:
        right, wrong = (pattern.fullmatch(text) for text in sample.texts)
        assert right and wrong
        swapped += right.groups() == wrong.groups()[::-1]
    assert (swapped, len(chrono)) == (142, 142)
    coref = HumanSubset(str(released), tests=["agent_coref"]).samples()
    halves = re.compile(r"(The person who .+?) is also the one who .+\.")
    firsts = [[halves.fullmatch(text) for text in sample.texts] for sample in coref]
    same = sum(a is not None and b is not None and a[1] == b[1] for a, b in firsts)
    assert (same, len(coref)) == (150, 150)


def test_a_copy_with_a_row_twice_is_reported_by_the_doctor(released: Path, tmp_path: Path) -> None:
    text = (released / "sequence.csv").read_text()
    last = text.rstrip("\n").splitlines()[-1]
    assert next(csv.reader([last]))[-1].startswith("v_")  # one line is one row
    (tmp_path / "sequence.csv").write_text(f"{text.rstrip()}\n{last}\n")
    settings = ["dataset=velociti/human_subset", f"dataset.root={tmp_path}", "loader.num_workers=0"]
    found = examine(compose(settings, "doctor")).findings
    reported = {finding.kind: finding for finding in found if finding.kind != "missing"}
    assert set(reported) == {"duplicate_sample", "other_count"}
    assert reported["duplicate_sample"].where.endswith("#2")
    assert "it has 143 samples, the release has 142" in reported["other_count"].what
