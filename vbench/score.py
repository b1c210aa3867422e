"""The story of `vbench score`: other scorers and metrics over answers that a run has stored."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from vbench.errors import ConfigError, RunError
from vbench.evaluation import run_parts
from vbench.parts import Parts, Query, run_path
from vbench.results.folders import run_folder
from vbench.results.store import RunFolder, open_run, read_config
from vbench.schema import compose, identity, plain

if TYPE_CHECKING:
    from omegaconf import DictConfig

    from vbench.records import Prediction
    from vbench.results.run import Run

_OF_A_SCORE = ("scorer", "metric", "prompt", "text_similarity", "run_dir", "logger", "paths")
"""Words that may be said anew; what decides an answer stays as the run has it."""


def score(folder: str | Path, overrides: Sequence[str]) -> Run | None:
    """Scores a run's stored answers anew, into a run folder of their own; asks no model.

    Args:
        folder: The run whose answers are used.
        overrides: What is different: `scorer=letters`, `metric.tie=half`.

    Returns:
        The new run.

    Raises:
        ConfigError: Something else than scorer, prompt or metric is to change.
        RunError: The run does not hold all answers that are needed.
    """
    old = run_folder(folder)
    config = compose([*_typed(old, overrides), *overrides])
    parts = Parts.build(config)
    target = run_path(config)
    if target.resolve() == old.resolve():
        return run_parts(parts, config, ask=False)
    rows = _stored(parts, config, old)
    open_run(target, plain(config), identity, fresh=config.fresh)
    fresh = RunFolder(target)
    known = fresh.new_predictions()
    new = [row for key, row in rows.items() if key not in known]
    fresh.write_predictions(new, made=RunFolder(old).made())
    return run_parts(parts, config, ask=False)


def _typed(folder: Path, overrides: Sequence[str]) -> list[str]:
    """Returns what was typed for a run, less what is said anew."""
    for word in overrides:
        group = word.lstrip("+~").partition("=")[0].split(".")[0]
        if group not in _OF_A_SCORE:
            raise ConfigError(
                f"'{group}' decides the answers themselves",
                where=f"vbench score … {word}",
                why=f"only {', '.join(_OF_A_SCORE)} can change after the model was asked",
                mend="use vbench evaluate",
            )
    again = {word.lstrip("+~").partition("=")[0] for word in overrides}
    typed: list[str] = read_config(folder)["command"]["overrides"]
    names = {word: word.lstrip("+~").partition("=")[0] for word in typed}
    # A new scorer brings its own settings and prompt, a new metric its own settings.
    replaced = {name for name in again if "." not in name}
    replaced |= {"prompt"} if "scorer" in replaced and "prompt" not in again else set()
    kept = [word for word in typed if names[word].split(".")[0] not in replaced]
    return [word for word in kept if names[word] not in {*again, "run_dir", "sweep", "fresh"}]


def _stored(parts: Parts, config: DictConfig, old: Path) -> dict[str, Prediction]:
    plan = Query.of(parts, config).plan
    rows = RunFolder(old).predictions(plan.all_keys())
    missing = [r for r, keys in plan.keys.items() if not rows.keys() >= set(keys)]
    if missing:
        raise RunError(
            f"{len(missing)} of {len(plan.keys)} answers are not stored there",
            where=str(old),
            why="the new scorer asks something else of the model, or the run is not complete",
            mend="vbench evaluate with the same words asks what is missing; with the prompt that "
            "the run was asked with (prompt=…) its answers can be read again",
        )
    return rows
