"""A reply ends where a text is complete, however its tokens spell it."""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from vbench.models.vlm.generation import Asked, Generation, end_tokens, write
from vbench.models.vlm.stops import Stops

SPELLED = {3: "Yes", 4: "#", 5: "##", 6: " ###", 7: "Human", 8: "####"}


class Spelled:
    """Tokens are the keys of SPELLED; any other is a word of its own."""

    pad_token_id = None
    eos_token_id = None

    def decode(self, tokens: Sequence[int], skip_special_tokens: bool) -> str:
        return "".join(SPELLED.get(token, f" w{token}") for token in tokens)


@pytest.mark.parametrize(
    ("tokens", "words"),
    [
        ([3, 6], "Yes"),
        ([3, 5, 4], "Yes"),
        ([3, 4, 4, 4], "Yes"),
        ([3, 8], "Yes"),
        ([6], ""),
    ],
)
def test_a_text_ends_a_reply(tokens: list[int], words: str) -> None:
    stops = Stops(Spelled(), ("###",))
    assert [stops.reached(tokens[:count]) for count in range(1, len(tokens) + 1)] == [
        *[False] * (len(tokens) - 1),
        True,
    ]
    assert stops.read(tokens) == words


def test_the_first_of_several_texts_ends_it() -> None:
    assert Stops(Spelled(), ("###", "Human")).read([3, 7, 6]) == "Yes"


def test_without_texts_words_stay_as_they_are() -> None:
    stops = Stops(Spelled())
    assert not stops.reached([6])
    assert stops.read([6, 3]) == " ###Yes"


def test_a_model_goes_on_until_the_text_is_said(tiny: ModuleType) -> None:
    vlm = tiny.build("llama")
    asked = [Asked(tiny.words(5, start), {}) for start in (0, 40)]
    how = Generation(max_new_tokens=8)

    def written(*texts: str) -> Any:
        processor = SimpleNamespace(stop_texts=texts)
        ends = end_tokens(vlm.model, Spelled(), processor)
        return ends, write(vlm.model, asked, how, ends, 2)

    _, whole = written()
    first = whole[0].tokens
    said = Spelled().decode(first[2:4], skip_special_tokens=True)
    place = next(
        n for n in range(1, 9) if said in Spelled().decode(first[:n], skip_special_tokens=True)
    )
    ends, cut = written(said)
    assert cut[0].tokens == first[:place]
    assert cut[0].stopped
    assert len(cut[0].tokens) < len(first)
    assert said not in ends.texts.read(cut[0].tokens)
