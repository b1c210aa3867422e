import json
from pathlib import Path

import pytest

from vbench.datasets.toy.srl import role_labels, video_info, write_vidsitu
from vbench.datasets.toy.world import ToyClip, ToyEvent, benchmark_clip

CLIPS = [benchmark_clip(2, index) for index in range(40)]


def role_of(key: str) -> str:
    """VidSitu's own rule for argument keys (utils/dat_utils.py), as the spec describes it."""
    if key == "Scene of the Event":
        return "AScn"
    first = key.split()[0]
    if first in {f"Arg{i}" for i in range(6)}:
        return first
    assert first == "ArgM"
    for part, role in (("direction", "ADir"), ("purpose", "APrp"), ("manner", "AMnr")):
        if part in key:
            return role
    raise AssertionError(f"VidSitu would refuse '{key}'")


@pytest.mark.parametrize("clip", CLIPS[:10], ids=lambda c: c.video_id)
def test_labels_say_what_the_events_are(clip: ToyClip) -> None:
    for event, labels in zip(clip.events, role_labels(clip).values(), strict=True):
        arguments = labels["Args"]
        assert isinstance(arguments, dict)
        by_role = {role_of(key): text for key, text in arguments.items()}
        expected = {
            "Arg0": event.agent,
            "Arg1": event.patient,
            "Arg2": event.instrument,
            "ADir": event.direction,
            "AMnr": event.manner,
            "AScn": event.scene,
        }
        assert by_role == {role: text for role, text in expected.items() if text}
        assert (labels["Verb"], labels["VerbID"]) == (event.verb, f"{event.verb}.01")
        assert sorted(arguments, key=labels["Arg_List"].get) == list(arguments)


def test_every_role_occurs() -> None:
    def fillers(event: ToyEvent) -> set[str]:
        return {r for r in ("patient", "instrument", "direction", "manner") if getattr(event, r)}

    events = [event for clip in CLIPS for event in clip.events]
    assert set().union(*map(fillers, events)) == {"patient", "instrument", "direction", "manner"}


def test_relations_point_at_the_third_event() -> None:
    labels = role_labels(CLIPS[0])
    assert {event for event, of in labels.items() if "EvRel" in of} == {"Ev1", "Ev2", "Ev4", "Ev5"}


def test_video_info_follows_the_name() -> None:
    info = video_info(CLIPS[3])
    assert f"v_{info['name']}_seg_{info['start']}_{info['end']}" == CLIPS[3].video_id
    verbs = [event.verb for event in CLIPS[3].events]
    assert list(info["vb_to_use"].values()) == verbs
    assert [len(of) for of in info["vb_lst"].values()] == [10] * 5
    assert info["vbid_lst"]["Ev2"] == [f"{verbs[1]}.01"] * 10


def test_three_annotators_a_video(tmp_path: Path) -> None:
    write_vidsitu(tmp_path, CLIPS[:4])
    annotations = json.loads((tmp_path / "vseg_ann_files/vsann_valid_lb.json").read_text())
    names = [annotation["Ev1"]["vid_seg_int"] for annotation in annotations]
    split = json.loads((tmp_path / "split_files/vseg_split_valid_lb.json").read_text())
    assert names == [name for name in split for _ in range(3)]
    infos = json.loads((tmp_path / "vinfo_files/vinfo_valid_lb.json").read_text())
    assert [info["vid_seg_int"] for info in infos] == split == [c.video_id for c in CLIPS[:4]]
