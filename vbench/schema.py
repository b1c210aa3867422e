"""Checks a composed config, names it, and builds objects from it.

The type hints of what a node builds are its schema (vbench.signatures); the keys beside the nodes
have theirs here.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, cast

from hydra.errors import HydraException
from hydra.utils import instantiate as hydra_instantiate
from omegaconf import DictConfig, OmegaConf

from vbench.command_keys import (
    AnnotateKeys,
    BuildKeys,
    DoctorKeys,
    EvaluateKeys,
    Paths,
    ReportKeys,
)
from vbench.composition import Command, compose_unchecked, files_with, plain, vocabulary
from vbench.errors import ConfigError, VbenchError, did_you_mean
from vbench.overrides import PARTS
from vbench.signatures import check_arguments, check_parts

__all__ = ["check", "compose", "config_digest", "identity", "instantiate", "plain", "run_name"]


_KEYS: Mapping[Command, type] = {
    "evaluate": EvaluateKeys,
    "build": BuildKeys,
    "doctor": DoctorKeys,
    "annotate": AnnotateKeys,
    "report": ReportKeys,
}

_STUDIES = (*PARTS, "text_similarity", "frame_order", "entry", "experiment", "debug")
"""Folders of conf/ that set other nodes or parts of one, and have none of their own."""

_PLACES = frozenset({"dataset.root", "dataset.file", "dataset.videos", "dataset.kept"})
"""Paths: the same place however it is spelled."""

_NO_SCORE = (
    "command", "paths", "loader", "logger", "run_dir", "on_error", "shards", "shard", "fresh",
    "sweep",
    "trainer.accelerator", "trainer.devices", "trainer.num_nodes", "model.calling",
    "model.api_key_env", "model.batch_size", "model.device_map", "model.prefix",
)  # fmt: skip
"""Nodes and keys that cannot change a score: no part of a run's identity."""


def compose(overrides: Sequence[str], command: Command = "evaluate") -> DictConfig:
    """Composes a command's config and checks it; see `composition.compose_unchecked`.

    Raises:
        ConfigError: A name, choice or value does not exist, is missing or has the wrong type.
    """
    config = compose_unchecked(overrides, command)
    check(config, command)
    return config


def check(config: DictConfig, command: Command = "evaluate") -> None:
    """Checks every key and value of a config against what it builds.

    Raises:
        ConfigError: An unknown, missing or ill-typed key.
    """
    values = plain(config)
    words = vocabulary(command)
    own = {key: value for key, value in values.items() if key in words.keys}
    check_arguments(own, _KEYS[command], "")
    _KEYS[command](**own)
    for key, node in values.items():
        if key in own or key == "command":
            continue
        if key not in words.choices:
            hint = did_you_mean(key, [*words.keys, *words.choices])
            raise ConfigError(f"unknown key '{key}'", where="the top of the config", mend=hint)
        if key == "paths":
            check_arguments(node, Paths, "paths")
        elif node is not None:
            if key == "model" and "_target_" in node:
                chosen = {group: config.command.choices.get(group) for group in PARTS}
                check_parts(chosen, _locate(node["_target_"], key))
            _check_node(node, key)
    nodes = [g for g in words.choices if g not in _STUDIES]
    for group in nodes if command == "evaluate" else ["dataset"]:
        if not values.get(group):
            hint = did_you_mean("", words.choices[group])
            raise ConfigError(f"no {group} is chosen", where=group, mend=f"{group}=…, {hint}")


def _check_node(node: object, key: str) -> None:
    if isinstance(node, list):
        for index, entry in enumerate(node):
            _check_node(entry, f"{key}[{index}]")
    elif isinstance(node, dict):
        if "_target_" in node:
            other = partial(files_with, key)
            check_arguments(node, _locate(node["_target_"], key), key, other)
        elif "." not in key and "[" not in key:
            mend = f"choose a file of conf/{key}/, or give yours a _target_: package.Class"
            if inner := next((n for n, x in node.items() if isinstance(x, dict)), None):
                mend += f"; to build on one of another folder: /{key}/{inner}/NAME@_here_"
            raise ConfigError(
                f"'{key}' builds nothing",
                where=f"conf/{key}/",
                why="the node has no _target_",
                mend=mend,
            )
        for name, entry in node.items():
            _check_node(entry, f"{key}.{name}")


