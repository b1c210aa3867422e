import json
from pathlib import Path

import pytest

from vbench.datasets.velociti.entailment_rows import TEST_NAMES, VelocitiV2
from vbench.datasets.velociti.layout import TEST_FILES
from vbench.errors import ConfigError, DataError
from vbench.records import Clip

V = "v_-vE1JNGKvxQ_seg_15_25"


def row(test: str, event: object = "Ev1", video: str = V, **more: object) -> dict[str, object]:
    base = {"test_name": test, "video_id": video, "event": event, "pos": "A.", "neg": f"{test}."}
    return base | more


def write(folder: Path, rows: list[dict[str, object]]) -> Path:
    file = folder / "velociti.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)))
    return file


def test_names_of_tests_are_ours(tmp_path: Path) -> None:
    file = write(tmp_path, [row(name) for name in TEST_NAMES])
    samples = VelocitiV2(str(file)).samples()
    assert [s.test for s in samples] == list(TEST_NAMES.values())
    assert set(TEST_NAMES.values()) == set(TEST_FILES) - {"ivat", "control_t2v"}
    assert {(s.kind, s.target, s.cluster) for s in samples} == {("v2t", 0, "-vE1JNGKvxQ")}


def test_a_suffix_of_the_video_is_none_of_its_name(tmp_path: Path) -> None:
    file = write(tmp_path, [row("chrono", ["Ev1", "Ev3"], f"{V}.mp4")])
    (sample,) = VelocitiV2(str(file), videos="films").samples()
    assert sample.clips == (Clip(V, str(Path("films") / f"{V}.mp4")),)
    assert sample.sample_id == f'{V}/["Ev1","Ev3"]'
    assert sample.texts == ("A.", "chrono.")
    (beside,) = VelocitiV2(str(file)).samples()
    assert beside.clips[0].path == str(tmp_path / "videos" / f"{V}.mp4")
    (by_folder,) = VelocitiV2(str(tmp_path)).samples()
    assert by_folder == beside


def test_tests_are_chosen_by_either_name(tmp_path: Path) -> None:
    file = write(tmp_path, [row("chrono"), row("action_manner"), row("action_manner", "Ev2")])
    by_ours = VelocitiV2(str(file), tests=["action_modif"]).samples()
    assert len(by_ours) == 2
    assert VelocitiV2(str(file), tests=["action_manner"]).samples() == by_ours
    with pytest.raises(ConfigError, match="did you mean 'action_modif'"):
        VelocitiV2(str(file), tests=["action_modiff"]).samples()


def test_a_row_that_is_there_twice_gets_a_number(tmp_path: Path) -> None:
    file = write(tmp_path, [row("coref"), row("coref"), row("chrono")])
    assert [s.sample_id.removeprefix(V) for s in VelocitiV2(str(file)).samples()] == [
        "/Ev1",
        "/Ev1#2",
        "/Ev1",
    ]


@pytest.mark.parametrize(
    ("bad", "says"),
    [
        (row("chronos"), "'chronos' is none of its tests; did you mean 'chrono'"),
        (row("chrono", video="../etc"), "cannot be the name of a file"),
        (row("chrono", pos=" "), "column 'pos'"),
        ({"test_name": "chrono", "video_id": V, "event": "Ev1", "pos": "A."}, "column 'neg'"),
    ],
)
def test_bad_rows_are_named(tmp_path: Path, bad: dict[str, object], says: str) -> None:
    file = write(tmp_path, [row("chrono"), bad])
    with pytest.raises(DataError) as caught:
        VelocitiV2(str(file)).samples()
    assert "row 2" in str(caught.value)
    assert says in str(caught.value)


def test_another_table_is_refused(tmp_path: Path) -> None:
    file = write(tmp_path, [{"video": "a", "caption": "b"}])
    with pytest.raises(DataError, match="no column 'test_name'") as caught:
        VelocitiV2(str(file)).samples()
    assert "dataset=table" in caught.value.mend


def test_gated_access_is_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    datasets = pytest.importorskip("datasets")

    def refuse(*given: object, **more: object) -> None:
        raise datasets.exceptions.DatasetNotFoundError("'x' is a gated dataset on the Hub")

    monkeypatch.setattr(datasets, "load_dataset", refuse)
    with pytest.raises(DataError) as caught:
        VelocitiV2(videos="films").samples()
    assert "is a gated dataset" in caught.value.why
    for part in ("katha-ai-iiith/VELOCITI", "accept its terms", "hf auth login", "dataset.file"):
        assert part in caught.value.mend


def test_where_the_videos_are_must_be_said_for_the_hub() -> None:
    with pytest.raises(ConfigError, match=r"velociti_videos\.zip"):
        VelocitiV2().samples()
