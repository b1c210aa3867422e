"""Answers that another harness has collected, made a run folder of ours.

What the model wrote is stored as the reply to the prompt that it was shown, so that every command
about runs works; it is read again by our rules. How the harness itself graded an answer is kept as
what was observed: `theirs`, averaged per test below the tables.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from vbench.errors import DataError, RunError
from vbench.metrics.accuracy import Accuracy
from vbench.metrics.videobench import LEVELS, VideoBench
from vbench.records import Answer, Clip, Message, Prediction, Reply, Request, Sample, Score, Status
from vbench.results.layouts import RunSummary, tables
from vbench.results.rows import record, write_records
from vbench.results.samples import dataset_hashes, write_samples
from vbench.results.statistics import summary
from vbench.results.store import RunFolder, open_run, write_json
from vbench.results.tables import save
from vbench.schema import identity
from vbench.scorers.letters import Letters
from vbench.scorers.readers import Reader

METRICS = {
    "videobench": "vbench.metrics.videobench.VideoBench",
    "accuracy": "vbench.metrics.accuracy.Accuracy",
}


@dataclass(frozen=True)
class Item:
    """One question with the answer that a model gave."""

    test: str
    sample_id: str
    question: str
    options: Mapping[str, str]
    """Text by letter."""
    target: str | None
    """The letter of the right option."""
    response: str | None
    """What the model wrote; None: nothing usable."""
    prompt: str = ""
    """As shown to the model; empty where it is not known."""
    video: str = ""
    """The source: questions about one video are not independent."""
    groups: Mapping[str, str] = field(default_factory=dict)
    theirs: float | None = None
    """1 or 0: as the harness graded it."""
    failure: str = ""
    """Why there is no answer."""


@dataclass(frozen=True)
class Origin:
    """Where results come from."""

    harness: str
    model: str
    dataset: str
    files: Mapping[str, str]
    """SHA-256 by file."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """What the harness says of its run."""


@dataclass(frozen=True, slots=True, eq=False)
class _Asked(Request):
    """A request of one sample alone: elsewhere the same words may have got another answer."""

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)


def digest(file: Path) -> str:
    """Returns the SHA-256 of a file's bytes."""
    return hashlib.sha256(file.read_bytes()).hexdigest()


def run_folder_of(origin: Origin, out: Path) -> Path:
    """Returns the folder of an imported run, free of characters that need quoting."""
    names = (re.sub(r"[^\w.-]+", "-", name) or "unknown" for name in (origin.dataset, origin.model))
    key = hashlib.sha256("".join(sorted(origin.files.values())).encode()).hexdigest()[:12]
    dataset, model = names
    return out / dataset / model / f"{origin.harness}-{key}"


def write_run(items: Sequence[Item], origin: Origin, out: Path, reader: Reader = "rules") -> Path:
    """Writes a run folder.

    Args:
        items: Questions and answers.
        origin: Where they come from.
        out: The folder that gets `<dataset>/<model>/<harness>-<hash>`.
        reader: How answers become letters.

    Returns:
        The run folder.

    Raises:
        DataError: There is no question, one stands twice, or its target is no option.
        RunError: The folder cannot be written, or holds something else.
    """
    samples = [_sample(item) for item in items]
    _check(samples, items, origin)
    scorer = Letters(reader)
    metric = VideoBench() if {s.test for s in samples} <= _known() else Accuracy()
    config = _config(origin, reader, "videobench" if isinstance(metric, VideoBench) else "accuracy")
    path = run_folder_of(origin, out)
    open_run(path, config, identity, fresh=True)
    folder = RunFolder(path)
    requests = [_request(sample, item) for sample, item in zip(samples, items, strict=True)]
    rows = [_row(request, item, origin) for request, item in zip(requests, items, strict=True)]
    folder.write_predictions(rows)
    keys = {request: [row.key] for request, row in zip(requests, rows, strict=True)}
    asked = [(sample, [request]) for sample, request in zip(samples, requests, strict=True)]
    write_samples(path, asked, keys, {})
    scores = [_score(scorer, *of) for of in zip(samples, rows, items, strict=True)]
    records = [record(score, metric.outcome(score), [None]) for score in scores]
    found = summary(metric(scores), scores, [row for row in rows if row.status != "ok"])
    write_records(path / "records.parquet", records)
    write_json(path / "environment.json", {"origin": config["origin"], "dataset": _hashes(path)})
    for name, table in tables([RunSummary(origin.model, found)]).items():
        save(table, path / "tables", name)
    write_json(path / "summary.json", found)
    folder.write_status("done", samples=len(scores), answered=found["coverage"]["answered"])
    return path


