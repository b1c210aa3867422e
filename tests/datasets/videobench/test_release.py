"""Video-Bench's question files: every irregularity that the released ones have, and worse."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from vbench.cli import main
from vbench.datasets.videobench.layout import catalogue, is_safe
from vbench.datasets.videobench.release import VideoBenchRelease
from vbench.datasets.videobench.subtitles import read_cues, said_within
from vbench.errors import ConfigError, DataError
from vbench.metrics.videobench import LEVELS
from vbench.records import Sample

SHARED = Path(os.environ.get("VBENCH_SHARED", Path(__file__).parents[4] / "shared"))
RELEASED = SHARED / "data" / "videobench"


def item(**changes: Any) -> dict[str, Any]:
    usual = {
        "vid_path": "Eval_video/MSVD/a.avi",
        "video_id": "a",
        "question": "What is shown?",
        "choices": {"A": "cat", "B": "dog", "C": "cow", "D": "hen"},
        "answer": "C",
    }
    return {k: v for k, v in (usual | changes).items() if v is not ...}


def write(root: Path, questions: object, name: str = "MSVD_QA_new.json") -> Path:
    root.mkdir(parents=True, exist_ok=True)
    (root / name).write_text(json.dumps(questions), encoding="utf-8")
    return root


def read(root: Path, **more: Any) -> list[Sample]:
    return VideoBenchRelease(str(root), names=["MSVD"], **more).samples()


def right(sample: Sample) -> tuple[str, str]:
    assert isinstance(sample.target, int)
    return sample.letters[sample.target], sample.texts[sample.target]


def test_a_question_becomes_a_sample(tmp_path: Path) -> None:
    (sample,) = read(write(tmp_path, {"7": item()}))
    assert (sample.test, sample.sample_id, sample.kind) == ("MSVD", "7", "mcq")
    assert sample.texts == ("cat", "dog", "cow", "hen")
    assert sample.letters == ("A", "B", "C", "D")
    assert right(sample) == ("C", "cow")
    assert sample.groups == {"task": "Basic QA"}


@pytest.mark.parametrize(
    ("choices", "answer", "expected"),
    [
        ({"A": "cat", "B": "dog", "D": "hen", "C": "cow"}, "C", ("C", "cow")),
        ({"A": None, "B": "dog", "C": "cow", "D": None}, "B", ("B", "dog")),
        ({"A": 1, "B": 2, "C": 3}, "B", ("B", "2")),
        ({"A": "cat", "B": "", "C": "cow"}, "C", ("C", "cow")),
        ({"A": "cat"}, "A", ("A", "cat")),
        ({"A": "cat", "B": "cat", "C": "cow"}, "B", ("B", "cat")),
        ({"A": " cat", "B": " dog"}, "A", ("A", " cat")),
    ],
)
def test_the_letter_is_right_however_options_stand(
    tmp_path: Path, choices: dict[str, Any], answer: str, expected: tuple[str, str]
) -> None:
    (sample,) = read(write(tmp_path, {"1": item(choices=choices, answer=answer)}))
    assert right(sample) == expected
    assert len(sample.letters) == len(sample.texts)
    assert set(sample.letters) | set(sample.void_letters) == set(choices)


def test_ids_that_are_numbers_are_read(tmp_path: Path) -> None:
    (sample,) = read(write(tmp_path, {"1": item(video_id=7011)}))
    assert sample.clips[0].video_id == "7011"


def test_answers_come_from_the_file_else_from_the_answers(tmp_path: Path) -> None:
    root = write(tmp_path / "r", {"1": item(), "2": item(answer=...), "3": item(answer=...)})
    assert [sample.target for sample in read(root)] == [2, None, None]
    write(tmp_path, {"MSVD": {"1": {"answer": "A"}, "2": {"answer": "D"}}}, "ANSWER.json")
    told = read(root, answers=str(tmp_path / "ANSWER.json"))
    assert [sample.target for sample in told] == [2, 3, None]


def test_an_answer_that_is_no_option_is_told(tmp_path: Path) -> None:
    void = {"A": None, "B": "dog", "C": "cow"}
    for choices, answer in ((void, "A"), (void, "E")):
        root = write(tmp_path, {"1": item(choices=choices, answer=answer)})
        with pytest.raises(DataError, match="no option of question 1") as caught:
            read(root)
        assert "B, C" in caught.value.why


@pytest.mark.parametrize("layout", ["Eval_video/MSVD/a.avi", "MSVD/a.avi", "a.avi"])
def test_videos_are_found_in_each_layout(tmp_path: Path, layout: str) -> None:
    place = tmp_path / "videos" / layout
    place.parent.mkdir(parents=True)
    place.touch()
    root = write(tmp_path / "Eval_QA", {"1": item()}).parent
    (sample,) = read(root, videos=str(tmp_path / "videos"))
    assert sample.clips[0].path == str(place)


def test_a_video_that_is_nowhere_is_reported_under_the_path_of_its_file(tmp_path: Path) -> None:
    (sample,) = read(write(tmp_path, {"1": item()}))
    assert sample.clips[0].path == str(tmp_path / "Eval_video/MSVD/a.avi")


@pytest.mark.parametrize("path", ["../a.avi", "/etc/passwd", "x/../../a.avi", "..\\a.avi", "a\0b"])
def test_paths_that_lead_outside_are_refused(tmp_path: Path, path: str) -> None:
    assert not is_safe(path)
    with pytest.raises(DataError, match="outside the dataset"):
        read(write(tmp_path, {"1": item(vid_path=path)}))


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        ({"1": item(choices={})}, "no option"),
        ({"1": item(choices={"a": "cat"})}, "no letter"),
        ({"1": item(choices={"A": ["cat"]})}, "neither text nor number"),
        ({"1": item(choices=["cat"])}, "object"),
        ({"1": item(question=...)}, "question"),
        ({"1": item(question="  ")}, "empty"),
        ([], "object"),
    ],
)
def test_malformed_files_are_told_with_their_place(
    tmp_path: Path, broken: object, said: str
) -> None:
    with pytest.raises(DataError, match=said) as caught:
        read(write(tmp_path, broken))
    assert "MSVD_QA_new.json" in caught.value.where


def test_half_a_file_is_told_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "MSVD_QA_new.json").write_text('{"1": {"vid_path": ')
    with pytest.raises(DataError, match="not valid JSON") as caught:
        read(tmp_path)
    assert "line 1" in caught.value.where


def test_a_missing_file_or_name_says_how_to_go_on(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no question file of MSVD") as missing:
        read(tmp_path)
    assert "dataset.names" in missing.value.mend
    with pytest.raises(ConfigError, match="MSDV") as wrong:
        VideoBenchRelease(str(tmp_path), names=["MSDV"]).samples()
    assert "MSVD" in wrong.value.mend


def test_irregularities_are_told(tmp_path: Path) -> None:
    odd = {
        "order": item(choices={"A": "cat", "C": "cow", "B": "dog"}),
        "null": item(choices={"A": None, "B": "dog", "C": "x"}),
        "number": item(choices={"A": 1, "B": "2", "C": "x"}),
        "one": item(choices={"C": "cat"}),
        "same": item(choices={"A": "cat", "C": " cat"}),
        "empty": item(choices={"A": "", "C": " cat"}),
        "leaked": item(correct="cat"),
        "fine": item(),
    }
    told = dict(VideoBenchRelease(str(write(tmp_path, odd)), names=["MSVD"]).oddities())
    assert told.keys() == {f"MSVD {name}" for name in odd if name != "fine"}
    assert told["MSVD order"].endswith("A, C, B")


def test_mot_sequences_are_one_source_under_both_names(tmp_path: Path) -> None:
    both = {
        "0": item(video_id="MOT16-09", vid_path="Eval_video/MOT/MOT16-09.mp4"),
        "1": item(video_id="MOT17-09-FRCNN", vid_path="Eval_video/MOT/MOT17-09-FRCNN.mp4"),
    }
    root = write(tmp_path, both, "MOT_QA_new.json")
    samples = VideoBenchRelease(str(root), names=["MOT"]).samples()
    assert len({sample.cluster for sample in samples}) == 1


SRT = """1
00:00:01,000 --> 00:00:02,500
<i>Hello</i> there.
Two lines.

