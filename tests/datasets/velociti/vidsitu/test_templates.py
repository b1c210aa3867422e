import pytest

from vbench.datasets.velociti.vidsitu.labels import Argument, LabelledEvent
from vbench.datasets.velociti.vidsitu.phrases import (
    contains,
    find,
    find_all,
    inflections,
    ing,
    overlaps,
)
from vbench.datasets.velociti.vidsitu.templates import event_caption


def caption(verb: str, **arguments: str) -> str | None:
    keys = {"A0": "Arg0", "A1": "Arg1", "A2": "Arg2", "A3": "Arg3"}
    made = []
    for name, text in arguments.items():
        role, _, gloss = name.partition("_")
        role = keys.get(role, role)
        made.append(Argument(role, text, f"{role} ({gloss.replace('_', ' ')})"))
    return event_caption(LabelledEvent(0, verb, tuple(made)))


@pytest.mark.parametrize(
    ("verb", "arguments", "expected"),
    [
        ("run", {"A0": "man in black"}, "The man in black is running."),
        ("run", {"A0": "A man", "ADir": "to the left"}, "A man is running to the left."),
        ("lie", {"A0": "Bob", "AScn": "a bar"}, "In a bar, Bob is lying."),
        ("sit", {"A0": "he", "AScn": "On the porch"}, "On the porch, he is sitting."),
        ("look", {"A0": "boy", "A1_thing_looked_at": "dog"}, "The boy is looking at the dog."),
        ("speak", {"A0": "boy", "A2_hearer": "nun"}, "The boy is speaking to the nun."),
        ("hit", {"A0": "boy", "A1": "a dog", "A2_instrument": "a stick"},
         "The boy is hitting a dog with a stick."),
        ("walk away", {"A0": "two men"}, "Two men are walking away."),
        ("smile", {"A0": "nun", "AMnr": "Slowly"}, "The nun is slowly smiling."),
        ("smile", {"A0": "nun", "AMnr": "with joy."}, "The nun is smiling, with joy."),
        ("collapse", {"A1": "building"}, "The building is collapsing."),
        ("look", {"A0": "nun", "ALoc": "window", "APrp": "to see"},
         "The nun is looking at the window to see."),
        ("rain", {"AScn": "street"}, None),
    ],
)  # fmt: skip
def test_captions(verb: str, arguments: dict[str, str], expected: str | None) -> None:
    assert caption(verb, **arguments) == expected


@pytest.mark.parametrize(
    ("verb", "form"),
    [
        ("jump", "jumping"), ("hit", "hitting"), ("hide", "hiding"), ("tie", "tying"),
        ("agree", "agreeing"), ("visit", "visiting"), ("begin", "beginning"), ("show", "showing"),
        ("mix", "mixing"), ("play", "playing"), ("shrug", "shrugging"), ("wait", "waiting"),
    ],
)  # fmt: skip
def test_participles(verb: str, form: str) -> None:
    assert ing(verb) == form
    assert form in inflections(verb)


def test_subset_phrases() -> None:
    assert overlaps("Man", "the man in a black shirt")
    assert overlaps("the man in a black shirt", "a man")
    assert not overlaps("woman", "man")
    assert not overlaps("man in black", "man in white")


def test_phrases_in_texts() -> None:
    assert contains("In a bar, The Man in black nods.", "the man in black")
    assert not contains("In the man's bar, a boy nods.", "man")
    assert not contains("A man nods.", "")
    text = "Near the well-worn hat, the hat falls."
    assert [text[a:b] for a, b in find_all(text, "a hat")] == ["hat", "the hat"]
    assert find(text, "coat") is None
