"""Samples that lmms-eval logs, as questions with answers.

EvolvingLMMs-Lab/lmms-eval writes one JSON object per line to
`<output>/<model>/<date>_samples_<task>.jsonl` (loggers/evaluation_tracker.py): doc_id, target,
filtered_resps, input (the prompt) and the task's own metric. It drops the dataset's row (`doc`), so
options are read from the prompt; earlier versions kept it, in one JSON file with `logs`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from vbench.errors import DataError
from vbench.exchange.foreign import Item, Origin, digest, tried
from vbench.exchange.options import YES_NO, from_fields, from_prompt, letter_of

HARNESS = "lmms-eval"

_NAME = re.compile(r"(?P<date>.*?)_?samples_(?P<task>.+)\.jsonl")

_OWN = frozenset(
    {"doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "doc_hash", "prompt_hash",
     "target_hash", "input", "token_counts", "submission", "success", "filter", "task", "split"}
)  # fmt: skip
"""Keys of a sample that are no metric."""

_VIDEO = ("videoID", "video_id", "video_idx", "video", "video_name", "video_path", "vid")
_GRADES = ("score", "acc", "accuracy", "exact_match", "correct")
_NO_GROUPS = re.compile(r"id$|answer|pred|question|video|score|gt|target|path", re.I)


def read(path: Path, name: str | None = None) -> Iterator[tuple[Origin, list[Item]]]:
    """Yields a run per model and date.

    Args:
        path: A file of samples, or a folder with such files somewhere below it.
        name: The model's name; None: that of the folder.

    Raises:
        DataError: A file cannot be read, or a question has no options.
        RunError: There are no such files.
    """
    files = [path] if path.is_file() else list(path.rglob("*samples_*.jsonl"))
    runs: dict[tuple[Path, str], list[tuple[str, Path]]] = {}
    for file in tried(files, str(path), "*_samples_<task>.jsonl"):
        match = _NAME.fullmatch(file.name)
        date, task = (match["date"], match["task"]) if match else ("", file.stem)
        runs.setdefault((file.parent, date), []).append((task, file))
    for (folder, date), own in runs.items():
        items = [item for task, file in own for item in _items(task, file)]
        origin = Origin(
            HARNESS,
            name or folder.name or "unknown",
            own[0][0] if len(own) == 1 else _common([task for task, _ in own]),
            {str(file): digest(file) for _, file in own},
            _settings(folder / f"{date}_results.json"),
        )
        yield origin, items


def _common(tasks: list[str]) -> str:
    """Names several tasks: by what their names begin with, else `several`.

    >>> _common(["mvbench_action_count", "mvbench_moving_count"])
    'mvbench'
    """
    first = tasks[0]
    size = next(
        (n for n in range(len(first)) if any(t[: n + 1] != first[: n + 1] for t in tasks)), 0
    )
    return first[:size].rpartition("_")[0] or first[:size] or "several"


def _settings(file: Path) -> dict[str, Any]:
    """Returns what the results file beside the samples says of the run, if it is there."""
    if not file.is_file():
        return {}
    told = _json(file.read_text(encoding="utf-8"), str(file))
    kept = ("model_source", "model_name", "system_instruction", "chat_template_sha", "git_hash")
    found = {key: told[key] for key in kept if isinstance(told, dict) and told.get(key) is not None}
    config = told.get("config") if isinstance(told, dict) else None
    if isinstance(config, dict):
        found |= {k: str(config[k]) for k in ("model", "model_args", "limit") if config.get(k)}
    return found


def _items(task: str, file: Path) -> Iterator[Item]:
    for number, sample in enumerate(_samples(file), 1):
        where = f"{file}, sample {number}"
        if not isinstance(sample, dict) or "doc_id" not in sample or "target" not in sample:
            raise DataError(
                "no sample of lmms-eval", where=where, why="doc_id or target is missing"
            )
        yield _item(task, sample, where)


def _samples(file: Path) -> Iterator[Any]:
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError("the samples cannot be read", where=str(file), why=str(error)) from error
    if file.suffix == ".json":
        yield from _json(text, str(file)).get("logs", ())
        return
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            yield _json(line, f"{file}, line {number}")


def _json(text: str, where: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DataError("no valid JSON", where=where, why=str(error)) from error


def _item(task: str, sample: Mapping[str, Any], where: str) -> Item:
    doc = sample["doc"] if isinstance(sample.get("doc"), dict) else {}
    prompt = _prompt(sample)
    target = str(sample["target"]).strip()
    options = from_fields(doc) or from_prompt(prompt)
    if not options and target.lower() in ("yes", "no"):
        options = dict(YES_NO)
    if not options:
        raise DataError(
            "the question has no options",
            where=where,
            why="the dataset's row is not in the file and the prompt lists none",
            mend="only multiple-choice and yes/no tasks can be imported",
        )
    told = _metric(sample)
    letter = letter_of(target, options)
    if letter is None:
        raise DataError(f"the answer '{target}' is none of the options", where=where)
    facts = {**doc, **told}
    return Item(
        test=task,
        sample_id=str(sample["doc_id"]),
        question=str(doc.get("question") or _question(prompt)),
        options=options,
        target=letter,
        response=_first(sample.get("filtered_resps", sample.get("resps"))),
        prompt=prompt,
        video=next((str(facts[key]) for key in _VIDEO if facts.get(key)), ""),
        groups={k: v for k, v in told.items() if isinstance(v, str) and not _NO_GROUPS.search(k)},
        theirs=_grade(sample, told),
    )


def _prompt(sample: Mapping[str, Any]) -> str:
    given = sample.get("input", sample.get("arguments", ""))
    return _first(given) or ""


def _question(prompt: str) -> str:
    """Returns the prompt without the lines of options."""
    lines = (line for line in prompt.splitlines() if not re.match(r"\s*\(?[A-Z][.):]", line))
    return "\n".join(lines).strip()


def _first(value: Any) -> str | None:
    """Returns the first text in lists of lists."""
    while isinstance(value, list) and value:
        value = value[0]
    return value if isinstance(value, str) else None


def _metric(sample: Mapping[str, Any]) -> dict[str, Any]:
    """Returns what the task's metric noted, if it is a record."""
    return next((v for k, v in sample.items() if k not in _OWN and isinstance(v, dict)), {})


def _grade(sample: Mapping[str, Any], told: Mapping[str, Any]) -> float | None:
    """Returns how the task graded the sample, if it did so with a number from 0 to 1."""
    numbers = [told.get(key) for key in _GRADES]
    numbers += [value for key, value in sample.items() if key not in _OWN]
    for value in numbers:
        if isinstance(value, bool | int | float) and 0 <= value <= 1:
            return float(value)
    return None
