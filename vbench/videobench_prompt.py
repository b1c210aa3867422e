"""Video-Bench's prompt: a question with lettered options (arXiv 2311.16103).

Source: step 1 in the README of PKU-YuanGroup/Video-Bench at 8b2101d.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from vbench.errors import DataError
from vbench.prompts import letters_of
from vbench.records import Message, Sample

_WORDS = {2: "two", 3: "three", 4: "four", 5: "five", 6: "six"}
_UNSPACED = (4, 6)
"""Numbers of options after which the prompt does not end with a space."""


@dataclass(frozen=True)
class VideoBenchPrompt:
    r"""The question, the options in one line, and a sentence that the answer completes.

    >>> sample = Sample("NBA", "1", "mcq", "c", (), ("a dunk", "a block"), 0, question="Which?")
    >>> VideoBenchPrompt().message(sample, sample.texts).text[:40]
    'Which? A.a dunk B.a block \n Among the tw'
    """

    quirks: bool = True
    """True: byte for byte as published. With four and six options no space ends the prompt, with
    others one does; six options follow the question without a space; one option is not shown;
    options without a text (null) are shown as None. False: all alike, for any number of options."""
    system: str | None = None
    render: Literal["chat", "raw"] = "chat"
    needs_question: bool = True

    def message(self, sample: Sample, texts: Sequence[str]) -> Message:
        """Returns the message.

        Args:
            sample: Its question is shown.
            texts: The options.

        Raises:
            DataError: There are more options than the published prompt has words for.
        """
        question = sample.question or ""
        told = dict(zip(letters_of(sample), texts, strict=True))
        if self.quirks:
            told |= dict.fromkeys(sample.void_letters, "None")
        told = dict(sorted(told.items()))
        shown = self._published(sample, told) if self.quirks else _clean(question, told)
        return Message(shown, self.system, self.render, (*texts, question))

    def _published(self, sample: Sample, told: Mapping[str, str]) -> str:
        question, count = sample.question or "", len(told)
        if count == 1:
            return question
        if count not in _WORDS:
            raise DataError(
                f"Video-Bench's prompt has no words for {count} options",
                where=f"test {sample.test}, sample {sample.sample_id}",
                why="it knows one to six",
                mend="use prompt=videobench/clean or prompt=options",
            )
        options = " ".join(f"{letter}.{text}" for letter, text in told.items())
        return (
            f"{question}{'Choices:' if count == 6 else ''} {options} \n Among the {_WORDS[count]} "
            f"options {', '.join(told)} above, the one closest to the correct answer is:"
            f"{'' if count in _UNSPACED else ' '}"
        )


def _clean(question: str, told: Mapping[str, str]) -> str:
    options = "\n".join(f"{letter}. {text}" for letter, text in told.items())
    return (
        f"{question}\n{options}\nAmong the options {', '.join(told)} above, the one closest to the "
        "correct answer is:"
    )
