"""What runs are called beside one another: by their model, and by the settings that differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from vbench.results.run import Run
from vbench.schema import identity

_SAID = ("sampler.name", "model.name")
"""Settings that the word on the command line says already."""

_WORDS = (
    "dataset", "sampler", "frame_order", "prompt", "scorer", "visual", "generation", "metric",
)  # fmt: skip

_FIRST = "model.checkpoint"
"""What tells models of one word apart best."""


def run_names(runs: Sequence[Run]) -> list[str]:
    """Returns one name per run, all different.

    Args:
        runs: The runs of one report.
    """
    choices = [run.config["command"]["choices"] for run in runs]
    names = [str(of.get("entry") or of["model"]) for of in choices]
    if len(set(names)) < len(names):
        told = [_told(run, of) for run, of in zip(runs, choices, strict=True)]
        more = _differing(names, told)
        names = [" ".join([name, *own]) for name, own in zip(names, more, strict=True)]
    if len(set(names)) < len(names):
        names = [f"{name} ({run.path.name})" for name, run in zip(names, runs, strict=True)]
    if len(set(names)) < len(names):
        names = [str(run.path) for run in runs]
    return names


def _told(run: Run, choices: Mapping[str, Any]) -> dict[str, str]:
    """Returns what may tell a run from others, the words first."""
    words = {group: str(choices[group]) for group in _WORDS if choices.get(group)}
    keys = {
        key: "null" if value is None else str(value)  # the word of the command line
        for key, value in identity(run.config).items()
        if key not in _SAID and not key.endswith("._target_")
    }
    return {_FIRST: keys[_FIRST], **words, **keys} if _FIRST in keys else words | keys


def _differing(names: Sequence[str], told: Sequence[Mapping[str, str]]) -> list[list[str]]:
    """Returns for each run at most three settings in which runs of the same name differ."""
    keys = list(dict.fromkeys(key for own in told for key in own))
    kept: list[str] = []

    def classes(*keys: str) -> int:
        runs = zip(names, told, strict=True)
        return len({(name, *(own.get(key) for key in keys)) for name, own in runs})

    for key in keys:  # one that splits the runs no further adds nothing
        if classes(*kept, key) > classes(*kept):
            kept.append(key)
    return [[_say(key, own[key]) for key in kept[:3] if key in own] for own in told]


def _say(key: str, value: str) -> str:
    name = key.removeprefix("sampler.").removeprefix("model.")
    return value if key in ("sampler", "frame_order") else f"{name}={value}"
