"""The story of `vbench annotate`: a dataset's tasks for Label Studio, and its answers back."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from vbench.annotation.answers import (
    Export,
    answers_by_item,
    by_test,
    read_exports,
    write_choices,
    write_kept,
)
from vbench.annotation.assignment import Staff, assign
from vbench.annotation.interfaces import STUDIES, labelling_config
from vbench.annotation.tasks import (
    Media,
    Task,
    in_random_order,
    read_plan,
    shown,
    tasks_of,
    write_plan,
)
from vbench.errors import ConfigError, DataError
from vbench.records import Sample
from vbench.results.agreement import kappas, krippendorff_alpha
from vbench.schema import instantiate

if TYPE_CHECKING:
    from omegaconf import DictConfig

PLAN = "plan.jsonl"
HUMAN_SAMPLES = 30
"""A person's samples of each test in the paper's human evaluation (2406.10889, Appendix B)."""


def set_up(config: DictConfig) -> Path:
    """Writes a study: per interface an XML config, per person a file of tasks, and the plan.

    Args:
        config: From `schema.compose(…, "annotate")`.

    Returns:
        The study's folder.

    Raises:
        ConfigError: The settings contradict one another, or the folder holds a study.
        DataError: The dataset cannot be read, or has nothing to ask.
    """
    folder = Path(config.out)
    if (folder / PLAN).exists():
        raise ConfigError(
            "the folder holds a study already",
            where=f"out={folder}",
            why="answers could no longer be told from those of another draw",
            mend="choose another folder",
        )
    interfaces = STUDIES[config.study]
    asked = _asked(instantiate(config, "dataset").samples(), config)
    clips = {(c.video_id, c.start_s, c.end_s): c for s in asked for c in s.clips}
    media = Media(config.media_root or config.dataset.root, config.media_prefix)
    plan: list[Task] = []
    files = {f"{interface}.xml": labelling_config(interface) for interface in interfaces}
    for person, own in enumerate(assign(asked, _staff(config, len(asked))), start=1):
        for interface in interfaces:
            tasks = {t.key: t for sample in own for t in tasks_of(sample, interface)}
            mixed = in_random_order(list(tasks.values()), config.seed + person)
            plan += mixed
            data = [{"data": shown(task, clips, media)} for task in mixed]
            files[f"{interface}-{person}.json"] = json.dumps(data, ensure_ascii=False, indent=1)
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    write_plan(folder / PLAN, plan)
    return folder


def _asked(samples: Sequence[Sample], config: DictConfig) -> list[Sample]:
    interfaces = STUDIES[config.study]
    asked = [s for s in samples if any(tasks_of(s, interface) for interface in interfaces)]
    if not asked:
        raise DataError(
            f"study={config.study} has nothing to ask about this dataset",
            where=f"dataset {config.command.choices.dataset}",
            mend="choose another study, or other tests with dataset.tests=[…]",
        )
    return asked


def _staff(config: DictConfig, samples: int) -> Staff:
    all_there_are = samples * config.overlap
    default = HUMAN_SAMPLES if config.study == "human" else all_there_are
    return Staff(config.annotators, config.per_annotator or default, config.overlap, config.seed)


def take_in(folder: str, files: Sequence[str]) -> int:
    """Reads the answers to a study, writes what they amount to, and prints it.

    Writes choices.jsonl for `model=human` (human evaluation) or kept.jsonl (quality control).

    Args:
        folder: From `set_up`.
        files: Label Studio's exports.

    Returns:
        The exit code: 0 everything could be read, 3 something was left out.

    Raises:
        ConfigError: The folder holds no study.
        DataError: A file is no export.
    """
    place = Path(folder)
    plan = read_plan(place / PLAN)
    export = read_exports([Path(file) for file in files], plan)
    human = any(task.interface in STUDIES["human"] for task in plan.values())
    name = "choices.jsonl" if human else "kept.jsonl"
    (write_choices if human else write_kept)(place / name, export.given)
    sys.stdout.write("\n".join(_report(export, len(plan), human)) + f"\n{place / name}\n")
    return 3 if export.left_out else 0


def _report(export: Export, planned: int, human: bool) -> list[str]:
    people = {one.annotator for one in export.given}
    tasks = {one.task.key for one in export.given}
    lines = [
        f"{len(export.given)} answers of {len(people)} people to {len(tasks)} of {planned} tasks"
    ]
    lines += [f"left out: {count} {reason}" for reason, count in export.left_out.items()]
    lines.append("accuracy" if human else "retention")
    for test, share in by_test(export.given).items():
        lines.append(f"  {test:14} {share.percent:5.1f} %  {share.part} of {share.whole}")
    for question, answers in answers_by_item(export.given).items():
        alpha = krippendorff_alpha(answers)
        if alpha is not None:
            lines.append(f"agreement on '{question}': Krippendorff's alpha {alpha:.3f}")
        for (a, b), kappa in kappas(answers).items():
            if kappa is not None:
                lines.append(f"  {a} and {b}: Cohen's kappa {kappa:.3f}")
    return lines
