"""The console: `vbench [evaluate]` and the other commands, each a story of its own module.

Nothing heavy is imported before it is needed: `vbench --help` must be instant.
"""

from __future__ import annotations

import os
import sys
import tempfile
import traceback
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from vbench import __version__
from vbench.errors import ConfigError, VbenchError, did_you_mean
from vbench.flags import expand_one, unknown
from vbench.run_commands import (
    PAPER_TABLES,
    compare,
    diff,
    export,
    import_,
    report,
    sheet,
    show,
    status,
    table,
)
from vbench.usage import OVERVIEW, PLAN, SCORE, describe

if TYPE_CHECKING:
    from omegaconf import DictConfig

    from vbench.results.run import Run


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command.

    Args:
        arguments: The words after `vbench`; None takes them from the command line.

    Returns:
        The exit code: 0 done, 1 failed, 3 done with failures recorded, 130 interrupted.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        return _run_command(words)
    except KeyboardInterrupt:
        _say("\nvbench: stopped. Answers so far are on disk: type the same command to resume.\n")
        return 130
    except BrokenPipeError:
        # The reader of a pipe (`| head`) has left; Python would complain once more at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except Exception as error:
        return _report(error)


def _run_command(words: list[str]) -> int:
    first = words[0] if words else "--help"
    if first in ("-h", "--help", "help"):
        sys.stdout.write(OVERVIEW)
        return 0
    if first in ("-V", "--version"):
        sys.stdout.write(f"vbench {__version__}\n")
        return 0
    if first in _COMMANDS:
        return _COMMANDS[first](words[1:])
    if "=" in first or first.startswith(("+", "~", "-")):
        return _evaluate(words)
    raise ConfigError(
        f"unknown command '{first}'",
        where=f"vbench {' '.join(words)}",
        mend=f"{did_you_mean(first, _COMMANDS)} (settings are written key=value)",
    )


def _evaluate(words: list[str]) -> int:
    flags, overrides = _split(words, ("-m", "--multirun", "--cfg", "-h", "--help"))
    if flags & {"-h", "--help"}:
        sys.stdout.write(describe("evaluate"))
        return 0
    from vbench.composition import sweep_overrides
    from vbench.overrides import jobs
    from vbench.schema import compose
    from vbench.sweep import sweep

    swept = sweep_overrides(overrides, asked=bool(flags & {"-m", "--multirun"}))
    if "--cfg" in flags:
        for job in [overrides] if swept is None else jobs(swept):
            _print_config(compose(job))
        return 0
    if swept is None:
        return _run(compose(overrides))

    def prepare(configs: Sequence[DictConfig]) -> Callable[[DictConfig], int]:
        from vbench.together import Together

        return partial(_run_and_report, run=Together(configs).run)

    swept_over = sweep(swept, prepare, _run_apart)
    done = [folder for folder in swept_over.runs if Path(folder, "summary.json").is_file()]
    if len(done) > 1:
        from vbench.table import print_tables

        study = next((w.partition("=")[2] for w in swept if w.startswith("experiment=")), None)
        print_tables(done, "terminal", study if study in PAPER_TABLES else None)
    return swept_over.code


def _run(config: DictConfig, run: Callable[[DictConfig], Run | None] | None = None) -> int:
    """Evaluates one config and prints its tables; `run` does so beside other jobs of a sweep."""
    from vbench import evaluation

    finished = (run or evaluation.run)(config)
    if finished is None:  # a further rank of a run on many devices
        return 0
    from vbench.table import print_tables

    print_tables([str(finished.path)], "terminal")
    sys.stdout.write(f"{finished.path}\n")
    return finished.exit_code


def _run_and_report(config: DictConfig, run: Callable[[DictConfig], Run | None]) -> int:
    try:
        return _run(config, run)
    except Exception as error:
        return _report(error)


def _run_apart(config: DictConfig) -> int:
    """Evaluates a job of a sweep whose other jobs run in other processes."""
    from vbench.together import run_beside_others

    return _run_and_report(config, run_beside_others)


