"""The questions of VELOCITI's quality control and human evaluation, as Label Studio shows them.

Appendix B and C of arXiv 2406.10889: Figures 10 and 11 (human evaluation), 12 (positive captions),
13 (IVAT pairs), 14 (a right and a wrong caption). The wording is ours. https://labelstud.io
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal
from xml.sax.saxutils import quoteattr

Interface = Literal["positive", "ivat", "captions", "human_v2t", "human_t2v"]


@dataclass(frozen=True)
class Question:
    """One choice to make in a task."""

    name: str
    """Its name in the export."""
    text: str
    choices: tuple[str, ...]


POSITIVE = (
    Question(
        "caption",
        "Is the caption true of some moment of the video?",
        ("positive", "neutral", "negative"),
    ),
)
"""`neutral`: not false, but not clear enough to be held true."""

IVAT = (
    Question("first", "Does caption 1 describe clip 1?", ("correct", "incorrect")),
    Question("second", "Does caption 2 describe clip 2?", ("correct", "incorrect")),
)

CAPTIONS = (
    Question("green", "Is the green caption true of the video?", ("appropriate", "inappropriate")),
    Question("red", "Is the red caption false of the video?", ("appropriate", "inappropriate")),
)

HUMAN = (Question("choice", "Which fits better, A (the first) or B?", ("A", "B")),)

QUESTIONS: Mapping[Interface, tuple[Question, ...]] = {
    "positive": POSITIVE,
    "ivat": IVAT,
    "captions": CAPTIONS,
    "human_v2t": HUMAN,
    "human_t2v": HUMAN,
}

STUDIES: Mapping[str, tuple[Interface, ...]] = {
    "positive": ("positive",),
    "ivat": ("ivat",),
    "captions": ("captions",),
    "human": ("human_v2t", "human_t2v"),
}
"""What is set up together; each interface is a project of Label Studio."""

KEPT: Mapping[Interface, frozenset[str]] = {
    "positive": frozenset({"positive", "neutral"}),
    "ivat": frozenset({"correct"}),
    "captions": frozenset({"appropriate"}),
}
"""The answers with which a sample is kept, to each of an interface's questions. Positive captions
count as retained if they are neutral too: 356 + 21 of 380 are the paper's 99.2 %."""

_INTRODUCTIONS: Mapping[Interface, str] = {
    "positive": "Watch the whole video. A caption describes one moment of it.",
    "ivat": "Watch both clips. Each comes with the caption meant for it.",
    "captions": "Watch the whole video. Green is meant to be true of it, red to be false.",
    "human_v2t": "Watch the whole video before you choose.",
    "human_t2v": "Watch both videos before you choose.",
}

_MEDIA: Mapping[Interface, Sequence[str]] = {
    "positive": ("video", "caption"),
    "ivat": ("video_1", "caption_1", "video_2", "caption_2"),
    "captions": ("video", "green", "red"),
    "human_v2t": ("video", "caption_a", "caption_b"),
    "human_t2v": ("caption", "video_a", "video_b"),
}
"""What a task shows, in order."""

_COLOURS = {"green": "#dff5df", "red": "#fbdfdf"}


def labelling_config(interface: Interface) -> str:
    """Returns the XML that Label Studio's "Labeling Setup" takes.

    Args:
        interface: Which questions.
    """
    shown = [f"  <Header value={quoteattr(_INTRODUCTIONS[interface])}/>"]
    shown += [_shown(name) for name in _MEDIA[interface]]
    first = next(
        name for name in _MEDIA[interface] if name.startswith("caption") or name == "green"
    )
    for question in QUESTIONS[interface]:
        choices = "".join(f"<Choice value={quoteattr(choice)}/>" for choice in question.choices)
        shown.append(
            f"  <Header value={quoteattr(question.text)}/>\n"
            f'  <Choices name="{question.name}" toName="{first}_text" choice="single" '
            f'required="true">{choices}</Choices>'
        )
    return "\n".join(["<View>", *shown, "</View>"]) + "\n"


def _shown(name: str) -> str:
    if name.startswith("video"):
        return f'  <Video name="{name}_shown" value="${name}"/>'
    colour = _COLOURS.get(name, "#f4f4f4")
    style = f"background: {colour}; padding: 0.6em; margin: 0.4em 0"
    return f'  <View style="{style}"><Text name="{name}_text" value="${name}"/></View>'
