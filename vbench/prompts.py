"""Prompts: how a sample's text becomes what a model reads.

A contrastive model reads plain text, so its prompts are string rules. The rule is part of the run's
identity; the rendered text is part of each request's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from vbench.records import Sample


class Prompt(Protocol):
    """Renders one text of a sample."""

    needs_question: bool

    def render(self, sample: Sample, text: str) -> str:
        """Returns what the model reads for this caption or option."""
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
