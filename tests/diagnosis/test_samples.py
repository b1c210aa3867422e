"""Faults of samples that readers of files refuse beforehand, or that need more than one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from vbench.diagnosis.findings import Finding
from vbench.diagnosis.samples import limit_findings, sample_findings
from vbench.prompts import OptionOnly, QuestionOption
from vbench.records import Clip, Sample

ONE, TWO = Clip("v1", "v1.mp4"), Clip("v2", "v2.mp4")
PAIR = Sample("binding", "1", "v2t", "v1", (ONE,), ("he sits", "she sits"), 0)
SHOWN = Sample("control", "1", "t2v", "v1", (ONE, TWO), ("he sits",), 0)
MATCH = Sample("ivat", "1", "match", "v1", (ONE, TWO), ("he sits", "she runs"), None)
MCQ = Sample("qa", "1", "mcq", "v1", (ONE,), ("red", "blue", "green"), 2, question="Which?")
OPEN = Sample("free", "1", "open", "v1", (ONE,), (), "a dog", question="Who barks?")


def kinds(*samples: Sample) -> list[str]:
    return [finding.kind for finding in sample_findings(samples)]


@pytest.mark.parametrize("sample", [PAIR, SHOWN, MATCH, MCQ, OPEN], ids=lambda s: s.kind)
def test_good_samples_of_each_kind(sample: Sample) -> None:
    assert kinds(sample) == []
    assert kinds(sample, replace(sample, sample_id="2")) == ["duplicate_sample"]


@pytest.mark.parametrize(
    ("sample", "kind", "said"),
    [
        (replace(PAIR, texts=("he sits", " ")), "empty_text", "text 2 is empty"),
        (replace(PAIR, texts=("", "\n", "a")), "empty_text", "text 1 and text 2 are empty"),
        (replace(MCQ, question=""), "empty_text", "its question is empty"),
        (replace(PAIR, texts=(), target=None), "empty_text", "its list of texts is empty"),
        (replace(MCQ, question="<video> Which?"), "video_mark", "a text holds <video>"),
        (replace(PAIR, texts=("he sits", "a <video>")), "video_mark", "a text holds <video>"),
        (replace(PAIR, texts=("a", "a")), "same_choices", "two of its texts"),
        (replace(MCQ, texts=("a", "b", "b")), "same_choices", "two of its texts"),
        (replace(SHOWN, clips=(ONE, replace(ONE, video_id="x"))), "same_choices", "of its clips"),
        (replace(MATCH, clips=(ONE, ONE)), "same_choices", "two of its clips"),
        (replace(MATCH, texts=("a", "a")), "same_choices", "two of its texts"),
        (replace(MCQ, target=3), "bad_target", "the target is 3, and there are 3 choices"),
        (replace(MCQ, target="B"), "bad_target", "the target is 'B'"),
        (replace(SHOWN, target=-1), "bad_target", "the target is -1"),
    ],
)
def test_faults_of_one_sample(sample: Sample, kind: str, said: str) -> None:
    (finding,) = [f for f in sample_findings([sample]) if f.kind == kind]
    assert said in finding.what
    assert finding.where == f"{sample.test} 1"


def test_an_unknown_target_is_no_fault() -> None:
    assert kinds(replace(PAIR, target=None), replace(PAIR, target=None, sample_id="2")) == []


def test_a_dataset_without_samples() -> None:
    assert kinds() == ["no_samples"]


def test_names_must_differ_within_a_test() -> None:
    other = replace(PAIR, texts=("x", "y"))
    (finding,) = list(sample_findings([PAIR, other, other, replace(other, test="chrono")]))[:1]
    assert finding.kind == "duplicate_id"
    assert finding.samples == 3
    assert kinds(PAIR, replace(other, test="chrono")) == []


@pytest.mark.parametrize(
    ("first", "again", "found"),
    [
        # the order of choices is no difference
        (PAIR, replace(PAIR, texts=("she sits", "he sits"), target=1), "duplicate_sample"),
        (PAIR, replace(PAIR, texts=("she sits", "he sits"), target=0), "contradiction"),
        (PAIR, replace(PAIR, target=1), "contradiction"),
        (SHOWN, replace(SHOWN, clips=(TWO, ONE), target=1), "duplicate_sample"),
        (SHOWN, replace(SHOWN, clips=(TWO, ONE)), "contradiction"),
        (MATCH, replace(MATCH, clips=(TWO, ONE), texts=MATCH.texts[::-1]), "duplicate_sample"),
        (MATCH, replace(MATCH, clips=(TWO, ONE)), "contradiction"),
        (OPEN, replace(OPEN, target="a cat"), "contradiction"),
        # another question, span or test is
        (MCQ, replace(MCQ, question="What?"), None),
        (PAIR, replace(PAIR, clips=(replace(ONE, end_s=4.0),)), None),
        (PAIR, replace(PAIR, test="coref"), None),
        (PAIR, replace(PAIR, test="coref", target=1), "contradiction"),
    ],
)
def test_repetitions(first: Sample, again: Sample, found: str | None) -> None:
    assert kinds(first, replace(again, sample_id="2")) == ([found] if found else [])


class Reads:
    """A model that reads so many characters."""

    max_text_tokens = 10
    asked: Sequence[str] = ()

    def overlong(self, texts: Sequence[str]) -> list[bool]:
        self.asked = texts
        return [len(text) > self.max_text_tokens for text in texts]


def test_texts_are_measured_as_the_prompt_renders_them() -> None:
    samples = [MCQ, replace(MCQ, sample_id="2"), PAIR]
    assert list(limit_findings(samples, OptionOnly(), Reads())) == []
    model = Reads()
    found = list(limit_findings([MCQ, replace(MCQ, sample_id="2")], QuestionOption(), model))
    assert model.asked == ["Which? red", "Which? blue", "Which? green"]  # each once
    assert [finding.where for finding in found] == ["qa 1", "qa 2"]
    assert found[0].what.startswith("text 2 and 3 of 3 is longer than the 10 tokens")


def test_other_models_tell_no_limit() -> None:
    (finding,) = limit_findings([PAIR], OptionOnly(), object())
    assert finding == Finding("limit_unknown", "model", "object reads texts of any length")
