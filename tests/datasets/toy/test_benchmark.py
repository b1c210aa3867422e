import json
import multiprocessing
from pathlib import Path

import pytest
from PIL import Image

from vbench.datasets.toy import builder
from vbench.datasets.toy.benchmark import ToyVelociti
from vbench.datasets.toy.builder import ToySet
from vbench.datasets.velociti.layout import TEST_FILES
from vbench.datasets.velociti.release import Velociti
from vbench.errors import ConfigError, DataError
from vbench.records import Clip

VIDEOS = Path("data/videos/velociti_videos_10s")


def toy(root: Path, **settings: object) -> ToyVelociti:
    return ToyVelociti(str(root), **settings)  # type: ignore[arg-type]


def files_in(root: Path) -> dict[str, bytes]:
    return {str(f.relative_to(root)): f.read_bytes() for f in root.rglob("*") if f.is_file()}


@pytest.fixture(scope="module")
def rendered(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("toy") / "set"
    return toy(root, num_videos=3, seed=4).build()


def test_the_release_reader_reads_it(rendered: Path) -> None:
    samples = toy(rendered).samples()
    assert samples == Velociti(str(rendered)).samples()
    assert {s.test for s in samples} == set(TEST_FILES)
    assert all(Path(clip.path).is_file() for s in samples for clip in s.clips)
    assert len({s.cluster for s in samples}) == 3


def test_videos_are_named_as_in_the_annotations(rendered: Path) -> None:
    names = {clip.video_id for clip in ToySet(3, 4, True).clips()}
    assert {file.stem for file in (rendered / VIDEOS).iterdir()} == names
    assert set(json.loads((rendered / "data/vidsitu_dict.json").read_text())) == names
    assert (rendered / "vidsitu_data/vseg_ann_files/vsann_valid_lb.json").is_file()


def test_the_same_settings_give_the_same_files(tmp_path: Path) -> None:
    one = toy(tmp_path / "a", num_videos=5, seed=1, render=False).build()
    two = toy(tmp_path / "b", num_videos=5, seed=1, render=False).build()
    other = toy(tmp_path / "c", num_videos=5, seed=2, render=False).build()
    assert files_in(one) == files_in(two) != files_in(other)
    assert not (one / VIDEOS).exists()


@pytest.mark.parametrize("count", [1, 2])
def test_tests_that_cannot_be_formed_are_absent(tmp_path: Path, count: int) -> None:
    dataset = toy(tmp_path / "set", num_videos=count, render=False)
    tests = {sample.test for sample in dataset.samples()}
    assert {"ivat", "chrono", "agent_iden"} <= tests
    assert ("control_t2v" in tests) is (count > 1)
    if count == 1:
        with pytest.raises(DataError, match=r"'control\.json' is missing"):
            toy(tmp_path / "set", tests=["control_t2v"]).samples()


def test_a_set_is_used_as_it_is(rendered: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = {f: f.stat().st_mtime_ns for f in rendered.rglob("*")}
    for settings in ({}, {"num_videos": 3, "seed": 4}, {"render": False}, {"render": True}):
        toy(rendered, **settings).build()
    assert {f: f.stat().st_mtime_ns for f in rendered.rglob("*")} == before
    assert capsys.readouterr().err == ""


def test_a_build_says_what_it_does(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    toy(tmp_path / "set", num_videos=1, render=False).build()
    said = capsys.readouterr()
    assert said.out == ""
    assert "num_videos=1, seed=0, annotations only" in said.err


def test_other_settings_are_an_error_that_names_them(rendered: Path) -> None:
    with pytest.raises(DataError) as caught:
        toy(rendered, num_videos=4, seed=5).samples()
    assert caught.value.why == "num_videos is 3, asked for 4; seed is 4, asked for 5"


def test_wrong_settings_build_nothing(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="counts from 1"):
        toy(tmp_path / "set", num_videos=0).build()
    with pytest.raises(ConfigError, match="did you mean 'chrono'"):
        toy(tmp_path / "set", tests=["crono"]).samples()
    assert list(tmp_path.iterdir()) == []


def test_a_folder_with_other_things_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("work of years")
    with pytest.raises(DataError, match="not empty"):
        toy(tmp_path, num_videos=1, render=False).build()
    assert files_in(tmp_path) == {"thesis.tex": b"work of years"}
    assert not list(tmp_path.parent.glob(f".{tmp_path.name}.*"))


def test_an_empty_folder_and_a_link_are_filled(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    toy(tmp_path / "link", num_videos=1, render=False).build()
    assert (tmp_path / "real/toy_set.json").is_file()
    assert (tmp_path / "link").is_symlink()


def test_a_set_is_as_open_as_any_new_folder(tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    root = toy(tmp_path / "set", num_videos=1, render=False).build()
    assert root.stat().st_mode == (tmp_path / "plain").stat().st_mode


@pytest.mark.parametrize("manifest", ["{", "[]", '{"format": 0}', '{"format": 1, "x": 2}', "{}"])
def test_a_damaged_or_old_set_is_an_error(tmp_path: Path, manifest: str) -> None:
    (tmp_path / "toy_set.json").write_text(manifest)
    with pytest.raises(DataError, match="delete the folder"):
        toy(tmp_path).samples()


def test_a_file_in_the_way_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError):
        toy(tmp_path / "file", num_videos=1, render=False).build()
    with pytest.raises(DataError):
        toy(tmp_path / "file" / "set", num_videos=1, render=False).build()


def test_an_interrupted_build_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(builder, "write_vidsitu", stop)
        with pytest.raises(KeyboardInterrupt):
            toy(tmp_path / "set", num_videos=1, render=False).build()
    assert list(tmp_path.iterdir()) == []
    assert toy(tmp_path / "set", num_videos=1, render=False).samples()


def _build(root: Path) -> int:
    return len(toy(root, num_videos=8, render=False).samples())


def test_processes_building_at_once_agree(tmp_path: Path) -> None:
    with multiprocessing.get_context("spawn").Pool(3) as pool:
        counts = pool.map(_build, [tmp_path / "set"] * 6, chunksize=1)
    assert len(set(counts)) == 1
    assert [entry.name for entry in tmp_path.iterdir()] == ["set"]


def test_the_loser_of_a_race_takes_the_winners_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "set"
    write = builder.write_vidsitu

    def be_overtaken(folder: Path, clips: list[object]) -> None:
        monkeypatch.setattr(builder, "write_vidsitu", write)
        toy(root, num_videos=winner, render=False).build()
        write(folder, clips)  # type: ignore[arg-type]

    winner = 2
    monkeypatch.setattr(builder, "write_vidsitu", be_overtaken)
    assert toy(root, num_videos=2, render=False).samples()
    assert [entry.name for entry in tmp_path.iterdir()] == ["set"]

    root, winner = tmp_path / "other", 3
    monkeypatch.setattr(builder, "write_vidsitu", be_overtaken)
    with pytest.raises(DataError, match="not empty and no toy set of these settings"):
        toy(root, num_videos=2, render=False).samples()


def test_frames_are_added_when_asked_for(tmp_path: Path) -> None:
    root = toy(tmp_path / "set", num_videos=1).build()
    assert not (root / "data/frames").exists()
    samples = toy(root, source="frames").samples()
    (folder,) = {clip.path for sample in samples for clip in sample.clips}
    names = sorted(file.name for file in Path(folder).iterdir())
    assert names[:3] == ["frame_003.jpg", "frame_009.jpg", "frame_015.jpg"]
    assert len(names) == 20
    with Image.open(Path(folder, names[0])) as picture:
        assert (picture.format, picture.mode) == ("JPEG", "RGB")


def test_facts_know_spans(rendered: Path) -> None:
    facts = toy(rendered).facts()
    clip = ToySet(3, 4, True).clips()[0]
    whole = facts.events_in(Clip(clip.video_id, ""))
    assert [event.get("verb") for event in whole] == [event.verb for event in clip.events]
    assert [(e.start_s, e.end_s) for e in whole] == [(2.0 * i, 2.0 * i + 2) for i in range(5)]
    assert facts.events_in(Clip(clip.video_id, "", 0.0, 4.0)) == whole[:2]
    assert facts.events_in(Clip(clip.video_id, "", 6.0, 10.0)) == whole[3:]
    assert facts.events_in(Clip(clip.video_id, "", 1.0, 5.0)) == whole[1:2]
    assert facts.events_in(Clip(clip.video_id, "", 7.0)) == whole[4:]


def test_facts_cover_every_caption_and_tell_not_which_is_right(rendered: Path) -> None:
    facts = toy(rendered).facts()
    samples = toy(rendered).samples()
    texts = {text for sample in samples for text in sample.texts}
    assert all(facts.claim_of(text).events for text in texts)
    document = json.loads((rendered / "provenance.json").read_text())
    assert set(document) == {"clips", "captions"}
    assert list(document["captions"]) == sorted(document["captions"])
    assert {key for claim in document["captions"].values() for key in claim} == {
        "relation",
        "events",
    }


def test_damaged_facts_are_an_error(tmp_path: Path) -> None:
    dataset = toy(tmp_path / "set", num_videos=1, render=False)
    (dataset.build() / "provenance.json").write_text("{")
    with pytest.raises(DataError, match="facts of the toy set"):
        dataset.facts().claim_of("x")


def test_videos_are_added_to_a_set_of_annotations_only(tmp_path: Path) -> None:
    annotations = ToyVelociti(str(tmp_path / "set"), num_videos=2, seed=3, render=False)
    annotations.build()
    assert annotations.is_unrendered
    assert not list((tmp_path / "set").rglob("*.mp4"))
    whole = ToyVelociti(str(tmp_path / "set"), render=True)
    whole.build()
    assert not whole.is_unrendered
    assert len(list((tmp_path / "set").rglob("*.mp4"))) == 2
    fresh = ToyVelociti(str(tmp_path / "fresh"), num_videos=2, seed=3)
    fresh.build()
    found = [sorted((tmp_path / name).rglob("*.mp4")) for name in ("set", "fresh")]
    assert [f.name for f in found[0]] == [f.name for f in found[1]]
    assert [f.read_bytes() for f in found[0]] == [f.read_bytes() for f in found[1]]
