"""The story of `vbench doctor`: each file and sample of a dataset is looked at, none is changed."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from vbench.diagnosis.audit import Audit, audit, audit_findings
from vbench.diagnosis.files import Examined, Use, file_findings, uses
from vbench.diagnosis.findings import Finding, ordered
from vbench.diagnosis.plausibility import Plausibility
from vbench.diagnosis.report import (
    Report,
    audit_lines,
    conclusion,
    headline,
    line,
    tally,
    to_json,
)
from vbench.diagnosis.samples import count_findings, limit_findings, sample_findings
from vbench.errors import DataError
from vbench.frames.facts import Decode, FileFacts, facts_of
from vbench.loop.keys import fingerprint
from vbench.loop.survey import survey
from vbench.records import Sample
from vbench.schema import instantiate

if TYPE_CHECKING:
    from omegaconf import DictConfig


def examine(config: DictConfig) -> Report:
    """Examines the dataset of a composed `doctor` command.

    Args:
        config: From `schema.compose(…, "doctor")`.

    Returns:
        What was looked at and what is wrong.

    Raises:
        ConfigError: The command is at fault: for one, an audit asks a model that looks at clips.
        ModelError: The named model has no tokenizer that could be loaded.
        RunError: Processes that decode cannot be started.
    """
    dataset = instantiate(config, "dataset")
    model = instantiate(config, "model") if config.get("model") else None
    choices = config.command.choices
    samples, findings = _samples(dataset, choices.dataset)
    if not findings:
        findings += sample_findings(samples)
        findings += count_findings(samples, getattr(dataset, "counts", dict)())
        odd: list[tuple[str, str]] = getattr(dataset, "oddities", list)()
        findings += [Finding("irregular", where, what, samples=1) for where, what in odd]
        if model is not None:
            findings += limit_findings(samples, instantiate(config, "prompt"), model)
    if config.audit:
        found = _audit(samples, model, config)
        findings += audit_findings(found)
        model_name = choices.get("model")
        return Report(str(choices.dataset), model_name, len(samples), [], findings, found)
    used = uses(samples)
    files = list(_files(used, config.decode, instantiate(config, "loader")))
    findings += file_findings(used, files)
    return Report(str(choices.dataset), choices.get("model"), len(samples), files, findings)


def present(report: Report, *, as_json: bool) -> int:
    """Prints a report to stdout.

    Returns:
        The exit code: 0 nothing is wrong, 3 something is.
    """
    if as_json:
        sys.stdout.write(f"{to_json(report)}\n")
        return report.exit_code
    lines = [headline(report), *audit_lines(report)]
    lines += [*tally(report), *map(line, ordered(report.findings))]
    for text in [*lines, conclusion(report)]:
        sys.stdout.write(f"{text}\n")
    return report.exit_code


def _audit(samples: list[Sample], model: Any, config: DictConfig) -> Audit:
    if model is None:
        return audit(samples)
    prompt, trainer = instantiate(config, "prompt"), instantiate(config, "trainer")
    name = str(config.command.choices.model)
    return audit(samples, {name: Plausibility(model, prompt, trainer)})


def _samples(dataset: Any, name: str) -> tuple[list[Sample], list[Finding]]:
    """Reads a dataset; that it cannot be read is a finding too."""
    try:
        if getattr(dataset, "is_built", lambda: True)():
            return list(dataset.samples()), []
        unread = DataError(
            "it is not built yet", mend=f"vbench build dataset={name}, with the same dataset.* keys"
        )
    except DataError as error:
        unread = error
    what = " ".join(f"{unread.what}: {unread.why}".split()).removesuffix(":")
    return [], [Finding("unreadable_dataset", unread.where or f"dataset {name}", what, unread.mend)]


def _files(used: Mapping[str, Use], decode: Decode, loader: Any) -> Iterator[Examined]:
    look = _Look({path: tuple(use.spans) for path, use in used.items()}, decode)
    for path, found in survey(look, list(used), loader.num_workers, loader.decode_timeout_s):
        yield Examined(FileFacts(path), lost=found) if isinstance(found, str) else found


class _Look:
    """What a worker does with one path."""

    def __init__(
        self, spans: Mapping[str, tuple[tuple[float, float | None], ...]], decode: Decode
    ) -> None:
        self.spans = spans
        self.decode = decode

    def __call__(self, path: str) -> Examined:
        facts = facts_of(path, self.spans[path], self.decode)
        return Examined(facts, fingerprint(path) if facts.readable else "")
