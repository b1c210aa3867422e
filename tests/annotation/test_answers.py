import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from vbench.annotation.answers import Share, by_test, read_exports, write_choices, write_kept
from vbench.annotation.interfaces import QUESTIONS, STUDIES, Interface, labelling_config
from vbench.annotation.tasks import Media, Task, read_plan, shown, tasks_of, write_plan
from vbench.errors import ConfigError, DataError
from vbench.records import Clip, Sample

A, B = Clip("a", "films/a.mp4"), Clip("b", "films/b.mp4")
INTERFACES: list[Interface] = ["positive", "ivat", "captions", "human_v2t", "human_t2v"]
MEDIA = Media("films")


def v2t(name: str = "a/Ev1", target: int = 0) -> Sample:
    return Sample("chrono", name, "v2t", "a", (A,), ("Yes.", "No."), target)


T2V = Sample("control_t2v", "a/Ev1", "t2v", "a", (A, B), ("Yes.",), 0)
IVAT = Sample("ivat", "a", "match", "a", (A, B), ("First.", "Last."))


def answered(task: Task, person: Any = 1, **choices: str) -> dict[str, Any]:
    result = [
        {
            "from_name": name,
            "to_name": "caption_text",
            "type": "choices",
            "value": {"choices": [choice]},
        }
        for name, choice in choices.items()
    ]
    return {"data": {"key": task.key}, "annotations": [{"completed_by": person, "result": result}]}


def write(folder: Path, rows: list[Any]) -> list[Path]:
    file = folder / "export.json"
    file.write_text(json.dumps(rows))
    return [file]


def test_the_papers_retention_of_positive_captions(tmp_path: Path) -> None:
    tasks = [t for i in range(380) for t in tasks_of(v2t(f"a/{i}"), "captions")]
    positive = [Task(t.key, "positive", "captions", t.sample_id, t.right) for t in tasks]
    verdicts = ["positive"] * 356 + ["neutral"] * 21 + ["negative"] * 3
    rows = [answered(t, caption=v) for t, v in zip(positive, verdicts, strict=True)]
    export = read_exports(write(tmp_path, rows), {t.key: t for t in positive})
    share = by_test(export.given)["captions"]
    assert (share, f"{share.percent:.1f}") == (Share(377, 380), "99.2")


def test_what_each_interface_asks() -> None:
    asked = {i: [len(tasks_of(s, i)) for s in (v2t(), T2V, IVAT)] for i in INTERFACES}
    assert asked == {
        "positive": [1, 1, 0],
        "ivat": [0, 0, 1],
        "captions": [1, 0, 0],
        "human_v2t": [1, 0, 2],
        "human_t2v": [0, 1, 2],
    }
    first, last = tasks_of(IVAT, "human_t2v")
    assert (first.right[0], first.right[3], first.wrong and first.wrong[0]) == ("a", "First.", "b")
    assert (last.right[0], last.right[3], last.wrong and last.wrong[0]) == ("b", "Last.", "a")
    (right_one,) = tasks_of(v2t(target=1), "human_v2t")
    assert right_one.right[3] == "No."


@pytest.mark.parametrize("interface", INTERFACES)
def test_a_config_shows_what_its_tasks_hold(interface: Interface) -> None:
    tree = ElementTree.fromstring(labelling_config(interface))  # noqa: S314 - our own text
    values = {node.get("value", "") for node in tree.iter() if node.tag in ("Video", "Text")}
    sample = IVAT if interface == "ivat" else T2V if interface == "human_t2v" else v2t()
    data = shown(tasks_of(sample, interface)[0], {("a", 0.0, None): A, ("b", 0.0, None): B}, MEDIA)
    assert values == {f"${name}" for name in data if name != "key"}
    names = {node.get("name") for node in tree.iter() if node.get("name")}
    choices = list(tree.iter("Choices"))
    assert [node.get("name") for node in choices] == [q.name for q in QUESTIONS[interface]]
    assert all(node.get("toName") in names for node in choices)
    for node, question in zip(choices, QUESTIONS[interface], strict=True):
        assert tuple(choice.get("value") for choice in node) == question.choices


