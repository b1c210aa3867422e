import json
from pathlib import Path

import pytest

from vbench.datasets.velociti.layout import TEST_FILES
from vbench.datasets.velociti.reader import read_samples
from vbench.datasets.velociti.release import Velociti
from vbench.datasets.velociti.writer import Annotations, write_annotations
from vbench.doctor import examine
from vbench.errors import ConfigError, DataError
from vbench.records import Clip
from vbench.schema import compose

A, B = "v_-vE1JNGKvxQ_seg_15_25", "v_a_seg_b_seg_0_10"
PAIR_TESTS = [t for t in TEST_FILES if t != "ivat" and not t.startswith("control")]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    captions = {v: {f"Ev{k}": f"{v} does {k}." for k in range(1, 6)} for v in (B, A)}
    pairs = {
        test: {v: {"Ev2": {"pos": f"{test} {v} yes.", "neg": f"{test} {v} no."}} for v in (B, A)}
        for test in PAIR_TESTS
    }
    pairs["agent_coref"] = {A: {'["Ev1","Ev2","Ev2"]': {"pos": "p.", "neg": "n."}}}
    pairs["control"] = {
        A: {"Ev4": {"pos_cap": "a.", "neg_cap": "b.", "neg_vid": B}},
        B: {"Ev1": {"pos_cap": "b.", "neg_cap": "a.", "neg_vid": A}},
    }
    write_annotations(tmp_path, Annotations(captions, pairs))
    return tmp_path


def test_all_ten_tests_in_file_order(root: Path) -> None:
    samples = read_samples(root, None, "video")
    assert list(dict.fromkeys(s.test for s in samples)) == list(TEST_FILES)
    assert [s.sample_id for s in samples if s.test == "agent_bind"] == [f"{B}/Ev2", f"{A}/Ev2"]
    assert len({(s.test, s.sample_id) for s in samples}) == len(samples)


def test_a_pair_sample(root: Path) -> None:
    _, sample = read_samples(root, ["action_modif"], "video")
    assert (sample.kind, sample.target, sample.cluster) == ("v2t", 0, "-vE1JNGKvxQ")
    assert sample.texts == (f"action_modif {A} yes.", f"action_modif {A} no.")
    video = root / "data/videos/velociti_videos_10s" / f"{A}.mp4"
    assert sample.clips == (Clip(A, str(video)),)


def test_control_serves_both_directions(root: Path) -> None:
    t2v, _, v2t, _ = read_samples(root, ["control_t2v", "control_v2t"], "video")
    assert (t2v.kind, t2v.texts, t2v.target) == ("t2v", ("a.",), 0)
    assert [clip.video_id for clip in t2v.clips] == [A, B]
    assert (v2t.kind, v2t.texts, [c.video_id for c in v2t.clips]) == ("v2t", ("a.", "b."), [A])


def test_ivat_takes_the_first_and_last_four_seconds(root: Path) -> None:
    sample = read_samples(root, ["ivat"], "video")[1]
    assert (sample.kind, sample.target, sample.sample_id) == ("match", None, A)
    assert [(c.start_s, c.end_s) for c in sample.clips] == [(0.0, 4.0), (6.0, 10.0)]
    assert len({c.path for c in sample.clips}) == 1
    assert sample.texts == (f"{A} does 1.", f"{A} does 5.")


def test_the_cluster_is_read_from_the_right(root: Path) -> None:
    assert {s.cluster for s in read_samples(root, ["chrono"], "video")} == {
        "-vE1JNGKvxQ",
        "a_seg_b",
    }


def test_videos_beside_data_and_data_as_root(root: Path) -> None:
    beside = root / "videos/velociti_videos_10s"
    beside.mkdir(parents=True)
    for place in (root, root / "data"):
        (sample, _) = read_samples(place, ["chrono"], "video")
        assert Path(sample.clips[0].path).resolve() == (beside / f"{B}.mp4").resolve()


def test_frames_instead_of_videos(root: Path) -> None:
    dataset = Velociti(str(root), tests=["ivat"], source="frames")
    clip = dataset.samples()[1].clips[1]
    assert clip == Clip(A, str(root / "data/frames" / A), 6.0, 10.0)
    assert dataset.facts() is None


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", ["line 1 column 2", "not valid JSON"]),
        ('{"v":{"Ev1":{"pos":"a."}}}', ["$.v.Ev1", "'neg' is missing"]),
        ('{"v":{"Ev1":{"pos":"a.","negg":"b."}}}', ["did you mean 'negg'?"]),
        ('{"v":{"Ev1":{"pos":"a.","neg":3}}}', ["$.v.Ev1.neg", "a text is expected, found 3"]),
        ('{"v":{"Ev1":{"pos":"a.","neg":" "}}}', ["$.v.Ev1.neg", "empty"]),
        ('{"v":["Ev1"]}', ["$.v", "found a list"]),
        ("[]", ["at $", "found a list"]),
        ("null", ["found null"]),
        ('{"../v":{"Ev1":{"pos":"a.","neg":"b."}}}', ["'../v' cannot be the name of a video"]),
        ('{"..":{"Ev1":{"pos":"a.","neg":"b."}}}', ["cannot be the name"]),
        ('{"a\\\\b":{"Ev1":{"pos":"a.","neg":"b."}}}', ["cannot be the name"]),
        ('{"v":{"Ev1":{"pos":"a.","neg":"b."}},"v":{}}', ["'v' occurs twice"]),
        ("[" * 100_000, ["cannot be used"]),
    ],
)
def test_a_bad_file_is_named_with_the_place(root: Path, text: str, says: list[str]) -> None:
    file = root / "data/sequence.json"
    file.write_text(text)
    with pytest.raises(DataError) as caught:
        read_samples(root, ["chrono"], "video")
    for part in (str(file), *says):
        assert part in str(caught.value)


