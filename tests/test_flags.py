from __future__ import annotations

import pytest

from vbench.errors import ConfigError
from vbench.flags import listed, number, parse

KNOWN = {"--json": False, "--limit": True}


@pytest.mark.parametrize(
    ("words", "rest", "given"),
    [
        (["a", "--limit=5", "b"], ["a", "b"], {"--limit": "5"}),
        (["--limit", "5", "a"], ["a"], {"--limit": "5"}),
        (["--limit=5", "--limit=6"], [], {"--limit": "6"}),
        (["--json", "a"], ["a"], {"--json": ""}),
        (["a", "--", "--json", "-x"], ["a", "--json", "-x"], {}),
        ([], [], {}),
    ],
)
def test_flags_are_told_from_names(
    words: list[str], rest: list[str], given: dict[str, str]
) -> None:
    assert parse(words, KNOWN) == (rest, given)


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("--limt=5", "did you mean '--limit'"),
        ("-j", "unknown flag '-j'"),
        ("--limit", "needs a value"),
        ("--limit=", "needs a value"),
        ("--json=yes", "takes no value"),
        ("--model=x", "settings have no dashes: model=x"),
    ],
)
def test_other_flags_are_explained(word: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        parse([word], KNOWN)


def test_numbers_count_from_zero() -> None:
    assert number({}, "--limit", 20, int) == 20
    assert number({"--limit": "0"}, "--limit", 20, int) == 0
    assert number({"--tolerance": "1e-3"}, "--tolerance", 1e-5, float) == 1e-3
    for text in ("-1", "x", "nan", "1.5"):
        with pytest.raises(ConfigError, match="--limit is a number from 0"):
            number({"--limit": text}, "--limit", 20, int)
    with pytest.raises(ConfigError, match="nan is not"):
        number({"--tolerance": "nan"}, "--tolerance", 1e-5, float)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("a,b", ["a", "b"]),
        ("b,a", ["b", "a"]),
        ("a,c", ["a,c"]),  # one row of this name
        ("c,a,c,b,c", ["c", "a,c", "b", "c"]),
        (" a , d ,,", ["a", "d"]),
        ("", []),
    ],
)
def test_names_in_a_list_may_hold_commas(text: str, names: list[str]) -> None:
    assert listed(text, ["a", "b", "c", "a,c"]) == names
