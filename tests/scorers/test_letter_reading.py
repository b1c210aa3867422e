"""Reading a letter from free text: a corpus of right readings, and what must never be read."""

from __future__ import annotations

import json
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vbench.scorers.letter_reading import Reading, read_letter
from vbench.scorers.readers import read_as

LINES = (Path(__file__).parent / "letters.jsonl").read_text(encoding="utf-8").splitlines()
CORPUS = [json.loads(line) for line in LINES]
LETTERS = "ABCDEFGH"
OPTIONS = {"A": "a cat sleeps", "B": "a dog barks", "C": "a man jumps", "D": "a car turns left"}


def lettered(texts: list[str]) -> dict[str, str]:
    return dict(zip(LETTERS, texts, strict=False))


def test_the_corpus_is_worth_its_name() -> None:
    asked = {(case["response"], *case["options"]) for case in CORPUS}
    unparsed = sum(case["letter"] is None for case in CORPUS)
    assert len(asked) == len(CORPUS) >= 200
    assert unparsed >= 80
    assert len(CORPUS) - unparsed >= 80


@pytest.mark.parametrize("case", CORPUS, ids=[repr(case["response"])[:50] for case in CORPUS])
def test_responses_are_read_right_or_not_at_all(case: dict[str, object]) -> None:
    options = case["options"]
    assert isinstance(options, list)
    reading = read_letter(str(case["response"]), lettered(options))
    assert reading.letter == case["letter"], reading.rule


@pytest.mark.parametrize(
    ("response", "rule"),
    [("", "empty"), (" \n**\n", "empty"), ("I cannot answer that.", "refusal"),
     ("抱歉，我无法观看视频。", "refusal"), ("<think>B, or", "unfinished_thought"),
     ("The answer is B or C.", "several_letters"), ("\\boxed{A} \\boxed{B}", "contradictory"),
     ("The answer is G.", "no_such_option"), ("Answer: B. Wait.", "retracted"),
     ("It is a nice day.", "nothing_found")],
)  # fmt: skip
def test_what_is_not_read_says_why(response: str, rule: str) -> None:
    assert read_letter(response, OPTIONS) == Reading(None, rule)


def test_letters_are_the_datasets_own() -> None:
    options = {"B": "the red car", "C": "the blue car"}
    assert read_letter("The blue car.", options) == Reading("C", "option_text")
    assert read_letter("The answer is A.", options) == Reading(None, "no_such_option")
    assert read_letter("B", options).letter == "B"


letterless = st.text(max_size=60).filter(
    lambda text: not any(c.isascii() and c.isalpha() for c in unicodedata.normalize("NFKC", text))
)


@given(letterless, st.lists(st.text("abcdefgh xyz", min_size=1), min_size=2, max_size=6))
def test_no_text_without_letter_or_option_is_read(response: str, texts: list[str]) -> None:
    assert read_letter(response, lettered(texts)).letter is None


WORDS = ["cat", "dog", "not", "sleeps", "red", "because", "answer", "option", "is", "correct",
         "(", ")", ".", ",", ":", "\n", "**", "best", "choose", "we", "it", "{", '"']  # fmt: skip


@given(st.lists(st.sampled_from(WORDS), max_size=20).map(" ".join))
def test_no_prose_without_a_single_letter_is_read(response: str) -> None:
    options = {"A": "a horse", "B": "a train", "C": "a ship"}
    assert read_letter(response, options).letter is None


@given(st.text(max_size=80), st.sampled_from("ABCD"))
def test_any_text_gets_a_reading_and_only_of_an_option(response: str, letter: str) -> None:
    for text in (response, f"{response} {letter}", f"The answer is {letter}. {response}"):
        assert read_letter(text, OPTIONS).letter in (*OPTIONS, None)


@pytest.mark.parametrize(
    ("response", "v1", "v2"),
    [("A", "A", "A"), ("B)", "B", None), ("B) A dog", "A", None), ("A man: (B", "A", "A"),
     ("Neither", None, None), ("", None, None), ("B because A is wrong", "A", "B"),
     ("C", None, None)],
)  # fmt: skip
def test_published_readers_are_kept_with_their_faults(
    response: str, v1: str | None, v2: str | None
) -> None:
    """gemini/eval.py at velociti_v1, metrics.py at main of katha-ai/VELOCITI."""
    options = {"A": "one", "B": "two"}
    assert read_as("velociti_v1", response, options) == Reading(v1, "velociti_v1")
    assert read_as("velociti_v2", response, options) == Reading(v2, "velociti_v2")


@pytest.mark.parametrize(
    "response", ["answer is " + "most likely " * 3000, "(" * 30000, "<think>" * 3000,
                 "cannot " * 3000, "answer:" + "\n" * 30000 + "?", "\\boxed{" * 3000]
)  # fmt: skip
def test_no_response_keeps_the_rules_busy_for_long(response: str) -> None:
    """A pattern that tries all ways to split such texts would never return."""
    assert read_letter(response, OPTIONS).letter is None
