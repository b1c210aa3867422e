"""Reads what people answered: Label Studio's JSON export."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from vbench.annotation.interfaces import KEPT, QUESTIONS, STUDIES
from vbench.annotation.tasks import Task
from vbench.errors import DataError


@dataclass(frozen=True)
class Given:
    """One person's answers to one task."""

    task: Task
    annotator: str
    choices: Mapping[str, str]
    """Question → choice."""


@dataclass
class Export:
    """What an export holds."""

    given: list[Given] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)
    """Annotations that are no answer, by reason."""


def read_exports(files: Sequence[Path], plan: Mapping[str, Task]) -> Export:
    """Reads exports of one study; a person's later answer to a task replaces the earlier.

    Args:
        files: In Label Studio's format "JSON", not "JSON-MIN".
        plan: The study's tasks by key.

    Raises:
        DataError: A file is no such export.
    """
    export = Export()
    latest: dict[tuple[str, str], Given] = {}
    for file in files:
        for number, row in enumerate(_tasks(file), start=1):
            task = plan.get(str(row["data"].get("key", "")))
            if task is None:
                export.left_out["a task of another study"] += 1
                continue
            if not row["annotations"]:
                export.left_out["not answered"] += 1
            for annotation in row["annotations"]:
                given = _given(task, annotation, f"{file}, task {number}")
                if isinstance(given, str):
                    export.left_out[given] += 1
                else:
                    latest[task.key, given.annotator] = given
    export.given = list(latest.values())
    return export


def _tasks(file: Path) -> Iterator[dict[str, Any]]:
    try:
        rows = json.loads(file.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError, RecursionError) as error:
        why = " ".join(f"{type(error).__name__}: {error}".split())
        raise DataError("the export cannot be read", where=str(file), why=why) from error
    whole = isinstance(rows, list) and all(
        isinstance(row, dict)
        and isinstance(row.get("data"), dict)
        and isinstance(row.get("annotations"), list)
        for row in rows
    )
    if not whole:
        raise DataError(
            "the file is no export of Label Studio",
            where=str(file),
            why="a list of tasks with `data` and `annotations` is expected",
            mend="export the project in the format JSON, not JSON-MIN or CSV",
        )
    yield from rows


def _given(task: Task, annotation: object, where: str) -> Given | str:
    """Returns one annotation, or why it is no answer."""
    if not isinstance(annotation, dict) or not isinstance(annotation.get("result"), list):
        raise DataError("an annotation has no result", where=where, mend="export it again")
    if annotation.get("was_cancelled"):
        return "skipped"
    person = annotation.get("completed_by", "?")
    if isinstance(person, dict):
        person = person.get("email") or person.get("id", "?")
    choices: dict[str, str] = {}
    for result in annotation["result"]:
        value = result.get("value", {}) if isinstance(result, dict) else {}
        if isinstance(value, dict) and isinstance(value.get("choices"), list) and value["choices"]:
            choices[str(result.get("from_name"))] = str(value["choices"][0])
    wanted = QUESTIONS[task.interface]
    if any(choices.get(question.name) not in question.choices for question in wanted):
        return "incomplete, or a choice that the interface does not have"
    return Given(task, str(person), choices)


def kept(given: Given) -> bool:
    """Says whether an answer of quality control keeps its sample."""
    return all(choice in KEPT[given.task.interface] for choice in given.choices.values())


def is_right(given: Given) -> bool:
    """Says whether an answer of the human evaluation is the right one."""
    return given.choices["choice"] == ("B" if given.task.swapped else "A")


@dataclass(frozen=True)
class Share:
    """How many of how many."""

    part: int
    whole: int

    @property
    def percent(self) -> float:
        """In percent."""
        return 100 * self.part / self.whole


def by_test(given: Sequence[Given]) -> dict[str, Share]:
    """Returns, per test, the retention of quality control or the accuracy of people.

    A task that several people answered counts by the majority; without one it is not kept, or not
    right. IVAT's four choices of a sample are counted one by one.
    """
    votes: dict[str, list[bool]] = defaultdict(list)
    tasks: dict[str, Task] = {}
    for one in given:
        judge = is_right if one.task.interface in STUDIES["human"] else kept
        votes[one.task.key].append(judge(one))
        tasks[one.task.key] = one.task
    found: dict[str, list[bool]] = defaultdict(list)
    for key, cast in votes.items():
        found[tasks[key].test].append(2 * sum(cast) > len(cast))
    return {test: Share(sum(passed), len(passed)) for test, passed in found.items()}


def answers_by_item(given: Sequence[Given]) -> dict[str, dict[tuple[str, str], dict[str, str]]]:
    """Returns the answers for agreement: question → item → annotator → choice."""
    found: dict[str, dict[tuple[str, str], dict[str, str]]] = defaultdict(dict)
    for one in given:
        for question, choice in one.choices.items():
            if question in {q.name for q in QUESTIONS[one.task.interface]}:
                own = found[question].setdefault((one.task.interface, one.task.key), {})
                own[one.annotator] = choice
    return dict(found)


def write_choices(file: Path, given: Sequence[Given]) -> None:
    """Writes the human evaluation's choices, one a line, as `model=human` reads them."""
    lines = []
    for one in given:
        if one.task.interface in STUDIES["human"] and one.task.wrong is not None:
            pair = (one.task.right, one.task.wrong)
            chosen, other = pair if is_right(one) else pair[::-1]
            row = {
                "test": one.task.test,
                "sample_id": one.task.sample_id,
                "annotator": one.annotator,
            }
            lines.append(json.dumps({**row, "chosen": chosen, "other": other}, ensure_ascii=False))
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")


def write_kept(file: Path, given: Sequence[Given]) -> None:
    """Writes what quality control decided of each sample: test, sample_id, kept; one a line."""
    votes: dict[tuple[str, str], list[bool]] = defaultdict(list)
    for one in given:
        votes[one.task.test, one.task.sample_id].append(kept(one))
    rows = [
        {"test": test, "sample_id": sample, "kept": 2 * sum(cast) > len(cast)}
        for (test, sample), cast in votes.items()
    ]
    text = "\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    file.write_text(text + "\n", encoding="utf-8")
