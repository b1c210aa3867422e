"""Checks the words of a command before Hydra sees them.

Hydra knows three spellings of an override (`key=`, `+key=`, `++key=`) and refuses the wrong one.
Here any of them will do: names are checked against conf/ first and spelled Hydra's way afterwards;
the keys inside a node are checked against what the node builds (vbench.signatures).
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from hydra.errors import HydraException, OverrideParseException

from vbench.errors import ConfigError, did_you_mean

TABLE_SUFFIXES = frozenset({".csv", ".tsv", ".jsonl", ".json", ".parquet"})


PARTS = ("visual", "generation")
"""Folders of conf/ that set a part of the model."""


@dataclass(frozen=True)
class Vocabulary:
    """The words a command understands."""

    choices: Mapping[str, Sequence[str]]
    """The folders of conf/ that the command composes, each with its files."""
    keys: Sequence[str]
    """Its keys that are no folder."""


def prepare(overrides: Sequence[str], words: Vocabulary, sweeping: bool = False) -> list[str]:
    """Checks overrides by name and spells them as Hydra wants them.

    Args:
        overrides: As typed.
        words: What the command understands.
        sweeping: Whether an override may name several values (`model=a,b`).

    Raises:
        ConfigError: One cannot be parsed, or names something that does not exist.
    """
    return [_prepare(override, words, sweeping) for override in _parse(overrides)]


def jobs(overrides: Sequence[str]) -> list[list[str]]:
    """Multiplies sweeps out, one list of overrides per job, in Hydra's order.

    >>> jobs(["model=a,b", "seed=1,2"])[1]
    ['model=a', 'seed=2']
    """
    values: dict[str, list[str]] = {}
    for override in _parse(overrides):
        key = override.get_key_element()
        if override.is_discrete_sweep():
            values[key] = [f"{key}={value}" for value in override.sweep_string_iterator()]
        else:
            values[key] = [override.input_line or ""]
    return [list(job) for job in itertools.product(*values.values())]


def _parse(overrides: Sequence[str]) -> list[Override]:
    parser = OverridesParser.create()
    parsed = []
    for text in overrides:
        try:
            parsed.extend(parser.parse_overrides([text]))
        except (OverrideParseException, HydraException) as error:
            plain_word = re.fullmatch(r"[\w./-]+", text)
            raise ConfigError(
                f"cannot read '{text}'",
                where=f"the command: {text}",
                why="settings are key=value" if plain_word else str(error).splitlines()[0],
                mend="write key=value, without spaces around '='; quote values with spaces or "
                "special characters twice: \"key='a, b'\"",
            ) from error
    return parsed


def _prepare(override: Override, words: Vocabulary, sweeping: bool) -> str:
    text = override.input_line or ""
    key = override.key_or_group
    head = re.split(r"[./@]", key)[0]
    if head == "hydra":
        return text
    if head not in words.choices and head not in words.keys:
        raise ConfigError(
            f"unknown key '{head}'",
            where=f"the command: {text}",
            mend=did_you_mean(head, [*words.choices, *words.keys]),
        )
    if head in PARTS and key.startswith(f"{head}."):
        raise ConfigError(
            f"'{key}' is a setting of the model",
            where=f"the command: {text}",
            why=f"{head}=… chooses a file of conf/{head}/, which sets model.{head}",
            mend=f"model.{text.lstrip('+')}",
        )
    if override.is_sweep_override() and not sweeping:
        raise ConfigError(
            f"'{text}' names several values",
            where=f"the command: {text}",
            why="one evaluation takes one value",
            mend="add -m to run each of them"
            + ("" if key in words.choices else f", or make it one list: '{key}=[…]'"),
        )
    if key not in words.choices:
        return text if override.is_delete() or "/" in key else f"++{text.lstrip('+')}"
    if override.is_delete() or override.value() is None:
        raise ConfigError(
            f"'{key}' cannot be taken away",
            where=f"the command: {text}",
            mend=f"leave it out, or choose another; {did_you_mean('', words.choices[key])}",
        )
    swept = override.is_sweep_override()
    values = override.sweep_string_iterator() if swept else [override.get_value_element_as_str()]
    for value in values:
        check_choice(key, value.strip("'\""), words.choices[key])
    return text.lstrip("+")


def check_choice(group: str, choice: str, choices: Sequence[str]) -> None:
    """Checks that a folder of conf/ has a file of that name.

    Raises:
        ConfigError: It has not.
    """
    if choice in choices:
        return
    why = mend = ""
    if group == "model" and _is_checkpoint(choice, choices):
        why = "it looks like a checkpoint on the Hugging Face hub or on disk, not a file of conf/"
        mend = f"use model={_loader_of(choice, choices)} model.checkpoint={choice}"
    elif group == "dataset" and Path(choice).suffix in TABLE_SUFFIXES:
        why = "it is a file; a table of your own needs no config"
        mend = f"use dataset=table dataset.file={choice}"
    raise ConfigError(
        f"there is no {group} '{choice}'",
        where=f"{group}={choice}",
        why=why or f"conf/{group}/ has no file {choice}.yaml",
        mend=mend or did_you_mean(choice, choices) or "`vbench evaluate --help` lists them",
    )


def _is_checkpoint(choice: str, choices: Sequence[str]) -> bool:
    # toy/clpi is a misspelt toy/clip, not the hub's organisation "toy".
    families = {c.split("/")[0] for c in choices if "/" in c}
    return "/" in choice and choice.split("/")[0] not in families


def _loader_of(checkpoint: str, choices: Sequence[str]) -> str:
    contrastive = re.search(r"clip", checkpoint, re.IGNORECASE)
    return "hf/vlm" if "hf/vlm" in choices and not contrastive else "hf/dual_encoder"
