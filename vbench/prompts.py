"""Prompts: how a sample's text becomes what a model reads.

A contrastive model reads plain text, so its prompts are string rules (`render`). A language model
is told something about the video (`message`). The rule is part of the run's identity; the rendered
text is part of each request's.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from vbench.errors import ConfigError, DataError, did_you_mean
from vbench.records import VIDEO, Message, Request, Sample

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def letters_of(sample: Sample) -> tuple[str, ...]:
    """Returns the letter of each text: the dataset's own, else A, B, C, …"""
    return sample.letters or tuple(LETTERS[: len(sample.texts)])


class Prompt(Protocol):
    """Renders one text of a sample, for models that compare it with a clip."""

    needs_question: bool

    def render(self, sample: Sample, text: str) -> str:
        """Returns what the model reads for this caption or option."""
        ...


class MessagePrompt(Protocol):
    """Tells a language model what to do."""

    needs_question: bool

    def message(self, sample: Sample, texts: Sequence[str]) -> Message:
        """Returns the message.

        Args:
            sample: Its question may be shown.
            texts: What the scorer wants shown, in this order: one caption, two captions, all
                options, or nothing.
        """
        ...


@dataclass(frozen=True)
class OptionOnly:
    """The caption or option as it stands.

    >>> sample = Sample("t", "1", "mcq", "c", (), ("a cat", "a dog"), 0, question="Who barks?")
    >>> OptionOnly().render(sample, "a dog")
    'a dog'
    """

    needs_question: bool = False

    def render(self, sample: Sample, text: str) -> str:
        """Returns the text unchanged."""
        return text


@dataclass(frozen=True)
class QuestionOption:
    """The question, then the option.

    >>> sample = Sample("t", "1", "mcq", "c", (), ("a cat", "a dog"), 0, question="Who barks?")
    >>> QuestionOption().render(sample, "a dog")
    'Who barks? a dog'
    """

    needs_question: bool = True

    def render(self, sample: Sample, text: str) -> str:
        """Returns question and text joined by a space."""
        return f"{sample.question} {text}"


_SLOT = re.compile(r"\{(\w+)\}")
_SLOTS = ("caption", "first", "second", "question", "options")
_ROOM = {"caption": 1, "first": 2, "second": 2, "options": len(LETTERS)}
"""How many texts a template with such a slot shows."""


@dataclass(frozen=True)
class Template:
    r"""A text with slots: {caption} {first} {second} {question} {options}; <video> is the video.

    >>> sample = Sample("t", "1", "mcq", "c", (), ("a cat", "a dog"), 0, question="Who barks?")
    >>> Template("{question}\n{options}").message(sample, sample.texts).text
    'Who barks?\nA. a cat\nB. a dog'
    """

    template: str
    system: str | None = None
    render: Literal["chat", "raw"] = "chat"
    option: str = "{letter}. {text}"
    """How one option looks in {options}."""
    separator: str = "\n"
    """Between options."""

    def __post_init__(self) -> None:
        for name in _SLOT.findall(self.template):
            if name not in _SLOTS:
                raise ConfigError(
                    f"the prompt has no slot {{{name}}}",
                    where="prompt.template",
                    why=f"slots are {', '.join(_SLOTS)}",
                    mend=did_you_mean(name, _SLOTS),
                )
        if self.render == "raw" and self.template.count(VIDEO) != 1:
            raise ConfigError(
                f"a raw prompt says once where the video goes: {VIDEO}",
                where="prompt.template",
                why=f"it says so {self.template.count(VIDEO)} times",
                mend=f"put one {VIDEO} into it, or use prompt.render=chat",
            )

    @property
    def needs_question(self) -> bool:
        """Whether it shows the question."""
        return "{question}" in self.template

    def message(self, sample: Sample, texts: Sequence[str]) -> Message:
        """Returns the message with its slots filled.

        Raises:
            ConfigError: The slots are for more or fewer texts than the scorer shows.
        """
        self._check_slots(len(texts))
        shown = {"caption": texts[:1], "first": texts[:1], "second": texts[1:2]}

        def fill(slot: re.Match[str]) -> str:
            name = slot[1]
            if name == "question":
                return sample.question or ""
            if name == "options":
                whole = tuple(texts) == sample.texts
                return self.separator.join(
                    map(self._option, letters_of(sample) if whole else LETTERS, texts)
                )
            return shown[name][0]

        quoted = (*texts, *([sample.question] if sample.question else []))
        return Message(_SLOT.sub(fill, self.template), self.system, self.render, quoted)

    def _check_slots(self, texts: int) -> None:
        slots = set(_SLOT.findall(self.template))
        room = max((_ROOM.get(slot, 0) for slot in slots), default=0)
        if room != texts and not (texts and "options" in slots):
            raise ConfigError(
                f"the prompt has slots for {'any number of' if room > 2 else room} texts, and the "
                f"scorer shows {texts}",
                where="prompt.template",
                why=f"its slots are {', '.join(sorted(slots)) or 'none'}",
                mend="leave prompt out, or choose one of the scorer's (docs/language_models.md)",
            )

    def _option(self, letter: str, text: str) -> str:
        values: dict[str, Any] = {"letter": letter, "text": text}
        return _SLOT.sub(lambda slot: values[slot[1]], self.option)


def marked(message: Message) -> str | None:
    """Returns a text of a dataset that would pass for the video where a message shows it, or None.

    >>> marked(Message("<video> Is it a <video>?", quoted=("a <video>", "a cat")))
    'a <video>'
    """
    shown = (text for text in message.quoted or () if VIDEO in text and text in message.text)
    return next(shown, None)


def check_marks(requests: Iterable[Request]) -> None:
    """Refuses a dataset whose every text would pass for the video; single ones fail by themselves.

    Raises:
        DataError: Each message shows a text that holds `<video>`.
    """
    found = ""
    for request in requests:
        text = marked(request.message) if request.message else None
        if text is None:
            return
        found = text
    if found:
        raise DataError(
            f"every question holds {VIDEO}, the mark for where the video goes",
            where=f"the dataset's texts, such as {found[:80]!r}",
            why="the model would see the video there, whatever the prompt says",
            mend=f"take {VIDEO} out of the dataset's texts: the prompt has a place for the video",
        )