def _print_config(config: DictConfig) -> None:
    import yaml

    from vbench.composition import plain

    values = {key: value for key, value in plain(config).items() if key != "command"}
    sys.stdout.write(yaml.safe_dump(values, sort_keys=False, allow_unicode=True))


def _build(words: list[str]) -> int:
    flags, overrides = _split(words, ("-h", "--help"))
    if flags:
        sys.stdout.write(describe("build"))
        return 0
    from vbench.build import build
    from vbench.schema import compose

    sys.stdout.write(f"{build(compose(overrides, 'build'))}\n")
    return 0


def _doctor(words: list[str]) -> int:
    flags, overrides = _split(words, ("--json", "--audit", "-h", "--help"))
    if flags & {"-h", "--help"}:
        sys.stdout.write(describe("doctor"))
        return 0
    overrides += ["audit=true"] * ("--audit" in flags)
    from vbench.doctor import examine, present
    from vbench.schema import compose

    return present(examine(compose(overrides, "doctor")), as_json="--json" in flags)


def _annotate(words: list[str]) -> int:
    if not words or {"-h", "--help"} & set(words):
        sys.stdout.write(describe("annotate"))
        return 0
    from vbench.annotate import set_up, take_in
    from vbench.schema import compose

    if "=" not in words[0] and not words[0].startswith("+"):
        return take_in(words[0], words[1:])
    sys.stdout.write(f"{set_up(compose(words, 'annotate'))}\n")
    return 0


def _score(words: list[str]) -> int:
    if {"-h", "--help"} & set(words):
        sys.stdout.write(SCORE)
        return 0
    if not words or "=" in words[0]:
        raise ConfigError(
            "no run is named",
            where=f"vbench score {' '.join(words)}".rstrip(),
            mend="vbench score RUN scorer=…",
        )
    from vbench.score import score
    from vbench.table import print_tables

    finished = score(expand_one(words[0]), words[1:])
    if finished is None:
        return 0
    print_tables([str(finished.path)], "terminal")
    sys.stdout.write(f"{finished.path}\n")
    return finished.exit_code


def _plan(words: list[str]) -> int:
    flags, overrides = _split(words, ("--json", "-h", "--help"))
    if flags & {"-h", "--help"}:
        sys.stdout.write(PLAN)
        return 0
    from vbench.planning import forecast, present
    from vbench.schema import compose

    return present(forecast(compose(overrides)), as_json="--json" in flags)


_COMMANDS: dict[str, Callable[[list[str]], int]] = {
    "evaluate": _evaluate,
    "build": _build,
    "doctor": _doctor,
    "score": _score,
    "annotate": _annotate,
    "plan": _plan,
    "table": table,
    "report": report,
    "show": show,
    "sheet": sheet,
    "diff": diff,
    "compare": compare,
    "status": status,
    "export": export,
    "import": import_,
}


def _split(words: list[str], known: Sequence[str]) -> tuple[set[str], list[str]]:
    flags = {word for word in words if word.startswith("-")}
    for word, after in pairwise([*words, "…"]):
        if word in flags - set(known):
            raise unknown(word, known, "…" if after.startswith("-") or "=" in after else after)
    return flags, [word for word in words if word not in flags]


def _report(error: Exception) -> int:
    """Says what went wrong: a user's error in plain words, a bug with where its traceback is."""
    debugging = os.environ.get("VBENCH_DEBUG", "") not in ("", "0")
    if debugging:
        _say("".join(traceback.format_exception(error)))
    if isinstance(error, VbenchError):
        from vbench.results.text import visible  # a path or caption may hold anything

        _say("\n".join(map(visible, f"vbench: {error.render()}".split("\n"))) + "\n")
    elif not debugging:
        with tempfile.NamedTemporaryFile(
            "w", prefix="vbench-", suffix=".txt", delete=False, encoding="utf-8"
        ) as file:
            traceback.print_exception(error, file=file)
        message = " ".join(f"{type(error).__name__}: {error}".split())
        _say(f"vbench: this is a bug in vbench, not in your command\n  why:   {message}\n")
        _say(f"  where: {file.name} (traceback; please send it with your report)\n")
    return 1


def _say(text: str) -> None:
    sys.stderr.write(text)
