"""The audit finds each shortcut that is put into a dataset, by name, and none in balanced data."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from vbench.datasets.toy.benchmark import ToyVelociti
from vbench.datasets.videobench.release import VideoBenchRelease
from vbench.diagnosis.audit import Audit, audit, audit_findings
from vbench.diagnosis.audit_report import to_lines, to_values
from vbench.diagnosis.shortcuts import Values
from vbench.records import Clip, Kind, Sample

WORDS = [f"{a}{b}" for a in "bdfgklmn" for b in ("ola", "emi", "aru", "ino")]


def fair(n: int = 240, kind: Kind = "mcq", seed: int = 0) -> list[Sample]:
    """Options of random words; the right one is drawn. Two samples a source."""
    dice = random.Random(seed)
    size = 2 if kind == "v2t" else 4
    return [
        Sample(
            test="qa",
            sample_id=str(i),
            kind=kind,
            cluster=f"source{i // 2}",
            clips=(Clip(f"clip{i}", f"films/clip{i}.mp4"),),
            texts=tuple(" ".join(dice.choices(WORDS, k=5)) for _ in range(size)),
            target=dice.randrange(size),
            question=None if kind == "v2t" else "Which?",
        )
        for i in range(n)
    ]


def changed(sample: Sample, change: Callable[[str], str], *, right: bool) -> Sample:
    """Changes the right text of a sample, or the wrong ones."""
    texts = [
        change(text) if (place == sample.target) == right else text
        for place, text in enumerate(sample.texts)
    ]
    return replace(sample, texts=tuple(texts))


def found(result: Audit) -> set[str]:
    return {line.shortcut for line in result.lines if line.found}


@pytest.mark.parametrize("kind", ["mcq", "v2t"])
def test_fair_samples_give_nothing_away(kind: Kind) -> None:
    result = audit(fair(kind=kind))
    assert found(result) == set()
    chance = 0.5 if kind == "v2t" else 0.25
    assert {line.estimate.chance for line in result.lines} == {chance}
    assert all(abs(line.estimate.value - chance) < 0.13 for line in result.lines)
    letters = {line.shortcut for line in result.lines if line.shortcut.startswith("letter")}
    assert letters == (set() if kind == "v2t" else {"letter A", "letter B", "letter C", "letter D"})
    assert all((line.estimate.n, line.estimate.clusters) == (240, 120) for line in result.lines)


def biased(samples: Sequence[Sample], bias: str) -> list[Sample]:
    """Puts a shortcut into two of three samples."""
    dice = random.Random(1)
    made = []
    for i, sample in enumerate(samples):
        place = int(sample.target or 0)
        if i % 3 == 2:
            made.append(sample)
        elif bias == "longest":
            made.append(changed(sample, lambda t: t + " and more of it", right=True))
        elif bias == "shortest":
            made.append(changed(sample, lambda t: t + " and more of it", right=False))
        elif bias == "common option":
            made.append(changed(sample, lambda t: "none of these", right=True))
        elif bias == "rare option":
            made.append(changed(sample, lambda t: dice.choice("xyz"), right=False))
        elif bias == "letter B":
            texts = list(sample.texts)
            texts[1], texts[place] = texts[place], texts[1]
            made.append(replace(sample, texts=tuple(texts), target=1))
        elif bias == "Normal":
            made.append(changed(sample, lambda t: "Normal", right=True))
        elif bias == "file name":
            clip = Clip("x", f"films/{sample.texts[place].split()[0].title()}0{i}_x264.mp4")
            made.append(replace(sample, clips=(clip,)))
        else:
            made.append(changed(sample, lambda t: t.replace("ola", "uka"), right=False))
    return made


@pytest.mark.parametrize(
    "bias",
    [
        "longest",
        "shortest",
        "common option",
        "rare option",
        "letter B",
        "Normal",
        "file name",
        "n-grams",
    ],
)
def test_each_shortcut_is_found_by_its_name(bias: str) -> None:
    result = audit(biased(fair(), bias))
    assert bias in found(result)
    (line,) = [line for line in result.lines if line.shortcut == bias]
    assert line.estimate.ci_low > line.estimate.chance
    findings = list(audit_findings(result))
    assert {finding.kind for finding in findings} == {"shortcut"}
    assert any(f"'{bias}' is right in" in finding.what for finding in findings)
    if bias == "letter B":
        assert found(result) == {"letter B", "majority letter (B)"}
    if bias == "file name":
        assert found(result) == {"file name"}


def test_a_model_is_one_more_shortcut() -> None:
    def knows(samples: Sequence[Sample]) -> list[Values]:
        return [tuple(float(n == s.target) for n in range(len(s.texts))) for s in samples]

    result = audit(fair(), {"oracle": knows})
    (line,) = [line for line in result.lines if line.shortcut == "oracle"]
    assert (line.estimate.value, line.decided, line.found) == (1.0, 240, True)
    assert found(result) == {"oracle"}


def test_holms_correction_is_over_all_tests() -> None:
    one = audit(biased(fair(), "letter B"))
    quiet = [replace(sample, test=f"quiet{n}") for n in range(3) for sample in fair(40, seed=n + 9)]
    both = audit([*biased(fair(), "letter B"), *quiet])

    def holm(result: Audit) -> float:
        return next(line.p_holm for line in result.lines if line.shortcut == "letter B")

    assert len(both.lines) > 2 * len(one.lines)
    assert holm(one) < holm(both) < 0.05


def test_what_words_cannot_decide_is_left_out_and_named() -> None:
    (sample,) = fair(1)
    unknown = replace(sample, test="unknown", target=None)
    shown = replace(
        sample, test="shown", kind="t2v", clips=sample.clips * 2, texts=("a",), target=0
    )
    result = audit([unknown, shown])
    assert list(result.lines) == []
    assert result.left_out == {
        "unknown": "no right answers are known",
        "shown": "its texts do not compete",
    }
    assert list(audit([]).lines) == []


def test_repeated_and_contradictory_questions() -> None:
    sample = replace(fair(1)[0], texts=("go", "stop", "turn", "wait"), target=0)
    shuffled = replace(sample, sample_id="b", texts=("stop", "GO ", "turn", "wait"), target=0)
    again = replace(sample, sample_id="c")
    elsewhere = replace(sample, sample_id="d", clips=(Clip("w", "w.mp4"),), target=1)
    twin = replace(elsewhere, sample_id="e")
    result = audit([sample, shuffled, again, elsewhere, twin])
    (own,) = result.repeats.values()
    assert (own.groups, own.extra, own.contradictory) == (2, 3, 1)
    assert own.examples == (("0", "b", "c"),)
    (finding,) = [f for f in audit_findings(result) if f.kind == "contradictory_group"]
    assert "1 of 2 repeated questions" in finding.what
    other = replace(sample, sample_id="f", question="What now?", target=1)
    assert audit([sample, other]).repeats == {}


def test_pairs_about_one_clip_repeat_only_with_the_same_captions() -> None:
    first, second, *_ = fair(2, kind="v2t")
    beside = replace(second, clips=first.clips)
    assert audit([first, beside]).repeats == {}
    swapped = replace(first, sample_id="b", texts=first.texts[::-1])
    (own,) = audit([first, swapped]).repeats.values()
    assert own.contradictory == 1


def test_lines_and_json_say_the_same() -> None:
    result = audit(biased(fair(), "letter B"))
    values = json.loads(json.dumps(to_values(result), allow_nan=False))
    text = to_lines(result)
    assert len(values["lines"]) == len(result.lines)
    for line, said in zip(result.lines, values["lines"], strict=True):
        assert (said["test"], said["shortcut"]) == (line.test, line.shortcut)
        assert (said["value"], said["chance"]) == (line.estimate.value, 0.25)
        assert said["found"] == line.found
        (row,) = [row for row in text if row.startswith(f"    {line.shortcut}  ")]
        assert f"{100 * line.estimate.value:.1f}" in row
        assert row.endswith("*") == line.found
    assert f"2 of {len(result.lines)} are above chance" in "\n".join(text)


def test_the_toy_world_gives_nothing_away(tmp_path: Path) -> None:
    samples = ToyVelociti(str(tmp_path / "toy"), num_videos=80, seed=0, render=False).samples()
    result = audit(samples)
    assert found(result) == set()
    assert set(result.left_out) == {"control_t2v", "ivat"}
    assert {line.test for line in result.lines} | set(result.left_out) == {s.test for s in samples}


@pytest.mark.slow
def test_a_large_toy_world_gives_nothing_away(tmp_path: Path) -> None:
    samples = ToyVelociti(str(tmp_path / "toy"), num_videos=300, seed=0, render=False).samples()
    assert found(audit(samples)) == set()


@pytest.fixture
def released() -> Path:
    repository = Path(__file__).parents[2]
    shared = Path(os.environ.get("VBENCH_SHARED") or repository.parent / "shared")
    folder = shared / "data/videobench"
    if not folder.is_dir():
        pytest.skip(f"Video-Bench's question files are not in {folder} (set VBENCH_SHARED)")
    return folder


@pytest.mark.parametrize("name", ["Ucfcrime", "MOT", "Driving-exam"])
def test_released_questions_without_answers(name: str, released: Path) -> None:
    result = audit(VideoBenchRelease(root=str(released), names=[name]).samples())
    assert result.left_out == {name: "no right answers are known"}
    assert list(result.lines) == []


def test_names_of_released_videos_tell_their_class(released: Path) -> None:
    samples = VideoBenchRelease(root=str(released), names=["Ucfcrime"]).samples()

    def named(sample: Sample) -> int:
        """The first option of the class that the file is named after; made up, not released."""
        stem = sample.clips[0].video_id
        hits = [n for n, text in enumerate(sample.texts) if stem.startswith(text.split()[0])]
        return hits[0] if hits else 0

    result = audit([replace(sample, target=named(sample)) for sample in samples])
    lines = {line.shortcut: line for line in result.lines}
    assert {"file name", "Normal", "shortest"} <= found(result)
    assert lines["file name"].estimate.value > 0.7
    assert lines["Normal"].estimate.chance == 0.25
    assert lines["Normal"].decided == 290
