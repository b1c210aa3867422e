"""A judge's verdicts: what it is told, how it is read, what is asked again."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from pathlib import Path

import pytest

from vbench.errors import ConfigError
from vbench.protocols import View
from vbench.records import Answer, Clip, Message, Reply, Request, Sample, Score
from vbench.scorers.judge_messages import judge_message, read_verdict
from vbench.scorers.llm_judge import AT_ONCE, LLMJudge
from vbench.videobench_prompt import VideoBenchPrompt


class Judge:
    """Says what it is told to say."""

    tasks = frozenset({"generate"})

    def __init__(self, *says: str | Reply) -> None:
        self.says = list(says)
        self.heard: list[Message] = []
        self.batches: list[int] = []

    def identity(self) -> str:
        return "scripted judge"

    def answer(self, asked: Sequence[tuple[View | None, Sequence[Request]]]) -> list[list[Reply]]:
        ((view, requests),) = asked
        assert view is None
        self.batches.append(len(requests))
        given = []
        for request in requests:
            assert request.message is not None
            self.heard.append(request.message)
            said = self.says[(len(self.heard) - 1) % len(self.says)]
            given.append(said if isinstance(said, Reply) else Reply(text=said))
        return [given]


def a_sample(number: int = 0, **changes: object) -> Sample:
    fields: dict[str, object] = {
        "test": "MSVD", "sample_id": str(number), "kind": "mcq", "cluster": "v",
        "clips": (Clip("v", "f"),), "texts": ("cat", "dog"), "target": 1,
        "question": "What is shown?", "letters": ("A", "B"),
    }  # fmt: skip
    return Sample(**(fields | changes))  # type: ignore[arg-type]


def judged(scorer: LLMJudge, *responses: str, sample: Sample | None = None) -> list[Score]:
    samples = [sample or a_sample(n) for n in range(len(responses))]
    given = [[Answer("ok", reply=Reply(text=response))] for response in responses]
    for one in samples:
        scorer.requests(one, VideoBenchPrompt())
    scorer.prepare(list(zip(samples, given, strict=True)))
    return [scorer.score(one, answers) for one, answers in zip(samples, given, strict=True)]


def test_the_paper_s_messages_are_told_byte_for_byte() -> None:
    judge = Judge('{"maximum probability":"B"}')
    judged(LLMJudge(judge), 'It\'s a "dog".')
    (told,) = judge.heard
    assert told.system == "As a language expert, please complete the following task."
    assert told.text == (
        'Please output your responses in the form of a dictionary {"maximum probability":"xxx"}  '
        "where xxx is A or B or C or ..."
    )
    ((role, task),) = told.turns
    assert role == "assistant"
    head, _, shown = task.partition("target sequence:\n")
    assert head == (
        "You are now an answer selection expert, and I will provide you with a question with "
        "several options, as well as a target sentence. Please return the alphabet of the option "
        "with the highest probability of matching this target sentence. Given question with "
        "options and the "
    )
    asked = VideoBenchPrompt().message(a_sample(), a_sample().texts).text
    assert ast.literal_eval(shown) == {"target sequcene": 'It\'s a "dog".', "question": asked}
    assert list(ast.literal_eval(shown)) == ["target sequcene", "question"]


def test_a_judge_never_learns_the_right_answer() -> None:
    for wording in ("paper", "clean"):
        told = {
            judge_message(wording, "q", {"A": "x", "B": "y"}, "an answer")  # type: ignore[arg-type]
            for _ in range(2)
        }
        assert len(told) == 1
    judge = Judge("B")
    scorer = LLMJudge(judge)
    judged(scorer, "dog", sample=a_sample(target=0))
    judged(scorer, "dog", sample=a_sample(target=1))
    assert len(judge.heard) == 1


@pytest.mark.parametrize(
    ("said", "letter", "rule"),
    [
        ('{"maximum probability":"B"}', "B", "json"),
        ('{"maximum probability": " A "}', "A", "json"),
        ('The verdict is {"maximum probability":"B"}.', "B", "named"),
        ("{'maximum probability': 'B'}", "B", "named"),
        ('{"maximum probability":"B"', "B", "named"),
        ("maximum probability: b", "B", "named"),
        ("B", "B", "alone"),
        ("(A).", "A", "alone"),
        ('{"maximum probability":"none"}', None, "none"),
        ('{"maximum probability":"E"}', None, "no_option"),
        ("E", None, "no_option"),
        ('{"maximum probability":"A"} or {"maximum probability":"B"}', None, "several"),
        ('{"maximum prob', None, "unreadable"),
        ("The answer matches a dog, so probably B is meant.", None, "unreadable"),
        ("", None, "unreadable"),
        ("[" * 5000, None, "unreadable"),
        ('{"maximum probability": 1}', None, "unreadable"),
        ("A and B", None, "unreadable"),
    ],
)
def test_verdicts_are_read_strictly_then_plainly_and_never_guessed(
    said: str, letter: str | None, rule: str
) -> None:
    found = read_verdict(said, "AB")
    assert (found.letter, found.rule) == (letter, rule)


def test_right_wrong_and_not_judged() -> None:
    judge = Judge(
        '{"maximum probability":"B"}',
        '{"maximum probability":"A"}',
        '{"maximum probability":"C"}',
        Reply("model_error", "timed out"),
        '{"maximum probability":"none"}',
    )
    scores = judged(LLMJudge(judge, "clean"), "a dog", "a cat", "a cow", "a hen", "no idea")
    assert [score.status for score in scores] == [
        "ok", "ok", "not_judged", "not_judged", "unparsed",
    ]  # fmt: skip
    assert [score.values for score in scores[:2]] == [(0.0, 1.0), (1.0, 0.0)]
    assert "no verdict" in scores[2].reason
    assert "timed out" in scores[3].reason


def test_letters_are_the_sample_s_own() -> None:
    odd = a_sample(texts=("cat", "dog", "hen"), letters=("A", "D", "C"))
    (score,) = judged(LLMJudge(Judge("D")), "dog", sample=odd)
    assert score.values == (0.0, 1.0, 0.0)
    (score,) = judged(LLMJudge(Judge("B")), "dog", sample=odd)
    assert score.status == "not_judged"


def test_an_empty_or_failed_answer_is_never_put_to_the_judge() -> None:
    judge = Judge("A")
    scorer = LLMJudge(judge)
    (score,) = judged(scorer, "  ")
    assert (score.status, score.rule) == ("unparsed", "empty")
    failed = [Answer("decode_error", reason="broken")]
    scorer.prepare([(a_sample(), failed)])
    assert scorer.score(a_sample(), failed).status == "decode_error"
    assert not judge.heard


def test_only_what_is_no_verdict_is_asked_again(tmp_path: Path) -> None:
    cache = str(tmp_path / "verdicts.sqlite")
    first = Judge("A", "prose without end", Reply("model_error", "down"), "none of them")
    judged(LLMJudge(first, cache=cache), "w", "x", "y", "z")
    again = Judge("B")
    scores = judged(LLMJudge(again, cache=cache), "w", "x", "y", "z")
    shown = [dict(m.turns)["assistant"] for m in again.heard]
    assert [text.partition("sequcene': '")[2][0] for text in shown] == ["x", "y", "z"]
    assert [score.values for score in scores] == [(1.0, 0.0)] + [(0.0, 1.0)] * 3
    assert not Judge("C").heard
    last = Judge("never asked")
    judged(LLMJudge(last, cache=cache), "w", "x", "y", "z")
    assert not last.heard


def test_verdicts_are_stored_as_they_come(tmp_path: Path) -> None:
    class Dying(Judge):
        def answer(
            self, asked: Sequence[tuple[View | None, Sequence[Request]]]
        ) -> list[list[Reply]]:
            if self.batches:
                raise KeyboardInterrupt
            return super().answer(asked)

    cache = str(tmp_path / "verdicts.sqlite")
    many = [f"answer {n}" for n in range(AT_ONCE + 10)]
    with pytest.raises(KeyboardInterrupt):
        judged(LLMJudge(Dying("A"), cache=cache), *many)
    again = Judge("A")
    judged(LLMJudge(again, cache=cache), *many)
    assert again.batches == [10]


def test_equal_answers_are_judged_once() -> None:
    judge = Judge("A")
    judged(LLMJudge(judge), "dog", "dog", "cat")
    assert judge.batches == [2]


def test_a_model_that_writes_nothing_is_no_judge() -> None:
    with pytest.raises(ConfigError, match="cannot judge"):
        LLMJudge(object())