def _locate(target: str, key: str) -> Callable[..., Any]:
    module, *names = target.rsplit(".", 1) if "." in target else (target, "")
    try:
        owner: Any = importlib.import_module(module)
        return cast(Callable[..., Any], getattr(owner, names[0]))
    except AttributeError:
        own = (n for n, x in vars(owner).items() if getattr(x, "__module__", "") == module)
        why, mend = f"{module} has no '{names[0]}'", did_you_mean(names[0], own)
    except ImportError as error:
        why, package = " ".join(str(error).split()), (error.name or "").split(".")[0]
        mend = "correct _target_: package.module.Class; the package is installed or beside conf/"
        if package and package not in (module.split(".")[0], "vbench"):
            mend = f"pip install {package}, or the extra of vbench-eval that needs it"
    raise ConfigError(f"'{target}' cannot be imported", where=f"{key}._target_", why=why, mend=mend)


def instantiate(config: DictConfig, key: str, **extra: object) -> Any:
    """Builds what a node describes.

    Args:
        config: The whole config, so that the node's interpolations resolve.
        key: The node: `model`.
        **extra: Arguments that only code can supply.

    Raises:
        ConfigError: The target refuses its arguments.
        VbenchError: Whatever the target itself raises of this kind.
    """
    try:
        build = hydra_instantiate(config[key], _partial_=True, _convert_="all")
        return build(**extra)
    except Exception as error:
        chain: BaseException | None = error
        while chain is not None:
            if isinstance(chain, VbenchError):
                raise chain from chain.__cause__
            chain = chain.__cause__
        cause = error.__cause__ if isinstance(error, HydraException) else error
        raise ConfigError(
            f"the {key} cannot be built",
            where=f"{key} ({config[key].get('_target_', '?')})",
            why=f"{type(cause).__name__}: {' '.join(str(cause).split())}",
            mend=f"check the values under {key}; VBENCH_DEBUG=1 shows the traceback",
        ) from error


def identity(values: Mapping[str, object]) -> dict[str, object]:
    """Reduces a plain config to the settings that can change a score, flattened.

    >>> identity({"sampler": {"num_frames": 8}, "loader": {"batch_size": 4}, "limit": None})
    {'limit': None, 'sampler.num_frames': 8}
    """
    flat = dict(flatten(values))
    for key in _PLACES & flat.keys():
        if isinstance(flat[key], str):
            flat[key] = str(Path(str(flat[key])).resolve())
    kept = (k for k in sorted(flat) if not any(f"{k}.".startswith(f"{n}.") for n in _NO_SCORE))
    return {key: flat[key] for key in kept}


def flatten(values: Mapping[str, object], prefix: str = "") -> Iterator[tuple[str, object]]:
    """Yields the leaves of nested mappings under dotted keys.

    >>> dict(flatten({"sampler": {"num_frames": 8}, "limit": None}))
    {'sampler.num_frames': 8, 'limit': None}
    """
    for key, value in values.items():
        if isinstance(value, Mapping) and value:
            yield from flatten(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def config_digest(config: DictConfig) -> str:
    """Returns the run id: 12 hex digits that change with every setting that can change a score."""
    text = json.dumps(identity(plain(config)), sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def run_name(config: DictConfig) -> str:
    """Returns `<dataset>/<model>/<sampler>-<id>`, free of characters that need quoting."""
    choices = config.command.choices
    dataset, model, sampler = (
        re.sub(r"[^\w.-]+", "-", str(choices.get(group, group)))
        for group in ("dataset", "model", "sampler")
    )
    return f"{dataset}/{model}/{sampler}-{config_digest(config)}"


def write_hydra(config: DictConfig, folder: Path) -> None:
    """Writes `.hydra/` as Hydra would: the composed config and the overrides that led to it."""
    target = folder / ".hydra"
    target.mkdir(parents=True, exist_ok=True)
    for name, value in (("config", config), ("overrides", config.command.overrides)):
        aside = target / f".{name}.{os.getpid()}.tmp"  # two shards may end at the same moment
        OmegaConf.save(value, aside)
        aside.replace(target / f"{name}.yaml")
