import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from vbench.datasets.velociti.vidsitu.dataset import FromVidsitu
from vbench.datasets.velociti.vidsitu.labels import role_of
from vbench.datasets.velociti.vidsitu.reader import read_labels
from vbench.errors import ConfigError, DataError

A, B = "v_aaaaaaaaaaa_seg_0_10", "v_bbb_seg_bbb-_seg_15_25"


def event(name: str, verb: str, **arguments: str) -> dict[str, Any]:
    keys = {"a": "Arg0 (agent)", "p": "Arg1 (thing)", "m": "ArgM (manner)"}
    filled = {keys[role]: text for role, text in arguments.items()}
    return {
        "vid_seg_int": name,
        "Verb": verb,
        "Args": filled,
        "Arg_List": {key: str(place) for place, key in enumerate(filled)},
    }


def video(name: str) -> dict[str, Any]:
    agents = ("man in black", "woman", "man in black", "tall boy", "woman")
    verbs = ("sit", "run", "sing", "jump", "wave")
    return {
        f"Ev{k}": event(name, verb, a=f"{agent} of {name[2]}", m=f"{verb}-wise")
        for k, (agent, verb) in enumerate(zip(agents, verbs, strict=True), 1)
    }


def write(root: Path, annotations: list[Any], names: Any = (A, B)) -> Path:
    for folder, file, content in (
        ("split_files", "vseg_split_valid_lb.json", list(names)),
        ("vinfo_files", "vinfo_valid_lb.json", [{"vid_seg_int": A, "vb_lst": {"Ev1": ["Nap"]}}]),
        ("vseg_ann_files", "vsann_valid_lb.json", annotations),
    ):
        (root / folder).mkdir(exist_ok=True, parents=True)
        (root / folder / file).write_text(json.dumps(content))
    return root


def test_what_is_read(tmp_path: Path) -> None:
    others = [video(A), video(A)]
    others[1]["Ev2"] = event(A, "Crawl", a="dog", m="on its belly")
    root = write(tmp_path / "vidsitu_data", [video(B), *others])
    first, second = read_labels(root, "valid").videos
    assert (first.video_id, second.video_id) == (A, B)
    assert [e.verb for e in first.events] == ["sit", "run", "sing", "jump", "wave"]
    assert first.events[0].agent == "man in black of a"
    assert first.phrases == {"man in black of a", "woman of a", "tall boy of a", "dog"}
    assert {"nap", "crawl"} <= first.verbs
    assert "nap" not in second.verbs
    assert "on its belly" in first.manners
    (third,) = read_labels(root.parent, "valid", annotation=1).videos
    assert third.events[1].verb == "Crawl"
    assert third.events[1].agent == "dog"


@pytest.mark.parametrize(
    ("key", "role"),
    [
        ("Arg0 (thing falling)", "Arg0"),
        ("Arg5", "Arg5"),
        ("Arg6 (thing)", None),
        ("Arg01", None),
        ("ArgM (direction)", "ADir"),
        ("ArgM (purpose)", "APrp"),
        ("ArgM (location)", "ALoc"),
        ("ArgM (goal)", "AGol"),
        ("ArgM (manner of direction)", "ADir"),
        ("ArgM (time)", None),
        ("Scene of the Event", "AScn"),
        ("Scene of the event", None),
        ("", None),
    ],
)
def test_roles_of_keys(key: str, role: str | None) -> None:
    assert role_of(key) == role


def test_arguments_come_by_position(tmp_path: Path) -> None:
    labels = video(A)
    labels["Ev1"]["Args"] = {"ArgM (manner)": "so", "Arg1 (x)": "p", "Arg0 (y)": "a", "Arg2": "i"}
    labels["Ev1"]["Arg_List"] = {"Arg0 (y)": 0, "Arg1 (x)": "1", "ArgM (manner)": 2}
    (read, _) = read_labels(write(tmp_path, [labels, video(B)]), "valid").videos
    assert [a.role for a in read.events[0].arguments] == ["Arg0", "Arg1", "AMnr", "Arg2"]


def no_agent(of: dict[str, Any]) -> None:
    of["Ev2"]["Args"] = {"Arg1 (thing fallen)": "tower"}


def empty(of: dict[str, Any]) -> None:
    of["Ev2"]["Args"]["ArgM (manner)"] = " - "


def unknown(of: dict[str, Any]) -> None:
    of["Ev2"]["Args"]["ArgM (colour)"] = "red"


def twice(of: dict[str, Any]) -> None:
    of["Ev2"]["Args"]["Arg0 (another)"] = "nobody"


def no_verb(of: dict[str, Any]) -> None:
    of["Ev2"]["Verb"] = ""


def one_event(of: dict[str, Any]) -> None:
    for name in ("Ev1", "Ev3", "Ev4", "Ev5"):
        del of[name]


def no_arguments(of: dict[str, Any]) -> None:
    del of["Ev2"]["Args"]


def foreign(of: dict[str, Any]) -> None:
    of["Ev2"]["Args"]["Arg0 (agent)"] = "東京の人"