def test_which_is_a_is_decided_by_neither_place_nor_truth() -> None:
    tasks = [t for i in range(400) for t in tasks_of(v2t(f"a/{i}"), "human_v2t")]
    assert 150 < sum(task.swapped for task in tasks) < 250
    for task in tasks[:50]:
        data = shown(task, {("a", 0.0, None): A}, MEDIA)
        assert (data["caption_b"] if task.swapped else data["caption_a"])[3:] == "Yes."
        assert "swapped" not in data
        assert data["video"] == "/data/local-files/?d=a.mp4"


def test_a_part_of_a_file_and_a_file_elsewhere_cannot_be_shown() -> None:
    with pytest.raises(ConfigError, match="velociti/v1_segments"):
        MEDIA.url(Clip("a", "films/a.mp4", 0.0, 4.0))
    with pytest.raises(ConfigError, match="outside the folder"):
        Media("other").url(A)


def test_people_stand_by_majority_and_the_last_answer_counts(tmp_path: Path) -> None:
    tasks = [t for i in range(3) for t in tasks_of(v2t(f"a/{i}"), "human_v2t")]
    right = [{"choice": "B" if t.swapped else "A"} for t in tasks]
    wrong = [{"choice": "A" if t.swapped else "B"} for t in tasks]
    rows = [
        answered(tasks[0], 1, **wrong[0]),
        answered(tasks[0], 1, **right[0]),
        answered(tasks[1], 1, **right[1]),
        answered(tasks[1], {"email": "x@y"}, **wrong[1]),
        *(
            answered(tasks[2], person, **answer[2])
            for person, answer in enumerate((right, right, wrong))
        ),
    ]
    export = read_exports(write(tmp_path, rows), {t.key: t for t in tasks})
    assert by_test(export.given) == {"chrono": Share(2, 3)}
    assert {one.annotator for one in export.given} == {"0", "1", "2", "x@y"}
    write_choices(tmp_path / "choices.jsonl", export.given)
    lines = [json.loads(line) for line in (tmp_path / "choices.jsonl").read_text().splitlines()]
    assert [line["chosen"][3] for line in lines[:2]] == ["Yes.", "Yes."]


def test_what_is_no_answer_is_counted(tmp_path: Path) -> None:
    (task,) = tasks_of(v2t(), "captions")
    skipped = answered(task, green="appropriate", red="appropriate")
    skipped["annotations"][0]["was_cancelled"] = True
    rows = [
        skipped,
        answered(task, green="appropriate"),
        answered(task, green="appropriate", red="perhaps"),
        {"data": {"key": task.key}, "annotations": []},
        {"data": {"key": "another"}, "annotations": []},
        answered(task, 7, green="appropriate", red="inappropriate"),
    ]
    export = read_exports(write(tmp_path, rows), {task.key: task})
    assert dict(export.left_out) == {
        "skipped": 1,
        "incomplete, or a choice that the interface does not have": 2,
        "not answered": 1,
        "a task of another study": 1,
    }
    write_kept(tmp_path / "kept.jsonl", export.given)
    (line,) = map(json.loads, (tmp_path / "kept.jsonl").read_text().splitlines())
    assert line == {"test": "chrono", "sample_id": "a/Ev1", "kept": False}


@pytest.mark.parametrize("text", ["{", "{}", '[{"id": 1, "video": "a", "choice": "A"}]', "[3]"])
def test_what_is_no_export_is_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "export.json"
    file.write_text(text)
    with pytest.raises(DataError):
        read_exports([file], {})


def test_the_plan_reads_back_as_it_was(tmp_path: Path) -> None:
    tasks = [t for i in INTERFACES for s in (v2t(), T2V, IVAT) for t in tasks_of(s, i)]
    write_plan(tmp_path / "plan.jsonl", tasks)
    assert read_plan(tmp_path / "plan.jsonl") == {task.key: task for task in tasks}
    assert len({task.key for task in tasks}) == len(tasks) - 1  # one caption of a, two tests
    with pytest.raises(ConfigError, match="holds no study"):
        read_plan(tmp_path / "nothing.jsonl")
    assert set().union(*STUDIES.values()) == set(INTERFACES)
