"""Reads a question file of Video-Bench, with every irregularity that the released ones have."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from vbench.datasets.velociti.json_files import Node, read_json
from vbench.errors import DataError

LEAKED = ("correct", "correctAnswer")
"""Fields that two released questions still have from an older format. They are not used."""


@dataclass(frozen=True, slots=True)
class Question:
    """One question as its file has it."""

    qid: str
    vid_path: str
    video_id: str
    text: str
    options: Mapping[str, str]
    """Letter → text, in the file's order, which is not always A, B, C; without void ones."""
    void: tuple[str, ...]
    """Letters whose text is null."""
    answer: str | None
    """A letter; None where the file has none."""
    oddities: tuple[str, ...] = ()
    """What is irregular about it, in words; nothing of it stops it from being asked."""


def read_questions(file: Path) -> list[Question]:
    """Reads a question file in its own order.

    Args:
        file: JSON: question id → item, as in the `Eval_QA/` of PKU-YuanGroup/Video-Bench.

    Raises:
        DataError: It is unreadable or malformed.
    """
    return [_question(str(qid.value), item) for qid, item in read_json(file).items()]


def read_answers(file: Path, key: str) -> dict[str, str]:
    """Reads a dataset's answers: question id → letter.

    Args:
        file: JSON: dataset → question id → `{"answer": letter}`, as in the leaderboard's
            ANSWER.json.
        key: The dataset.

    Raises:
        DataError: It is unreadable or malformed, or does not know the dataset.
    """
    return {str(qid.value): item["answer"].text() for qid, item in read_json(file)[key].items()}


def _question(qid: str, item: Node) -> Question:
    options: dict[str, str] = {}
    void: list[str] = []
    odd: list[str] = []
    for letter, value in item["choices"].items():
        name = letter.text()
        if len(name) != 1 or not "A" <= name <= "Z":
            raise letter.error(f"'{name}' is no letter", mend="options are lettered A, B, C, …")
        if value.value is None:
            void.append(name)
        else:
            options[name] = _option(value, odd)
    if not options:
        raise item["choices"].error("no option has a text")
    _irregular(options, void, item, odd)
    held = item.value if isinstance(item.value, dict) else {}
    answer = item["answer"].text() if "answer" in held else None
    return Question(
        qid=qid,
        vid_path=item["vid_path"].text(),
        video_id=_scalar(item["video_id"]),
        text=item["question"].text(),
        options=options,
        void=tuple(void),
        answer=answer,
        oddities=tuple(odd),
    )


def _option(value: Node, odd: list[str]) -> str:
    if isinstance(value.value, bool) or not isinstance(value.value, str | int | float):
        raise value.error("an option is neither text nor number", mend="give it a text")
    if not isinstance(value.value, str):
        odd.append("an option is a number")
    elif not value.value.strip():
        odd.append("an option is empty")
    return str(value.value)


def _irregular(options: dict[str, str], void: list[str], item: Node, odd: list[str]) -> None:
    letters = list(options)
    if letters != sorted(letters):
        odd.append(f"its options stand in the order {', '.join(letters)}")
    if void:
        odd.append(f"option {' and '.join(void)} is null")
    if len(options) == 1:
        odd.append("it has one option")
    texts = [text.strip() for text in options.values()]
    if len(set(texts)) < len(texts):
        odd.append("two options are the same")
    held = item.value if isinstance(item.value, dict) else {}
    odd += [f"it holds a field '{name}'" for name in LEAKED if name in held]


def _scalar(node: Node) -> str:
    """Returns an id, which one file writes as a number."""
    if isinstance(node.value, int) and not isinstance(node.value, bool):
        return str(node.value)
    return node.text()


def check_answer(question: Question, answer: str, file: Path) -> str:
    """Returns the answer if it is one of the options.

    Raises:
        DataError: It is not.
    """
    if answer not in question.options:
        raise DataError(
            f"the answer {answer!r} is no option of question {question.qid}",
            where=str(file),
            why=f"its options are {', '.join(question.options)}",
            mend="correct the answer: a letter of an option that has a text",
        )
    return answer