def accents(of: dict[str, Any]) -> None:
    of["Ev2"]["Args"]["Arg0 (agent)"] = "Renée’s father"


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (no_agent, "an event has no agent (Arg0)"),
        (empty, "an argument is empty"),
        (unknown, "an argument's key is unknown"),
        (twice, "a role is filled twice; the first is kept"),
        (no_verb, "an event has no verb"),
        (one_event, "a video has fewer than five labelled events"),
        (no_arguments, "an event has no arguments"),
        (foreign, "an argument has letters that ASCII cannot say"),
        (accents, None),
    ],
)
def test_slips_are_counted_and_a_set_is_built_all_the_same(
    spoil: Callable[[dict[str, Any]], None], reason: str | None, tmp_path: Path
) -> None:
    labels = video(A)
    spoil(labels)
    root = write(tmp_path / "labels", [labels, video(B)])
    read = read_labels(root, "valid")
    assert (reason is None) == (not read.tally.reasons)
    if reason:
        assert read.tally.count(reason) == 1
        assert A in read.tally.reasons[reason].examples[0]
    dataset = FromVidsitu(str(tmp_path / "set"), str(root))
    dataset.build()
    report = json.loads((tmp_path / "set/build_report.json").read_text())
    assert reason is None or report["reading"][reason]["count"] == 1
    assert reason is None or reason in (tmp_path / "set/DATASHEET.md").read_text()
    assert {s.test for s in dataset.samples()} >= {"agent_bind", "chrono", "ivat", "control_v2t"}


def test_accents_and_quotes_are_made_plain(tmp_path: Path) -> None:
    labels = video(A)
    accents(labels)
    FromVidsitu(str(tmp_path / "set"), str(write(tmp_path / "l", [labels, video(B)]))).build()
    captions = json.loads((tmp_path / "set/data/pos_caps.json").read_text())
    assert captions[A]["Ev2"] == "Renee's father is running, run-wise."


def test_a_video_with_one_event_has_neither_ends_nor_order(tmp_path: Path) -> None:
    labels = video(A)
    one_event(labels)
    dataset = FromVidsitu(str(tmp_path / "set"), str(write(tmp_path / "l", [labels, video(B)])))
    dataset.build()
    tests = {s.test for s in dataset.samples() if s.clips[0].video_id == A}
    assert not tests & {"ivat", "chrono", "agent_bind", "agent_coref"}
    report = json.loads((tmp_path / "set/build_report.json").read_text())
    assert report["building"]["IVAT: the first or the last event has no caption"]["count"] == 1


def test_videos_and_annotations_that_do_not_meet(tmp_path: Path) -> None:
    bad = "../v_evil_seg_0_10"
    names = (A, B, "v_lonely_seg_0_10", bad, A, 7)
    stray = "v_stray_seg_0_10"
    root = write(tmp_path, [video(A), video(B), video(stray), video(bad), {}, "x"], names)
    read = read_labels(root, "valid")
    assert [v.video_id for v in read.videos] == [A, B]
    assert {reason: of.count for reason, of in read.tally.reasons.items()} == {
        "an annotation names no video": 2,
        "a video has no annotation": 1,
        "a video's name cannot be a file name": 1,
        "an annotated video is not in the split": 1,
    }


def test_without_vinfo_the_verb_lists_are_missed(tmp_path: Path) -> None:
    root = write(tmp_path, [video(A), video(B)])
    (root / "vinfo_files/vinfo_valid_lb.json").unlink()
    read = read_labels(root, "valid")
    assert read.tally.count("no vinfo file: the verb annotators' verbs are not known") == 1
    assert len(read.videos) == 2


@pytest.mark.parametrize(
    ("split", "says"),
    [
        ("vaild", ["VidSitu has no split 'vaild'", "did you mean 'valid'?"]),
        ("testsrl", ["'testsrl' has no role labels", "dataset.split=valid"]),
    ],
)
def test_a_wrong_split_is_explained(split: str, says: list[str], tmp_path: Path) -> None:
    root = write(tmp_path, [video(A), video(B)])
    with pytest.raises(ConfigError) as caught:
        read_labels(root, split)
    for part in says:
        assert part in str(caught.value)


def test_files_that_cannot_be_used(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="there is no such folder"):
        read_labels(tmp_path / "nowhere", "valid")
    root = write(tmp_path, [video(A), video(B)])
    with pytest.raises(DataError, match=r"vseg_split_train_lb\.json' is missing"):
        read_labels(root, "train")
    with pytest.raises(DataError, match="2 a video has no annotation 3"):
        read_labels(root, "valid", annotation=3)
    with pytest.raises(ConfigError, match="counted from 0"):
        read_labels(root, "valid", annotation=-1)
    file = root / "vseg_ann_files/vsann_valid_lb.json"
    file.write_text('{"a": 1}')
    with pytest.raises(DataError, match="a list"):
        read_labels(root, "valid")
    file.write_text('[{"Ev1": ')
    with pytest.raises(DataError, match="not valid JSON"):
        read_labels(root, "valid")
