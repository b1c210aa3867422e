import json
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vbench.errors import DataError
from vbench.models.recorded import Cell, Recorded, heights
from vbench.records import Clip


def cell(name: str, clip: str = "v") -> Cell:
    return (clip, 0.0, None, name)


def recorded(folder: Path, *choices: tuple[str, str]) -> Recorded:
    rows = [json.dumps({"chosen": cell(a), "other": cell(b)}) for a, b in choices]
    (folder / "choices.jsonl").write_text("\n".join(rows) + "\n")
    return Recorded(str(folder / "choices.jsonl"))


def scores(people: Recorded, texts: str) -> list[float]:
    return people.score(Clip("v", "v.mp4"), list(texts))


def test_what_was_chosen_scores_higher_and_the_rest_is_unknown(tmp_path: Path) -> None:
    people = recorded(tmp_path, ("a", "b"), ("c", "a"))
    a, b, c, other = scores(people, "abcx")
    assert c > a > b
    assert math.isnan(other)
    assert math.isnan(people.score(Clip("v", "v.mp4", 0.0, 4.0), ["a"])[0])


def test_the_majority_counts_and_a_split_is_a_tie(tmp_path: Path) -> None:
    people = recorded(tmp_path, ("a", "b"), ("b", "a"), ("b", "a"), ("c", "d"), ("d", "c"))
    a, b, c, d = scores(people, "abcd")
    assert b > a
    assert c == d


def test_a_circle_gives_no_scores_and_spoils_no_others(tmp_path: Path) -> None:
    people = recorded(
        tmp_path, ("a", "b"), ("b", "c"), ("c", "a"), ("x", "a"), ("c", "y"), ("p", "q")
    )
    assert all(map(math.isnan, scores(people, "abc")))
    x, y, p, q = scores(people, "xypq")
    assert not any(map(math.isnan, (x, y)))
    assert p > q


@given(
    st.permutations(range(8)),
    st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7)), max_size=30),
)
def test_choices_that_follow_an_order_are_all_kept(
    order: list[int], pairs: list[tuple[int, int]]
) -> None:
    above = [
        (cell(str(a)), cell(str(b))) if order[a] > order[b] else (cell(str(b)), cell(str(a)))
        for a, b in pairs
        if a != b
    ]
    found = heights({c for pair in above for c in pair}, above)
    assert all(found[high] > found[low] for high, low in above)


def test_identity_follows_the_content(tmp_path: Path) -> None:
    first = recorded(tmp_path, ("a", "b")).identity()
    assert recorded(tmp_path, ("a", "b")).identity() == first
    assert recorded(tmp_path, ("b", "a")).identity() != first


@pytest.mark.parametrize("line", ["{", "[]", "{}", '{"chosen": [1], "other": [2]}'])
def test_a_bad_file_is_named_with_the_line(tmp_path: Path, line: str) -> None:
    (tmp_path / "choices.jsonl").write_text(line)
    with pytest.raises(DataError, match=r"choices\.jsonl, line 1"):
        scores(Recorded(str(tmp_path / "choices.jsonl")), "a")
    with pytest.raises(DataError, match="cannot be read"):
        Recorded(str(tmp_path / "none.jsonl")).identity()
