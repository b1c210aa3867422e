"""Puts a command's config together with Hydra, and runs sweeps through it.

Every error of Hydra or OmegaConf leaves this module as a ConfigError that says what, where, why and
mend.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any, Literal, cast

import yaml
from hydra import compose as hydra_compose
from hydra import initialize_config_dir
from hydra.core.global_hydra import GlobalHydra
from hydra.core.hydra_config import HydraConfig
from hydra.errors import HydraException, MissingConfigException
from omegaconf import DictConfig, OmegaConf, open_dict
from omegaconf.errors import OmegaConfBaseException

from vbench.errors import ConfigError, did_you_mean
from vbench.overrides import Vocabulary, jobs, prepare

Command = Literal["evaluate", "build", "doctor", "annotate", "report"]


def conf_dir() -> Path:
    """Returns vbench's own conf/: in the installed package, else beside it in the repository."""
    packaged = Path(__file__).parent / "conf"
    return packaged if packaged.is_dir() else Path(__file__).parents[1] / "conf"


def conf_roots() -> list[Path]:
    """Returns the folders configs are looked up in: vbench's own, then the user's ./conf."""
    own, theirs = conf_dir(), Path.cwd() / "conf"
    return [own, theirs] if theirs.is_dir() and not theirs.samefile(own) else [own]


def vocabulary(command: Command = "evaluate") -> Vocabulary:
    """Returns the words a command understands, in the order of its defaults list."""
    primary = yaml.safe_load((conf_dir() / f"{command}.yaml").read_text(encoding="utf-8"))
    names = [next(iter(entry)) for entry in primary["defaults"] if isinstance(entry, dict)]
    keys = [key for key in primary if key not in ("defaults", "hydra")]
    choices: dict[str, list[str]] = {}
    for group in names:
        if not group.startswith("override "):
            found = {
                file.relative_to(root / group).with_suffix("").as_posix()
                for root in conf_roots()
                for file in (root / group).rglob("*.yaml")
            }
            choices[group] = sorted(found)
    return Vocabulary(choices, keys)


def files_with(group: str, key: str) -> list[str]:
    """Returns the files of a folder of conf/ that set a key themselves, folders in it last."""
    found: dict[str, None] = {}
    for root in conf_roots():
        for file in sorted((root / group).rglob("*.yaml")):
            with suppress(yaml.YAMLError):  # a broken file is another error
                if key in (yaml.safe_load(file.read_text(encoding="utf-8")) or {}):
                    found[file.relative_to(root / group).with_suffix("").as_posix()] = None
    return sorted(found, key=lambda name: ("/" in name, name))


def compose_unchecked(overrides: Sequence[str], command: Command = "evaluate") -> DictConfig:
    """Composes a command's config; names are checked, the keys inside nodes are not.

    Args:
        overrides: Hydra overrides as typed: `model=toy/clip`, `sampler.num_frames=8`.
        command: The primary config to start from.

    Returns:
        The config without Hydra's own node. `command.choices` says what was chosen from each
        folder, `command.overrides` what was typed.

    Raises:
        ConfigError: A name or choice does not exist, or a file of conf/ is broken.
    """
    with _hydra() as searchpath:
        prepared = [*prepare(overrides, vocabulary(command)), *searchpath]
        full = hydra_compose(command, prepared, return_hydra_config=True)
        return _finish(full, full.hydra.runtime.choices, overrides)


def _finish(config: DictConfig, choices: Mapping[Any, Any], overrides: Sequence[str]) -> DictConfig:
    names = {str(g): c for g, c in choices.items() if c and not str(g).startswith("hydra")}
    with open_dict(config):
        config.pop("hydra", None)
        config.command = {"choices": names, "overrides": list(overrides)}
    return config


def sweep_overrides(overrides: Sequence[str], asked: bool) -> list[str] | None:
    """Returns all overrides of a sweep, or None where there is nothing to sweep.

    Args:
        overrides: As typed.
        asked: Whether the user asked for a sweep (`-m`); an experiment may ask by itself with
            `hydra.mode: MULTIRUN`, and name what it sweeps in `hydra.sweeper.params`. What is typed
            replaces the experiment's values of the same key.

    Returns:
        The overrides, first what sweeps over models: the jobs of one model follow one another.

    Raises:
        ConfigError: An override cannot be read or names something that does not exist.
    """
    words = vocabulary()
    typed = prepare(overrides, words, sweeping=True)
    single = [text for text in typed if len(jobs([text])) == 1]
    with _hydra() as searchpath:
        full = hydra_compose("evaluate", [*single, *searchpath], return_hydra_config=True)
        if not asked and not str(full.hydra.mode).endswith("MULTIRUN"):
            return None
        params = OmegaConf.select(full, "hydra.sweeper.params") or {}
    swept = prepare([f"{key}={value}" for key, value in params.items()], words, sweeping=True)
    merged = {text.partition("=")[0]: text for text in [*swept, *typed]}
    return sorted(merged.values(), key=lambda text: not _sweeps_models(text))


def _sweeps_models(text: str) -> bool:
    return bool(re.match(r"\+*(model|entry)\b", text)) and len(jobs([text])) > 1


