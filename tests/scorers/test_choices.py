"""Option probability, caption likelihood, pair choice and letters, from replies written by hand."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import fields
from importlib import import_module
from pathlib import Path

import pytest
import yaml

from vbench.prompts import Template
from vbench.records import Answer, Clip, Reply, Request, Sample
from vbench.scorers.caption_likelihood import CaptionLikelihood
from vbench.scorers.letters import Letters
from vbench.scorers.option_probability import OptionProbability
from vbench.scorers.pair_choice import PairChoice
from vbench.videobench_prompt import VideoBenchPrompt

CLIPS = (Clip("a", "a.mp4", 0.0, 4.0), Clip("a", "a.mp4", 6.0, 10.0))
PAIR = Sample("chrono", "1", "v2t", "yt", CLIPS[:1], ("A cat sits.", "A dog runs."), 1)
QUESTION = Sample("q", "1", "mcq", "yt", CLIPS[:1], ("red", "blue", "green"), 2, question="Which?")
SKIPPING = Sample("MSVD", "1", "mcq", "yt", CLIPS[:1], ("red", "blue", "green"), 1, question="Q?",
                  letters=("A", "D", "C"), void_letters=("B",))  # fmt: skip
ASK, SHOW = Template("A) {first} B) {second}"), Template("{question}\n{options}")
CONF = Path(__file__).parents[2] / "conf" / "scorer"


def told(*log_probs: float, ids: tuple[tuple[int, ...], ...] = ()) -> Answer:
    return Answer("ok", reply=Reply(log_probs=log_probs, token_ids=ids))


def wrote(text: str | None, finish: str = "stop") -> Answer:
    return Answer("ok", reply=Reply(text=text, finish_reason=finish))


def texts(requests: Sequence[Request]) -> list[str]:
    return [request.message.text for request in requests if request.message]


def test_only_the_samples_own_letters_are_asked_for() -> None:
    (request,) = OptionProbability().requests(QUESTION, SHOW)
    assert [one.text for one in request.continuations] == ["A", "B", "C"]
    (both,) = OptionProbability(letters="sum").requests(QUESTION, SHOW)
    assert [one.form for one in both.continuations] == ["bare", "space"] * 3
    (own,) = OptionProbability().requests(SKIPPING, SHOW)
    assert [one.text for one in own.continuations] == ["A", "D", "C"]
    assert texts([own]) == ["Q?\nA. red\nD. blue\nC. green"]


def test_options_score_their_letters_log_probability() -> None:
    score = OptionProbability().score(QUESTION, [told(-3.0, -2.0, -0.5)])
    assert (score.status, score.values) == ("ok", (-3.0, -2.0, -0.5))
    untold = OptionProbability().score(SKIPPING, [told(-3.0, math.nan, -0.5)])
    assert (untold.status, untold.values, untold.rule) == ("unparsed", (), "no_probability")
    assert untold.reason.endswith("probability of D")


@pytest.mark.parametrize(
    ("prompt", "shown"),
    [(VideoBenchPrompt(), "Q? A.red B.None C.green D.blue \n Among the four options A, B, C, D "),
     (VideoBenchPrompt(quirks=False), "Q?\nA. red\nC. green\nD. blue\nAmong the options A, C, D ")],
)  # fmt: skip
def test_only_the_published_prompt_shows_options_without_a_text(
    prompt: VideoBenchPrompt, shown: str
) -> None:
    assert prompt.message(SKIPPING, SKIPPING.texts).text.startswith(shown)


def test_captions_score_their_mean_log_likelihood() -> None:
    sample = Sample("ivat", "1", "match", "yt", CLIPS, ("one", "two"))
    answers = [told(-v, ids=((1,) * n,)) for v, n in ((6.0, 3), (8.0, 2), (9.0, 3), (5.0, 2))]
    scorer = CaptionLikelihood()
    requests = scorer.requests(sample, Template("Describe."))
    assert [r.clips for r in requests] == [(CLIPS[0],)] * 2 + [(CLIPS[1],)] * 2
    assert [r.continuations[0].text for r in requests] == ["one", "two"] * 2
    assert scorer.score(sample, answers).values == (-2.0, -4.0, -3.0, -2.5)
    whole = CaptionLikelihood(per_token=False).score(sample, answers)
    assert whole.values == (-6.0, -8.0, -9.0, -5.0)
    untold = scorer.score(sample, [told(-6.0)] * 4)
    assert (untold.status, untold.rule) == ("unparsed", "no_probability")


def test_the_prior_is_taken_away_per_caption_and_shared() -> None:
    scorer = CaptionLikelihood(prior="video_free")
    sample = Sample("ivat", "1", "match", "yt", CLIPS, ("one", "two"))
    requests = scorer.requests(sample, Template("Describe."))
    assert [r.clips for r in requests[4:]] == [(), ()]
    assert requests[4:] == scorer.requests(PAIR_OF_SAME, Template("Describe."))[2:]
    answers = [told(-v, ids=((1, 2),)) for v in (6.0, 8.0, 9.0, 5.0, 4.0, 2.0)]
    assert scorer.score(sample, answers).values == (-1.0, -3.0, -2.5, -1.5)


PAIR_OF_SAME = Sample("chrono", "7", "v2t", "yt", CLIPS[:1], ("one", "two"), 0)


def test_pairs_are_shown_in_both_orders() -> None:
    there, back = "A) A cat sits. B) A dog runs.", "A) A dog runs. B) A cat sits."
    assert texts(PairChoice().requests(PAIR, ASK)) == [there, back]
    assert texts(PairChoice(orders="as_given").requests(PAIR, ASK)) == [there]
    assert PairChoice(read="text").requests(PAIR, ASK)[0].task == "generate"


@pytest.mark.parametrize(
    ("replies", "values", "first", "when_first", "when_second"),
    [(((-1, -2), (-2, -1)), (1.0, 0.0), 0.5, 0.0, 0.0),
     (((-2, -1), (-1, -2)), (0.0, 1.0), 0.5, 1.0, 1.0),
     (((-1, -2), (-1, -2)), (0.5, 0.5), 1.0, 1.0, 0.0),
     (((-2, -1), (-2, -1)), (0.5, 0.5), 0.0, 0.0, 1.0),
     (((-1, -1), (-1, -2)), (0.25, 0.75), 0.75, 1.0, 0.5)],
)  # fmt: skip
def test_a_caption_scores_the_share_of_orders_in_which_it_is_chosen(
    replies: tuple[tuple[float, float], ...], values: tuple[float, float], first: float,
    when_first: float, when_second: float,
) -> None:  # fmt: skip
    """PAIR's second caption is right, so the second order shows it first."""
    score = PairChoice().score(PAIR, [told(*pair) for pair in replies])
    assert score.values == values
    assert score.observed == {
        "first_picked": first,
        "right_shown_second": when_second,
        "right_shown_first": when_first,
    }


