import json
from pathlib import Path
from typing import Any

import pytest

from vbench.build import build
from vbench.datasets.toy.srl import write_vidsitu
from vbench.datasets.toy.world import benchmark_clip
from vbench.datasets.velociti.vidsitu.dataset import FromVidsitu
from vbench.datasets.velociti.vidsitu.prompting import NAMES, prompt
from vbench.errors import ConfigError, DataError
from vbench.schema import compose


def words(labels: Path, root: Path, *more: str) -> list[str]:
    return [
        "dataset=velociti/from_vidsitu",
        f"dataset.vidsitu_root={labels}",
        f"dataset.root={root}",
        *more,
    ]


def contents(root: Path) -> dict[str, str]:
    files = [*(root / "data").glob("*.json"), root / "samples.jsonl", root / "provenance.json"]
    return {file.name: file.read_text() for file in files}


def test_the_command(labels: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    videos = tmp_path / "videos"
    videos.mkdir()
    root = tmp_path / "set"
    more = ("num_videos=20", "seed=5", f"dataset.videos={videos}")
    assert build(compose(words(labels, root, *more), "build")) == root
    assert "agent_bind" in capsys.readouterr().err
    dataset = FromVidsitu(str(root))
    samples = dataset.samples()
    assert len({s.clips[0].video_id for s in samples}) == 20
    assert Path(samples[0].clips[0].path).parent.resolve() == videos.resolve()
    assert {s.test for s in FromVidsitu(str(root), tests=["chrono"]).samples()} == {"chrono"}
    before = contents(root)
    build(compose(words(labels, root, *more), "build"))  # it is there already
    assert contents(root) == before


def test_the_same_command_gives_the_same_set(labels: Path, tmp_path: Path) -> None:
    for name, seed in (("one", 0), ("two", 0), ("three", 1)):
        FromVidsitu(str(tmp_path / name), str(labels), seed=seed).build()
    one, two, three = (contents(tmp_path / name) for name in ("one", "two", "three"))
    assert one == two
    assert one["pos_caps.json"] == three["pos_caps.json"]
    differ = {name for name in one if one[name] != three[name]}
    assert differ >= {"agent_iden.json", "agent_bind.json", "control.json", "action_adv.json"}


def test_another_annotator_is_another_set(tmp_path: Path) -> None:
    clips = [benchmark_clip(4, index) for index in range(10)]
    write_vidsitu(tmp_path / "labels", clips)
    file = tmp_path / "labels/vseg_ann_files/vsann_valid_lb.json"
    annotations = json.loads(file.read_text())
    annotations[1]["Ev1"]["Args"]["Arg0 (agent)"] = "the grey mouse"
    file.write_text(json.dumps(annotations))
    captions = []
    for annotation in (0, 1):
        root = tmp_path / f"set{annotation}"
        FromVidsitu(str(root), str(tmp_path / "labels"), annotation=annotation).build()
        captions.append(json.loads((root / "data/pos_caps.json").read_text()))
        for line in (root / "samples.jsonl").read_text().splitlines():
            assert json.loads(line)["annotation"] == annotation
    assert "the grey mouse" not in captions[0][clips[0].video_id]["Ev1"]
    assert "the grey mouse" in captions[1][clips[0].video_id]["Ev1"]


def test_settings_that_do_not_fit_what_is_there(labels: Path, tmp_path: Path) -> None:
    root = tmp_path / "set"
    FromVidsitu(str(root), str(labels), num_videos=5).build()
    with pytest.raises(DataError, match="seed is 0, asked for 3"):
        FromVidsitu(str(root), str(labels), num_videos=5, seed=3).build()
    (tmp_path / "full").mkdir()
    (tmp_path / "full/file").touch()
    with pytest.raises(DataError, match="is not empty"):
        FromVidsitu(str(tmp_path / "full"), str(labels)).build()
    with pytest.raises(DataError, match="no set built from VidSitu"):
        FromVidsitu(str(tmp_path / "none")).samples()
    with pytest.raises(DataError, match="vbench build dataset=velociti/from_vidsitu"):
        FromVidsitu(str(tmp_path / "none")).facts()
    with pytest.raises(ConfigError, match="labels to build from"):
        FromVidsitu(str(tmp_path / "none")).build()
    with pytest.raises(ConfigError, match="counts from 2"):
        FromVidsitu(str(tmp_path / "none"), str(labels), num_videos=1).build()
    with pytest.raises(ConfigError, match=r"dataset\.captions"):
        compose(words(labels, root, "dataset.captions=lm"), "build")


def test_the_datasheet_asks_everything_and_tells_what_is_known(template_set: Path) -> None:
    text = (template_set / "DATASHEET.md").read_text()
    assert "$" not in text
    assert text.count("\n## ") == 7
    assert text.count("**") > 70
    report: dict[str, Any] = json.loads((template_set / "build_report.json").read_text())
    for test, of in report["tests"].items():
        assert f"| `{test}` | {of['videos']:,} | {of['tests']:,} |" in text
    for reason in report["building"]:
        assert reason in text


def test_prompts_show_two_steps_and_examples() -> None:
    assert all(map(prompt, NAMES))
    for name, first in (("positive", "facts"), ("manner", "replacement"), ("verb", "replacement")):
        text = prompt(name)
        assert text.count("ANSWER\n{") == 2
        assert text.index(f'"{first}"') < text.index('"caption"')
        assert text.endswith("ANSWER")