def runs_here(overrides: Sequence[str]) -> bool:
    """Says whether the launcher of a sweep runs its jobs one by one in this process.

    Args:
        overrides: From `sweep_overrides`.

    Raises:
        ConfigError: The launcher does not exist, or its plugin is not installed.
    """
    single = [text for text in overrides if len(jobs([text])) == 1]
    with _hydra() as searchpath:
        full = hydra_compose("evaluate", [*single, *searchpath], return_hydra_config=True)
        return str(full.hydra.launcher._target_).endswith(".BasicLauncher")


def multirun(
    overrides: Sequence[str], folder: Path, job: Callable[[DictConfig, int], int]
) -> list[int]:
    """Runs one job per combination of the swept values, through Hydra's sweeper and launcher.

    Args:
        overrides: From `sweep_overrides`.
        folder: Where Hydra keeps its multirun.yaml.
        job: Gets the job's config and its number from 0; returns its exit code. Launchers that
            start processes pickle it.

    Returns:
        The exit codes in order.

    Raises:
        ConfigError: The sweep cannot be composed.
    """

    def task(composed: DictConfig) -> int:
        hydra = HydraConfig.get()
        typed = list(hydra.overrides.task)
        return job(_finish(composed, hydra.runtime.choices, typed), hydra.job.num)

    own = [
        f"hydra.sweep.dir={_quoted(folder)}",
        "hydra.sweep.subdir=.",
        "hydra.sweeper.params=null",
    ]
    with _hydra() as searchpath:
        hydra = cast(Any, GlobalHydra.instance().hydra)
        batches = hydra.multirun("evaluate", task, [*overrides, *searchpath, *own])
    return [int(done.return_value) for batch in batches for done in batch]


def plain(config: DictConfig) -> dict[str, Any]:
    """Returns a config as plain Python, interpolations resolved.

    Raises:
        ConfigError: An interpolation points nowhere.
    """
    with _plain_errors():
        return cast(dict[str, Any], OmegaConf.to_container(config, resolve=True))


@contextmanager
def _hydra() -> Iterator[list[str]]:
    """Points Hydra at conf/; yields the override that adds the user's own folder."""
    own, *theirs = conf_roots()
    for folder in theirs:
        _announce(folder, own)
        # Classes that its files name may lie beside it; what is installed is found first.
        if str(folder.parent) not in sys.path:
            sys.path.append(str(folder.parent))
    with _plain_errors(), initialize_config_dir(str(own), job_name="vbench", version_base="1.3"):
        folders = ",".join(_quoted(f"file://{folder}") for folder in theirs)
        yield [f"hydra.searchpath=[{folders}]"] if theirs else []


@cache
def _announce(folder: Path, own: Path) -> None:
    sys.stderr.write(f"vbench: configs in {folder} join vbench's own\n")
    for file in sorted(folder.rglob("*.yaml")):
        twin = own / file.relative_to(folder)
        if twin.is_file() and twin.read_bytes() != file.read_bytes():
            sys.stderr.write(
                f"vbench: {file} is not used: vbench has a config of that name; rename yours\n"
            )


def _quoted(text: object) -> str:
    return "'" + str(text).replace("\\", "\\\\").replace("'", "\\'") + "'"


@contextmanager
def _plain_errors() -> Iterator[None]:
    try:
        yield
    except MissingConfigException as error:
        group, _, name = (error.missing_cfg_file or "").rpartition("/")
        if group == "hydra/launcher":
            raise _no_launcher(name) from error
        options = error.options or vocabulary().choices.get(group.split("/")[0], ())
        raise ConfigError(
            f"there is no config '{error.missing_cfg_file}'",
            where=_first_line(error),
            mend=did_you_mean(name, options) or "`vbench evaluate --help` lists them",
        ) from error
    except (HydraException, OmegaConfBaseException) as error:
        cause = error.__cause__ if isinstance(error.__cause__, OmegaConfBaseException) else error
        raise ConfigError(
            "the config cannot be composed",
            where=str(getattr(cause, "full_key", None) or "the command or a file of conf/"),
            why=" ".join(str(cause).split())[:400],
            mend="correct the key or value; `vbench evaluate --help` lists what there is",
        ) from error
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        raise ConfigError(
            "a config file is not valid YAML",
            where=f"{mark.name}, line {mark.line + 1}" if mark else "a file of conf/",
            why=str(getattr(error, "problem", error)),
            mend="correct the line: indent with spaces, and quote values that hold ': ' or '#'",
        ) from error


_PLUGINS = {"joblib": "launchers", "submitit": "launchers", "ray": "ray"}
"""Extras of the package by the first word of the launchers that they bring."""


def _no_launcher(name: str) -> ConfigError:
    extra = _PLUGINS.get(name.split("_")[0])
    return ConfigError(
        f"there is no launcher '{name}'",
        where=f"hydra/launcher={name}",
        why="its plugin of Hydra is not installed" if extra else "",
        mend=f"pip install 'vbench-eval[{extra}]'"
        if extra
        else did_you_mean(name, ("basic", "joblib", "submitit_local", "slurm", "ray")),
    )


def _first_line(error: BaseException) -> str:
    return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
