"""The question kit: what a reader of the options alone could learn, which is nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vbench.datasets.questions.kit import (
    Account,
    Made,
    Template,
    check_questions,
    make_questions,
)
from vbench.errors import ConfigError, DataError

WHO = Template("Who is {action}?", "{agent}")


def rows(agents: Sequence[str], per_video: int = 2) -> list[dict[str, str]]:
    return [
        {"video": f"v{n // per_video}", "action": f"doing {n % per_video}", "agent": agent}
        for n, agent in enumerate(agents)
    ]


def right(made: Made) -> str:
    return made.options["ABCDEF".index(made.answer)]


@settings(deadline=None, max_examples=60)
@given(
    agents=st.lists(st.sampled_from("abcdefgh"), min_size=24, max_size=80),
    options=st.integers(2, 4),
    seed=st.integers(0, 3),
)
def test_letters_balance_exactly_and_answers_are_true(
    agents: list[str], options: int, seed: int
) -> None:
    if len(set(agents)) < options:
        return
    given_rows = rows(agents)
    truth = {(row["video"], f"Who is {row['action']}?"): row["agent"] for row in given_rows}
    made, account = make_questions(given_rows, Template(WHO.question, WHO.answer, options), seed)
    check_questions(made)
    assert len(made) % options == 0
    letters = Counter(one.answer for one in made)
    assert set(letters.values()) <= {len(made) // options}
    assert all(right(one) == truth[one.video, one.text] for one in made)
    assert account == Account(len(agents), 0, 0, len(agents) - len(made))
    assert made == make_questions(given_rows, Template(WHO.question, WHO.answer, options), seed)[0]


def test_every_text_is_wrong_as_often_as_its_being_right_asks_for() -> None:
    made, _ = make_questions(rows("abcdefgh" * 12), WHO, 0)
    rights = Counter(right(one) for one in made)
    shown = Counter(text for one in made for text in one.options)
    assert set(rights.values()) == {12}
    assert set(shown.values()) <= {47, 48, 49}


def test_a_frequent_answer_is_not_asked_more_often_than_a_limit_allows_others() -> None:
    made, _ = make_questions(
        rows("a" * 60 + "bcdefgh" * 4), Template(*("{action} {video}?", "{agent}"), limit=32), 0
    )
    assert set(Counter(map(right, made)).values()) == {4}


def test_what_is_always_an_option_is_right_as_often_as_chance_says() -> None:
    crimes = ["Normal"] * 30 + list("abcdef") * 10
    template = Template("What? {action}", "{agent}", always="Normal")
    made, _ = make_questions(rows(crimes, 1), template, 0)
    assert all(one.options.count("Normal") == 1 for one in made)
    assert sum(right(one) == "Normal" for one in made) * 4 == len(made) == 80
    assert len(set(Counter(one.answer for one in made).values())) == 1


def test_questions_with_several_right_answers_are_not_asked() -> None:
    twice = [{"video": "v", "action": "x", "agent": agent} for agent in ("a", "b")]
    same = [{"video": "w", "action": "x", "agent": "a"}] * 3
    made, account = make_questions([*twice, *same, *rows("abcdefgh" * 3)], WHO, 0)
    assert (account.ambiguous, account.repeated) == (1, 2)
    assert not [one for one in made if one.video == "v"]


def test_rows_without_a_named_column_are_left_out_and_unknown_columns_told() -> None:
    some = [*rows("abcd" * 4), {"video": "x", "action": "sleeping", "agent": ""}]
    assert make_questions(some, WHO, 0)[1].rows == 16
    with pytest.raises(ConfigError, match="'agnet'") as caught:
        make_questions(some, Template("Who?", "{agnet}"), 0)
    assert "agent" in caught.value.mend


def test_what_the_question_rules_out_is_no_option() -> None:
    own = [row | {"self": row["agent"].upper()} for row in rows("abcdABCD" * 6)]
    template = Template("You are {self}. Who is {action}?", "{agent}", excluded="{self}")
    made, _ = make_questions(own, template, 0)
    lower = [one for one in made if right(one).islower()]
    assert lower
    assert all(right(one).upper() not in one.options for one in lower)


def test_too_few_answers_are_told() -> None:
    with pytest.raises(DataError, match="too few") as caught:
        make_questions(rows("abc" * 5), WHO, 0)
    assert "3 different ones for 4 options" in caught.value.why
    with pytest.raises(DataError, match="too few"):
        make_questions(rows("abcdefgh" * 5), Template(WHO.question, WHO.answer, always="Normal"), 0)
    with pytest.raises(ConfigError, match="2 to 6"):
        Template("a", "b", num_options=7)


@pytest.mark.parametrize(
    ("made", "said"),
    [
        ([Made("v", "q", ("a", "b"), "A")] * 2, "twice"),
        ([Made("v", "q", ("a", "a"), "A")], "the same"),
        ([Made("v", "q", ("a", "b"), "C")], "no option"),
    ],
)
def test_what_is_wrong_with_questions_is_told(made: list[Made], said: str) -> None:
    with pytest.raises(DataError, match=said):
        check_questions(made)