def test_written_choices_are_read_with_each_orders_texts() -> None:
    score = PairChoice(read="text").score(PAIR, [wrote("B"), wrote("A dog runs.", "length")])
    assert (score.values, score.truncated) == ((0.0, 1.0), True)
    assert (score.rule, score.response) == ("letter_only, option_text", "B\nA dog runs.")
    unread = PairChoice(read="text").score(PAIR, [wrote("B"), wrote("Both A and B.")])
    assert (unread.status, unread.values) == ("unparsed", ())
    assert unread.response == "B\nBoth A and B."
    published = PairChoice(read="text", reader="velociti_v1")
    assert published.score(PAIR, [wrote("A)"), wrote("B)")]).values == (1.0, 0.0)


def test_letters_are_one_hot_and_keep_the_reply() -> None:
    score = Letters().score(SKIPPING, [wrote("The answer is D.")])
    assert (score.status, score.values, score.rule) == ("ok", (0.0, 1.0, 0.0), "answer_statement")
    void = Letters().score(SKIPPING, [wrote("B")])
    assert (void.status, void.rule, void.response) == ("unparsed", "no_such_option", "B")
    for nothing in (wrote(None), wrote("")):
        assert Letters().score(QUESTION, [nothing]).rule == "empty"


@pytest.mark.parametrize(
    "name", ["entailment", "option_probability", "caption_likelihood", "pair_choice", "letters"]
)
def test_configs_say_the_same_as_the_classes_they_name(name: str) -> None:
    config = yaml.safe_load((CONF / f"{name}.yaml").read_text())
    config.pop("defaults", None)
    module, _, kind = config.pop("_target_").rpartition(".")
    known = fields(getattr(import_module(module), kind))
    assert config == {field.name: field.default for field in known}
