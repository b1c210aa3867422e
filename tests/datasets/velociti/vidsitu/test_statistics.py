import csv
import importlib.util
import json
import math
from pathlib import Path
from types import ModuleType

import pytest

from vbench.datasets.velociti.vidsitu.statistics import Distribution, distributions

VIDEOS = {
    "v1": [
        {"agent": "man", "verb": "run", "manner": "fast", "scene": "a street", "patient": "dog"},
        {"agent": "man", "verb": "run", "scene": "a street"},
        {"agent": "woman", "verb": "wave", "scene": "a street"},
        {"patient": "tree", "verb": "fall"},
    ],
    "v2": [{"agent": "man", "verb": "run"}, {"agent": "Man", "verb": "sit", "scene": "street"}],
    "v3": [{"patient": "dog", "verb": "bark"}],
}


def by_name(nouns: set[str] | None = None) -> dict[str, Distribution]:
    return {of.name: of for of in distributions(VIDEOS, nouns)}


def test_by_hand() -> None:
    found = by_name()
    assert found["verbs_in_events"].counts == {1: 4, 3: 1}
    assert found["verbs_in_events"].at_least(2) == 1
    assert found["verbs_per_video"].counts == {1: 1, 2: 1, 3: 1}
    assert found["agents_per_video"].counts == {0: 1, 2: 2}
    assert found["agents_per_video"].value() == pytest.approx(200 / 3)
    assert found["agents_per_video"].rows() == [(0, 1, 3), (1, 0, 2), (2, 2, 2)]
    # One string is one agent, letter by letter.
    assert found["coreference_length"].counts == {1: 3, 2: 1}
    assert found["coreference_length"].value() == 25
    assert found["roles_per_event"].counts == {1: 3, 2: 3, 4: 1}
    assert "nouns_in_videos" not in found


def test_nouns_are_counted_by_videos_whose_labels_hold_them() -> None:
    found = by_name({"street", "dog", "run", "cat"})["nouns_in_videos"]
    assert found.counts == {2: 2}  # not "run", a verb; not "cat", in no label
    assert (found.value(), found.printed, found.cumulative) == (0, 325, True)


def test_printed_values_are_the_papers() -> None:
    printed = {of.name: (of.mark, of.printed) for of in distributions(VIDEOS, set())}
    assert printed == {
        "verbs_in_events": (4, 169),
        "nouns_in_videos": (4, 325),
        "verbs_per_video": (4, 87),
        "agents_per_video": (2, 83),
        "roles_per_event": (4, 69),
        "coreference_length": (2, 72),
    }


def test_no_events_at_all() -> None:
    for of in distributions({}, set()):
        assert of.rows() == []
        assert of.value() == 0 if of.cumulative else math.isnan(of.value())


@pytest.fixture(scope="module")
def script() -> ModuleType:
    path = Path(__file__).parents[4] / "scripts" / "velociti_statistics.py"
    spec = importlib.util.spec_from_file_location("velociti_statistics", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_script_reads_a_set_or_vidsitu(
    script: ModuleType,
    template_set: Path,
    labels: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    said = []
    for name, more in (("own", []), ("labels", ["--labels", str(labels)])):
        assert script.main([str(template_set), "--out", str(tmp_path / name), *more]) == 0
        said.append(json.loads(capsys.readouterr().out.splitlines()[-1]))
    assert said[0] == said[1]
    assert said[0]["verbs_per_video"] == [100.0, 87]
    with (tmp_path / "own/table1.csv").open(newline="") as lines:
        rows = {row["test"]: row for row in csv.DictReader(lines)}
    report = json.loads((template_set / "build_report.json").read_text())
    for test, of in report["tests"].items():
        assert (int(rows[test]["videos"]), int(rows[test]["tests"])) == (of["videos"], of["tests"])
    assert (rows["agent_bind"]["videos_printed"], rows["agent_bind"]["tests_printed"]) == (
        "707",
        "1676",
    )
    assert len(list((tmp_path / "own").glob("*.png"))) == 5
    assert script.main([str(tmp_path / "nowhere")]) == 1
    assert "no VELOCITI data" in capsys.readouterr().err