def _known() -> set[str]:
    return {name for tests in LEVELS.values() for name in tests}


def _hashes(path: Path) -> dict[str, str | None]:
    return dataset_hashes(path)


def _sample(item: Item) -> Sample:
    letters = tuple(item.options)
    return Sample(
        test=item.test,
        sample_id=item.sample_id,
        kind="yes_no" if tuple(map(str.lower, item.options.values())) == ("yes", "no") else "mcq",
        cluster=item.video or f"{item.test}/{item.sample_id}",
        clips=(Clip(item.video or item.sample_id, item.video),),
        texts=tuple(item.options.values()),
        target=letters.index(item.target) if item.target in letters else None,
        question=item.question,
        groups=item.groups,
        letters=letters,
    )


def _check(samples: Sequence[Sample], items: Sequence[Item], origin: Origin) -> None:
    where = ", ".join(origin.files)
    if not samples:
        raise DataError("there is no question in the results", where=where)
    seen: set[tuple[str, str]] = set()
    for sample, item in zip(samples, items, strict=True):
        name = (sample.test, sample.sample_id)
        if name in seen:
            raise DataError(f"question {'/'.join(name)} stands twice", where=where)
        seen.add(name)
        if item.target is not None and sample.target is None:
            raise DataError(
                f"the answer '{item.target}' of {'/'.join(name)} is none of its options",
                where=where,
                why=f"they are {', '.join(item.options)}",
            )


def _request(sample: Sample, item: Item) -> Request:
    return _Asked(sample.clips, message=Message(item.prompt or item.question, render="raw"))


def _row(request: Request, item: Item, origin: Origin) -> Prediction:
    parts = [origin.harness, origin.model, item.test, item.sample_id, item.response or ""]
    key = hashlib.blake2b("\0".join(parts).encode(), digest_size=16).hexdigest()
    clip = request.clips[0]
    if item.response is None:
        status: Status = "unparsed"  # final: nobody can be asked again
        reason = item.failure or "the results hold no answer"
        reply = Reply(status, reason, prompt=item.prompt)
    else:
        status, reason = "ok", ""
        reply = Reply(prompt=item.prompt, text=item.response, model_version=origin.model)
    return Prediction(
        key, "reply", status, reason=reason, video_id=clip.video_id, path=clip.path, reply=reply
    )


def _score(scorer: Letters, sample: Sample, row: Prediction, item: Item) -> Score:
    score = scorer.score(sample, [Answer(row.status, reason=row.reason, reply=row.reply)])
    return score if item.theirs is None else replace(score, observed={"theirs": item.theirs})


def _config(origin: Origin, reader: str, metric: str) -> dict[str, Any]:
    """Returns a config in which everything that nobody has told is empty, not assumed."""
    choices = {
        "dataset": origin.dataset, "model": origin.model, "sampler": origin.harness,
        "scorer": "letters", "metric": metric,
    }  # fmt: skip
    return {
        "origin": {
            "harness": origin.harness, "model": origin.model, "dataset": origin.dataset,
            "files": dict(origin.files), "settings": dict(origin.settings),
        },
        "dataset": {"name": origin.dataset},
        "model": {"name": origin.model},
        "sampler": {},
        "prompt": {},
        "scorer": {"_target_": "vbench.scorers.letters.Letters", "reader": reader},
        "metric": {"_target_": METRICS[metric], "tie": "strict"},
        "trainer": {"precision": None},
        "limit": None,
        "seed": None,
        "command": {"choices": choices, "overrides": []},
    }  # fmt: skip


def tried(files: Iterable[Path], where: str, wanted: str) -> list[Path]:
    """Returns the files, of which there must be one.

    Raises:
        RunError: There is none.
    """
    found = sorted(files)
    if not found:
        raise RunError("there are no results", where=where, why=f"no file is called {wanted}")
    return found
