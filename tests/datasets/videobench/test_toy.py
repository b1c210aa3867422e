"""The toy Video-Bench: its questions against the facts, its films against what they claim."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from scipy.ndimage import label

from vbench.datasets.toy.scenes import scene
from vbench.datasets.toy.world import SCENES, VERBS, ToyClip
from vbench.datasets.videobench.layout import catalogue
from vbench.datasets.videobench.subtitles import read_cues
from vbench.datasets.videobench.toy.benchmark import ToyVideoBench
from vbench.datasets.videobench.toy.builder import ToyVideoBenchSet
from vbench.datasets.videobench.toy.films import Crowd, lines_of, with_subtitles
from vbench.datasets.videobench.toy.lore import CRIMES, REACTIONS, SONG_OF, TEAM_OF
from vbench.datasets.videobench.toy.tests import action
from vbench.errors import ConfigError, DataError
from vbench.frames.source import open_source
from vbench.records import Sample


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return ToyVideoBench(str(tmp_path_factory.mktemp("toy") / "set"), 30, 5).build()


@pytest.fixture(scope="module")
def samples(root: Path) -> list[Sample]:
    return ToyVideoBench(str(root)).samples()


@pytest.fixture(scope="module")
def clips() -> dict[str, ToyClip]:
    return {clip.video_id: clip for clip in ToyVideoBenchSet(30, 5).clips()}


def of(samples: list[Sample], test: str) -> list[Sample]:
    return [sample for sample in samples if sample.test == test]


def right(sample: Sample) -> str:
    assert isinstance(sample.target, int)
    return sample.texts[sample.target]


def test_there_are_thirteen_tests_and_every_video_is_there(samples: list[Sample]) -> None:
    assert list(dict.fromkeys(sample.test for sample in samples)) == list(catalogue())
    assert all(Path(sample.clips[0].path).is_file() for sample in samples)


def test_each_letter_and_normal_are_right_exactly_as_often_as_chance(
    samples: list[Sample],
) -> None:
    for test in catalogue():
        own = of(samples, test)
        (width,) = {len(sample.texts) for sample in own}
        assert set(Counter(sample.target for sample in own).values()) == {len(own) // width}
    crimes = of(samples, "Ucfcrime")
    assert sum(right(sample) == "Normal" for sample in crimes) * 4 == len(crimes)


def test_answers_about_events_are_true_and_wrong_ones_false(
    samples: list[Sample], clips: dict[str, ToyClip]
) -> None:
    """The facts are looked up anew, without the templates."""
    for sample in of(samples, "MSRVTT"):
        clip = clips[sample.clips[0].video_id]
        said = (sample.question or "").removeprefix("Who is ").removesuffix("?")
        assert [e.agent for e in clip.events if action(e) == said] == [right(sample)]
    for sample in of(samples, "NBA") + of(samples, "MV"):
        clip = clips[sample.clips[0].video_id]
        lore = TEAM_OF if sample.test == "NBA" else SONG_OF
        (agent,) = [e.agent for e in clip.events if f" {action(e)} " in (sample.question or "")]
        assert lore[agent] == right(sample)
    for sample in of(samples, "Driving-exam"):
        clip = clips[sample.clips[0].video_id]
        told = sample.question or ""
        verbs = {
            e.verb
            for e in clip.events
            if e.patient
            and told.startswith(f"You are {e.patient}.")
            and f"which {e.agent} " in told
        }
        assert {REACTIONS[verb] for verb in verbs} == {right(sample)}
    for sample in of(samples, "Ucfcrime"):
        clip = clips[sample.clips[0].video_id]
        crimes = [e for e in clip.events if e.verb in CRIMES]
        if right(sample) == "Normal":
            assert not crimes
        else:
            (crime,) = crimes
            start = 2 * crime.index
            assert right(sample) == f"{CRIMES[crime.verb]} 00:{start:02d} 00:{start + 2:02d}"
    for sample in of(samples, "TGIF"):
        clip = clips[sample.clips[0].video_id]
        (agent,) = [who for who in clip.cast if who in (sample.question or "")]
        assert right(sample) == str(sum(e.agent == agent for e in clip.events))
    for sample in of(samples, "SQA3D"):
        clip = clips[sample.clips[0].video_id]
        (event,) = [
            e
            for e in clip.events
            if sample.question == f"You are {e.agent} and {action(e)}. Who stands by?"
        ]
        assert set(clip.cast) - {event.agent, event.patient} == {right(sample)}
        assert event.agent not in sample.texts


def test_subtitles_are_beside_the_video_and_in_the_picture(
    root: Path, samples: list[Sample], clips: dict[str, ToyClip]
) -> None:
    spoken = of(samples, "TVQA")
    for sample in spoken:
        name = sample.clips[0].video_id
        clip = clips[name.removesuffix("_with_subtitles")]
        cues = read_cues(root / "subtitles" / f"{name}.srt")
        assert [text for _, _, text in cues] == lines_of(clip)
        (place,) = [
            n for n, e in enumerate(clip.events) if f" {action(e)}?" in str(sample.question)
        ]
        assert cues[place][2] == right(sample)
    clip = clips[spoken[0].clips[0].video_id.removesuffix("_with_subtitles")]
    from vbench.datasets.toy.render import render_frame

    shown = next(iter(with_subtitles(clip))).astype(int)
    drawn = render_frame(clip, 0.0).astype(int)
    changed = np.abs(shown - drawn).sum(axis=2) > 0
    assert changed[-20:].mean() > 0.05
    assert not changed[:-20].any()
    told = ToyVideoBench(str(root), names=["TVQA"], subtitles=True).samples()[0]
    assert (told.question or "").startswith("Subtitles:\n")


def test_crowds_show_as_many_as_they_say(samples: list[Sample]) -> None:
    crowds = {crowd.video_id: crowd for crowd in ToyVideoBenchSet(30, 5).crowds()}
    for sample in of(samples, "MOT"):
        assert right(sample) == str(crowds[sample.clips[0].video_id].count)
    for count in (3, 9, 14):
        picture = next(Crowd("x", count, "vbench-toy/crowd/9/9").pictures()).astype(int)
        drawn = [np.abs(picture - np.asarray(scene(name, 128))).sum(axis=2) > 0 for name in SCENES]
        _, pieces = label(min(drawn, key=np.sum), np.ones((3, 3)))
        assert pieces == count


def test_videos_are_played_as_files_of_the_release_would_be(samples: list[Sample]) -> None:
    for test, frames in (("TVQA", 120), ("MOT", 48), ("MSVD", 120)):
        source = open_source(of(samples, test)[0].clips[0].path)
        assert len(source.timeline.timestamps_s) == frames


def test_names_of_files_tell_nothing(samples: list[Sample]) -> None:
    for sample in samples:
        name = sample.clips[0].video_id.lower()
        assert not [verb for verb in (*VERBS, "crime", "normal") if verb in name and len(verb) > 4]


def test_the_files_are_those_of_the_release_with_answers(root: Path) -> None:
    document = json.loads((root / "Eval_QA" / "MSVD_QA_new.json").read_text())
    for item in document.values():
        assert item.keys() == {"vid_path", "video_id", "question", "choices", "answer"}


def test_other_settings_and_too_few_videos_are_refused(root: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="other settings"):
        ToyVideoBench(str(root), 31).build()
    with pytest.raises(ConfigError, match="20 videos"):
        ToyVideoBench(str(tmp_path / "x"), 3).build()
    (tmp_path / "y").mkdir()
    (tmp_path / "y" / "mine.txt").touch()
    with pytest.raises(DataError, match="not empty"):
        ToyVideoBench(str(tmp_path / "y"), 20).build()