2
00:01:00,000 --> 00:01:01,000
{\\an8}Later.
"""


@pytest.mark.parametrize(
    ("ending", "text"),
    [(".srt", SRT), (".vtt", "WEBVTT\n\n" + SRT.replace(",", ".").replace("00:0", "0", 2))],
)
def test_subtitles_are_read_and_shown_before_the_question(
    tmp_path: Path, ending: str, text: str
) -> None:
    (tmp_path / "subs").mkdir()
    (tmp_path / "subs" / f"a{ending}").write_text(text, encoding="utf-8")
    cues = read_cues(tmp_path / "subs" / f"a{ending}")
    assert cues == [(1.0, 2.5, "Hello there. Two lines."), (60.0, 61.0, "Later.")]
    assert said_within(cues, 2.5, 61.0) == "Later."
    root = write(tmp_path, {"1": item(), "2": item(vid_path="Eval_video/MSVD/b.avi")})
    told, silent = read(root, subtitles=str(tmp_path / "subs"))
    assert told.question == ("Subtitles:\nHello there. Two lines.\nLater.\n\nWhat is shown?")
    assert silent.question == "What is shown?"


def test_a_file_without_cues_is_told(tmp_path: Path) -> None:
    (tmp_path / "a.srt").write_text("nothing here")
    with pytest.raises(DataError, match="no subtitle"):
        read_cues(tmp_path / "a.srt")


def test_the_catalogue_is_that_of_the_metric() -> None:
    assert {
        level: [entry.key for entry in catalogue().values() if entry.level == level]
        for level in LEVELS
    } == {level: list(tests) for level, tests in LEVELS.items()}
    assert sum(entry.questions for entry in catalogue().values()) == 17036


@pytest.mark.skipif(not RELEASED.is_dir(), reason="the released question files are not here")
def test_released_files_load_as_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    names = ["Ucfcrime", "MOT", "Driving-exam"]
    samples = VideoBenchRelease(str(RELEASED), names=names).samples()
    counts = {name: sum(sample.test == name for sample in samples) for name in names}
    assert counts == {"Ucfcrime": 290, "MOT": 18, "Driving-exam": 36}
    assert {sample.target for sample in samples} == {None}
    crime = [sample for sample in samples if sample.test == "Ucfcrime"]
    assert all(sample.texts.count("Normal") == 1 for sample in crime)
    assert len({sample.cluster for sample in samples if sample.test == "MOT"}) == 11
    chance = [1 / len(sample.texts) for sample in samples if sample.test == "Driving-exam"]
    assert round(100 * sum(chance) / len(chance), 4) == 36.8056
    command = ["doctor", "dataset=videobench/mot", f"dataset.root={RELEASED}"]
    assert main([*command, "loader.num_workers=0"]) == 3
    assert "no such file" in capsys.readouterr().out
