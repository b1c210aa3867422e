"""Rules that toy phrases never touch: parts of phrases, bystanders, several people."""

import json
from pathlib import Path
from typing import Any

import pytest

from vbench.datasets.velociti.vidsitu.dataset import FromVidsitu

KEYS = {"a": "Arg0 (agent)", "p": "Arg1 (patient)", "m": "ArgM (manner)", "s": "Scene of the Event"}


def build(root: Path, videos: dict[str, list[dict[str, str]]], **settings: Any) -> Path:
    """Builds a set from events written as {"v": verb, "a": agent, …}."""
    names = {name: f"v_{name}_seg_0_10" for name in videos}
    annotations = [
        {
            f"Ev{k}": {
                "vid_seg_int": names[name],
                "Verb": event["v"],
                "Args": {KEYS[r]: text for r, text in event.items() if r != "v"},
                "Arg_List": {KEYS[r]: n for n, r in enumerate(event) if r != "v"},
            }
            for k, event in enumerate(events, 1)
        }
        for name, events in videos.items()
    ]
    for folder, file, content in (
        ("split_files", "vseg_split_valid_lb.json", list(names.values())),
        ("vinfo_files", "vinfo_valid_lb.json", []),
        ("vseg_ann_files", "vsann_valid_lb.json", annotations),
    ):
        (root / folder).mkdir(parents=True)
        (root / folder / file).write_text(json.dumps(content))
    return FromVidsitu(str(root / "set"), str(root), **settings).build()


def samples(root: Path, test: str, video: str) -> dict[str, dict[str, Any]]:
    lines = map(json.loads, (root / "samples.jsonl").read_text().splitlines())
    return {s["key"]: s for s in lines if s["test"] == test and s["video"] == f"v_{video}_seg_0_10"}


def reasons(root: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((root / "build_report.json").read_text())["building"]
    return found


def new(sample: dict[str, Any]) -> str:
    text: str = sample["false"][0]["change"]["new"]
    return text


@pytest.mark.parametrize("seed", range(4))
def test_strangers_are_no_part_of_anybody_in_the_video(seed: int, tmp_path: Path) -> None:
    root = build(
        tmp_path,
        {
            "x": [{"v": "run", "a": "man"}, {"v": "sit", "a": "boy", "p": "a tall woman"}],
            "y": [{"v": "nod", "a": "man in black"}, {"v": "sing", "a": "woman"}],
            "z": [{"v": "wave", "a": "old nun"}, {"v": "cry", "a": "girl in red"}],
            "w": [{"v": "eat", "a": "red-haired girl"}, {"v": "hug", "a": "dog"}],
        },
        seed=seed,
    )
    for video, banned in (("x", {"man in black", "woman"}), ("y", {"man"})):
        taken = {new(s) for s in samples(root, "agent_iden", video).values()}
        assert not taken & banned
    assert sum(len(samples(root, "agent_iden", v)) for v in "xyzw") >= 6


def test_clips_of_one_film_lend_one_another_nothing(tmp_path: Path) -> None:
    root = tmp_path / "one"
    videos = {
        f"film{n}": [{"v": f"v{n}{k}", "a": f"man {n}{k}"} for k in "abcde"] for n in range(6)
    }
    build(root, videos)
    donors = json.loads((root / "set/data/control.json").read_text())
    assert len(donors) == 6
    # The same six, but now all of one film: only the names differ.
    text = (root / "vseg_ann_files/vsann_valid_lb.json").read_text()
    split = (root / "split_files/vseg_split_valid_lb.json").read_text()
    for n in range(6):
        text = text.replace(f"v_film{n}_seg_0_10", f"v_film_seg_{n}0_{n + 1}0")
        split = split.replace(f"v_film{n}_seg_0_10", f"v_film_seg_{n}0_{n + 1}0")
    (root / "vseg_ann_files/vsann_valid_lb.json").write_text(text)
    (root / "split_files/vseg_split_valid_lb.json").write_text(split)
    FromVidsitu(str(root / "film"), str(root)).build()
    found = reasons(root / "film")
    assert found["control: no other video's caption fits"]["count"] == 30
    assert found["AgIden: no agent of another video fits"]["count"] == 30


def test_rivals(tmp_path: Path) -> None:
    root = build(
        tmp_path,
        {
            "x": [
                {"v": "hit", "a": "man", "p": "the boy"},  # the boy takes part
                {"v": "run", "a": "man in black"},  # part of "man"
                {"v": "cry", "a": "boy"},
                {"v": "hit", "a": "nun"},  # she hits, too
            ],
            "y": [{"v": "sit", "a": "woman"}],
        },
    )
    found = {key: new(s) for key, s in samples(root, "agent_bind", "x").items()}
    assert "Ev1" not in found
    assert found["Ev2"] in {"boy", "nun"}
    assert found["Ev3"] in {"man", "man in black", "nun"}
    # Not the man, who hits as well, nor the man in black, who may be he.
    assert found["Ev4"] == "boy"
    assert reasons(root)["AgBind: no other agent of the video fits"]["count"] == 2


def test_one_string_is_one_agent_to_the_letter(tmp_path: Path) -> None:
    def events(first: str, second: str) -> list[dict[str, str]]:
        return [
            {"v": "run", "a": first},
            {"v": "sing", "a": "nun"},
            {"v": "cry", "a": second},
        ]

    root = build(
        tmp_path,
        {
            "same": events("tall boy", "tall boy"),
            "near": events("tall boy", "Tall boy"),
            "two": events("two boys", "two boys"),
        },
    )
    key = '["Ev1","Ev3","Ev3"]'
    assert set(samples(root, "agent_coref", "same")) == {key}
    assert not samples(root, "agent_coref", "near")
    assert not samples(root, "agent_coref", "two")
    assert reasons(root)["AgCoref: the agent is several people"]["count"] == 1
    entry = json.loads((root / "data/coref.json").read_text())["v_same_seg_0_10"][key]
    assert entry == {
        "pos": "The person who is running is also the one who is crying.",
        "neg": "The person who is running is also the one who is singing.",
    }


def test_false_captions_that_are_true_are_dropped(tmp_path: Path) -> None:
    run, sit = {"v": "run", "a": "boy"}, {"v": "sit", "a": "nun"}
    root = build(tmp_path, {"x": [run, sit, run, sit, run], "y": [{"v": "cry", "a": "man"}]})
    assert set(samples(root, "chrono", "x")) == set()  # whatever order, both have happened
    assert reasons(root)["chrono: the false caption would be true"]["count"] == 6
    assert "v_x_seg_0_10" not in json.loads((root / "data/vidsitu_dict.json").read_text())
    assert reasons(root)["IVAT: a caption is true of both ends"]["count"] == 1
