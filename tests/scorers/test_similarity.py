"""The score matrix from answers, in the order of the requests."""

from __future__ import annotations

import pytest

from vbench.prompts import OptionOnly, QuestionOption
from vbench.records import Answer, Clip, Sample, Status
from vbench.scorers.similarity import Similarity

CLIPS = (Clip("a", "a.mp4", 0.0, 4.0), Clip("a", "a.mp4", 6.0, 10.0))
SAMPLE = Sample("ivat", "1", "match", "yt", CLIPS, ("first", "last"))


def test_requests_are_clips_by_texts_and_scores_keep_the_order() -> None:
    scorer = Similarity()
    requests = scorer.requests(SAMPLE, OptionOnly())
    assert [(r.clips, r.text) for r in requests] == [
        ((clip,), text) for clip in CLIPS for text in ("first", "last")
    ]
    score = scorer.score(SAMPLE, [Answer("ok", value) for value in (0.1, 0.2, 0.3, 0.4)])
    assert (score.status, score.values) == ("ok", (0.1, 0.2, 0.3, 0.4))


def test_requests_hold_what_the_model_reads() -> None:
    sample = Sample("t", "1", "mcq", "c", CLIPS[:1], ("yes", "no"), 0, question="Rain?")
    texts = [request.text for request in Similarity().requests(sample, QuestionOption())]
    assert texts == ["Rain? yes", "Rain? no"]


@pytest.mark.parametrize("status", ["decode_error", "model_error", "oom"])
def test_one_missing_answer_leaves_the_sample_unscored(status: Status) -> None:
    answers = [Answer("ok", 0.1), Answer(status, reason="bad file"), Answer("ok", 0.3)]
    score = Similarity().score(SAMPLE, answers)
    assert (score.status, score.reason, score.values) == (status, "bad file", ())


def test_a_truncated_text_marks_the_sample() -> None:
    answers = [Answer("ok", 0.1), Answer("ok", 0.2, truncated=True)]
    assert Similarity().score(SAMPLE, answers).truncated
    assert not Similarity().score(SAMPLE, answers[:1]).truncated