def test_other_encodings(root: Path) -> None:
    file = root / "data/sequence.json"
    text = file.read_text()
    expected = read_samples(root, ["chrono"], "video")
    file.write_text(text, encoding="utf-8-sig")
    assert read_samples(root, ["chrono"], "video") == expected
    file.write_text(text, encoding="utf-16")
    with pytest.raises(DataError, match="not UTF-8"):
        read_samples(root, ["chrono"], "video")


def test_a_negative_video_must_be_a_file_name(root: Path) -> None:
    file = root / "data/control.json"
    document = json.loads(file.read_text())
    document[A]["Ev4"]["neg_vid"] = "/etc/passwd"
    file.write_text(json.dumps(document))
    assert read_samples(root, ["control_v2t"], "video")
    with pytest.raises(DataError, match=r"\$\.v_-vE1JNGKvxQ_seg_15_25\.Ev4\.neg_vid"):
        read_samples(root, ["control_t2v"], "video")


def test_a_missing_file_is_named_unless_other_tests_are_chosen(root: Path) -> None:
    (root / "data/coref.json").unlink()
    with pytest.raises(DataError) as caught:
        read_samples(root, None, "video")
    assert "'coref.json' is missing" in str(caught.value)
    assert "agent_coref" not in caught.value.mend
    rest = [t for t in TEST_FILES if t != "agent_coref"]
    assert {s.test for s in read_samples(root, rest, "video")} == set(rest)


def test_no_data_at_all(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="there is no such folder"):
        read_samples(tmp_path / "nowhere", None, "video")
    with pytest.raises(DataError, match="none of the v1 files"):
        read_samples(tmp_path, None, "video")


def test_an_unknown_test_gets_a_suggestion(root: Path) -> None:
    with pytest.raises(ConfigError, match="did you mean 'agent_bind'"):
        read_samples(root, ["agent_bnd"], "video")


def test_empty_tests_get_no_file(tmp_path: Path) -> None:
    write_annotations(tmp_path, Annotations({A: {"Ev1": "a.", "Ev5": "b."}}, {"chrono": {}}))
    files = {file.name for file in (tmp_path / "data").iterdir()}
    assert files == {"vidsitu_dict.json", "pos_caps.json"}


def test_ivat_from_the_four_second_files(root: Path) -> None:
    beside = root / "videos/velociti_videos_4s"
    inside = root / "data/videos/velociti_videos_4s"
    dataset = Velociti(str(root), tests=["ivat"], ivat="segments")
    sample = dataset.samples()[1]
    parts = [f"{A}/{A}_p1.mp4", f"{A}/{A}_p2.mp4"]
    assert sample.clips == tuple(Clip(Path(part).stem, str(inside / part)) for part in parts)
    assert (sample.sample_id, sample.cluster) == (A, "-vE1JNGKvxQ")
    assert (sample.kind, sample.texts) == ("match", (f"{A} does 1.", f"{A} does 5."))
    beside.mkdir(parents=True)
    clips = dataset.samples()[1].clips
    assert [clip.path for clip in clips] == [str(beside / part) for part in parts]
    whole = Velociti(str(root), tests=["chrono"], ivat="segments").samples()
    assert whole == Velociti(str(root), tests=["chrono"]).samples()


def test_counts_are_those_that_the_printed_numbers_need() -> None:
    counts = Velociti("anywhere").counts()
    assert set(counts) == set(TEST_FILES)
    assert sum(counts[test] for test in PAIR_TESTS) == 7641
    assert (counts["ivat"], counts["action_modif"]) == (719, 514)


@pytest.mark.parametrize("choice", ["v1", "v1_frames", "v1_segments"])
def test_the_doctor_counts_what_the_release_has(root: Path, choice: str) -> None:
    settings = [f"dataset=velociti/{choice}", f"dataset.root={root}", "loader.num_workers=0"]
    findings = examine(compose(settings, "doctor")).findings
    counted = {finding.where: finding for finding in findings if finding.kind == "other_count"}
    assert set(counted) == set(TEST_FILES)
    assert counted["ivat"].what == "it has 2 samples, the release has 719"
    lost = [finding.where for finding in findings if finding.kind == "missing"]
    assert len(lost) == {"v1": 2, "v1_frames": 2, "v1_segments": 6}[choice]


def test_only_what_quality_control_keeps(root: Path, tmp_path: Path) -> None:
    file = tmp_path / "kept.jsonl"
    rows = [("agent_bind", f"{A}/Ev2", True), ("agent_bind", f"{B}/Ev2", False)]
    lines = [json.dumps({"test": t, "sample_id": s, "kept": k}) for t, s, k in rows]
    file.write_text("\n".join(lines))
    samples = Velociti(str(root), tests=["agent_bind", "chrono"], kept=str(file)).samples()
    assert [(s.test, s.sample_id) for s in samples] == [
        ("agent_bind", f"{A}/Ev2"),
        ("chrono", f"{B}/Ev2"),
        ("chrono", f"{A}/Ev2"),
    ]
    file.write_text("{}")
    with pytest.raises(DataError, match=r"dataset\.kept="):
        Velociti(str(root), kept=str(file)).samples()
