"""The console: help, misuse, exit codes, sweeps."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from omegaconf import DictConfig

import vbench
from vbench import cli
from vbench.composition import vocabulary
from vbench.errors import DataError

HEAVY = ("torch", "lightning", "transformers", "wandb", "pandas", "hydra", "pyarrow", "av", "numpy")


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("VBENCH_DEBUG", raising=False)
    return tmp_path


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[DictConfig]:
    """Stands in for the evaluation; what would have run is in the list."""
    configs: list[DictConfig] = []

    def run(config: DictConfig, together: object = None) -> int:
        configs.append(config)
        if "buggy" in str(config.run_dir):
            raise KeyError("a bug")
        if config.seed == 13:
            raise DataError("unlucky", where="seed=13", mend="use another")
        return 3 if config.seed == 3 else 0

    monkeypatch.setattr(cli, "_run", run)
    return configs


ORACLE = ["model=oracle/perfect", "dataset=velociti/toy"]


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import json, sys; from vbench.cli import main; code = main(['--help']);"
        f"print(json.dumps([code, [m for m in {HEAVY} if m in sys.modules]]))"
    )
    out = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=300
    )
    text, _, last = out.stdout.strip().rpartition("\n")
    assert json.loads(last) == [0, []]
    assert text.startswith(f"vbench {vbench.__version__}")


@pytest.mark.parametrize("words", [[], ["-h"], ["--help"], ["help"]])
def test_help_is_short(words: list[str], capsys: Any) -> None:
    assert cli.main(words) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) <= 24
    assert max(map(len, lines)) <= 80
    assert all(any(command in line for line in lines) for command in cli._COMMANDS)


def test_version(capsys: Any) -> None:
    assert cli.main(["--version"]) == 0
    assert capsys.readouterr().out == f"vbench {vbench.__version__}\n"


@pytest.mark.parametrize("command", ["evaluate", "build"])
def test_help_of_a_command_lists_words_choices_and_keys(command: str, capsys: Any) -> None:
    assert cli.main([command, "--help"]) == 0
    text = capsys.readouterr().out
    wanted = ["velociti/toy*", "seed"]
    if command == "evaluate":
        wanted += ["oracle/perfect", "toy/clip*", "uniform_midpoints", "run_dir", "wandb*"]
    assert [word for word in wanted if word not in text] == []
    assert max(map(len, text.splitlines())) <= 100
    known = vocabulary(command)
    entries = dict(re.findall(r"^  (\w+) +(\S.*)$", text, re.MULTILINE))
    for word, choices in known.choices.items():
        if choices:
            assert entries[word].split()[0].rstrip("*") == choices[0]
    assert set(known.keys) <= entries.keys()


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        (["evalute", "model=toy/clip"], ["unknown command 'evalute'", "did you mean 'evaluate'"]),
        (["tabel"], ["did you mean 'table'"]),
        ([""], ["unknown command ''"]),
        (["model="], ["no model ''", "toy/clip"]),
        (["=3"], ["unknown key ''"]),
        (["hydra.foo=1"], ["hydra.foo", "cannot be composed"]),
        (
            ["-m", "hydra/launcher=slrum", "seed=1,2"],
            ["hydra/launcher=slrum", "did you mean 'slurm'"],
        ),
        (["run"], ["one of: annotate, build", "key=value"]),
        (["evaluate", "--multirn"], ["unknown flag '--multirn'", "did you mean '--multirun'"]),
        (["evaluate", "--model=toy/clip"], ["settings have no dashes: model=toy/clip"]),
        (["evaluate", "--limit", "3"], ["unknown flag '--limit'", "have no dashes: limit=3)"]),
        (["model=toy/clip", "--fresh"], ["unknown flag '--fresh'", "have no dashes: fresh=…)"]),
        ([*ORACLE, "generation.seed=7"], ["a setting of the model", "model.generation.seed=7"]),
        ([*ORACLE, "+visual.size=9"], ["is a setting of the model", "mend:  model.visual.size=9"]),
        (["evaluate", "modle=toy/clip"], ["unknown key 'modle'", "did you mean 'model'"]),
        (["modle=toy/clip"], ["did you mean 'model'"]),
        (["evaluate", "toy/clip"], ["cannot read 'toy/clip'", "settings are key=value"]),
        (["model=toy/clpi"], ["no model 'toy/clpi'", "did you mean 'toy/clip'"]),
        (["dataset=velocity/toy"], ["no dataset", "'velociti/toy'"]),
        (
            ["sampler=uniform"],
            ["no sampler 'uniform'", "'uniform_endpoints', 'uniform_interior' or 'uniform_midp"],
        ),
        (["sampler.num_frame=4", *ORACLE], ["unknown key 'sampler.num_frame'"]),
        (["dataset.num_video=4", *ORACLE], ["unknown key", "did you mean 'num_videos'"]),
        (["build", "num_video=4"], ["unknown key 'num_video'", "did you mean 'num_videos'"]),
        (["build", "num_videos=four"], ["'num_videos'", "a whole number"]),
        (["build", "model=toy/clip"], ["unknown key 'model'"]),
        (["build", "dataset=velociti/tyo"], ["no dataset", "'velociti/toy'"]),
        (["build", "dataset=velociti/v1"], ["is not generated", "vbench build"]),
        (["table", "--format=latx", "x"], ["no format 'latx'", "did you mean 'latex'"]),
        (["table", "--fromat", "latex"], ["unknown flag", "did you mean '--format'"]),
        (["table", "nowhere/*"], ["no run folder matches", "nowhere/*"]),
        (["table", "nowhere"], ["no such run folder", "nowhere"]),
        (["show", "run"], ["takes 2 names", "vbench show RUN SAMPLE"]),
        (["show", "nowhere", "x"], ["no such run folder", "nowhere"]),
        (["show", "run", "x", "--jsn"], ["unknown flag '--jsn'", "did you mean '--json'"]),
        (["diff", "a", "b", "c"], ["takes 2 names", "vbench diff RUN RUN"]),
        (["diff", "a", "b", "--limit=x"], ["--limit is a number from 0", "'x'"]),
        (["diff", "a", "b", "--tolerance=-1"], ["--tolerance is a number from 0"]),
        (["diff", "a", "b", "--limit"], ["--limit needs a value"]),
        (["status"], ["takes runs", "vbench status RUN|SWEEP"]),
        (["status", "nowhere", "--json=1"], ["--json takes no value"]),
        (["model=toy/clip,oracle/perfect"], ["several values", "add -m"]),
        (["-m", "model=toy/clip,oracle/perfct"], ["no model 'oracle/perfct'", "'oracle/perfect'"]),
        (["-m", "seed=1,2", *ORACLE, "limit=x"], ["'limit'", "a whole number or null"]),
        (["-m", "seed=1,2", *ORACLE, "run_dir=here"], ["cannot share one run_dir", "2 jobs"]),
        (["evaluate", "logger=wandb", "logger.mode=of", *ORACLE], ["'logger.mode'", "'offline'"]),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_misuse_is_explained(
    words: list[str], parts: list[str], ran: list[DictConfig], capsys: Any
) -> None:
    assert cli.main(words) == 1
    said = capsys.readouterr().err
    assert [part for part in parts if part not in said] == [], said
    assert "where:" in said
    assert "mend:" in said
    assert "Traceback" not in said
    assert ran == []


def test_the_word_evaluate_may_be_left_out(ran: list[DictConfig]) -> None:
    assert cli.main(["evaluate", *ORACLE]) == cli.main(ORACLE) == 0
    assert [config.command.choices.model for config in ran] == ["oracle/perfect"] * 2


def test_cfg_prints_and_runs_nothing(ran: list[DictConfig], capsys: Any) -> None:
    assert cli.main([*ORACLE, "--cfg", "limit=7"]) == 0
    assert "limit: 7" in capsys.readouterr().out
    assert ran == []


@pytest.mark.parametrize(("seed", "code"), [(0, 0), (13, 1), (3, 3)])
def test_exit_codes(ran: list[DictConfig], seed: int, code: int) -> None:
    assert cli.main([*ORACLE, f"seed={seed}"]) == code


def test_an_interrupt_says_how_to_resume(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    def interrupted(config: DictConfig) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "_run", interrupted)
    assert cli.main(ORACLE) == 130
    assert "same command" in capsys.readouterr().err


def test_an_error_cannot_steer_the_terminal(hostile: str, capsys: Any) -> None:
    assert cli.main(["show", hostile, "x"]) == 1
    said = capsys.readouterr().err
    assert r"\x1b[31mred\x9b0m [red]ball" in said
    assert all(c.isprintable() for line in said.split("\n") for c in line)


def test_a_bug_leaves_its_traceback_in_a_file(ran: list[DictConfig], capsys: Any) -> None:
    assert cli.main([*ORACLE, "run_dir=buggy"]) == 1
    said = capsys.readouterr().err
    assert "this is a bug in vbench" in said
    assert "Traceback" not in said
    file = Path(next(line for line in said.splitlines() if "where:" in line).split()[1])
    assert "KeyError: 'a bug'" in file.read_text()
    file.unlink()


def test_debugging_shows_the_traceback(
    ran: list[DictConfig], monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.setenv("VBENCH_DEBUG", "1")
    assert cli.main([*ORACLE, "seed=13"]) == 1
    said = capsys.readouterr().err
    assert "Traceback" in said
    assert "unlucky" in said


def test_a_sweep_runs_every_combination_in_folders_of_their_own(
    ran: list[DictConfig], elsewhere: Path, capsys: Any
) -> None:
    words = ["-m", "model=oracle/perfect,oracle/constant", "sampler=fps", "seed=1,2", "sweep=study"]
    assert cli.main(words) == 0
    told = [(config.command.choices.model, config.seed) for config in ran]
    assert told == [(f"oracle/{m}", s) for m in ("perfect", "constant") for s in (1, 2)]
    folders = {config.run_dir for config in ran}
    assert len(folders) == 4
    root = str(Path("outputs/sweeps/study"))
    assert all(folder.startswith(root) for folder in folders)
    names = [*folders, *(str(path) for path in Path("outputs").rglob("*"))]
    assert not any(set(name) & set("=,[]{} ") for name in names), names
    assert (elsewhere / root / "multirun.yaml").is_file()
    assert "4 of 4 jobs done" in capsys.readouterr().err


def test_a_sweep_typed_again_meets_the_same_folders(ran: list[DictConfig]) -> None:
    words = ["-m", *ORACLE, "seed=1,2"]
    cli.main(words)
    cli.main([*words, "trainer.devices=2"])
    assert [c.run_dir for c in ran[:2]] == [c.run_dir for c in ran[2:]]
    assert ran[0].run_dir != ran[1].run_dir


@pytest.mark.parametrize(("seeds", "code"), [("1,13,3", 1), ("1,3", 3), ("1,2", 0)])
def test_a_failing_job_stops_no_other_and_is_reported(
    ran: list[DictConfig], seeds: str, code: int, capsys: Any
) -> None:
    assert cli.main(["-m", *ORACLE, f"seed={seeds}"]) == code
    assert len(ran) == len(seeds.split(","))
    said = capsys.readouterr().err
    assert ("failed (exit code 1): model=oracle/perfect" in said) == (code == 1)
    assert ("failures recorded" in said) == ("3" in seeds.split(","))


def test_a_job_runs_under_its_own_command(
    monkeypatch: pytest.MonkeyPatch, ran: list[DictConfig]
) -> None:
    # Lightning starts further ranks by running sys.argv again, and leaves their addresses behind.
    seen: list[list[str]] = []

    def run(config: DictConfig, together: object = None) -> int:
        assert "WORLD_SIZE" not in os.environ
        os.environ["WORLD_SIZE"] = "2"
        seen.append(sys.argv[1:])
        return 0

    monkeypatch.setattr(cli, "_run", run)
    before = list(sys.argv)
    assert cli.main(["-m", *ORACLE, "seed=1,2"]) == 0
    assert sys.argv == before
    assert "WORLD_SIZE" not in os.environ
    assert "++seed=2" in seen[1]
    assert seen[1][-1].startswith("run_dir='outputs/sweeps/sweep-")


def test_an_experiment_sweeps_without_a_flag(ran: list[DictConfig]) -> None:
    assert cli.main(["experiment=ablation/num_frames", *ORACLE, "limit=2"]) == 0
    assert [config.sampler.num_frames for config in ran] == [1, 2, 4, 8, 16, 32]
    assert {config.sampler.name for config in ran} == {"nested"}
    assert "/ablation-num_frames/" in ran[0].run_dir
    typed = ran[0].command.overrides
    assert [text for text in typed if "num_frames=" in text] == ["++sampler.num_frames=1"]
    ran.clear()
    assert cli.main(["experiment=ablation/num_frames", "sampler.num_frames=4", *ORACLE]) == 0
    assert [config.sampler.num_frames for config in ran] == [4]


def test_one_fixed_run_dir_is_fine_for_one_job(ran: list[DictConfig]) -> None:
    assert cli.main(["-m", *ORACLE, "run_dir=here"]) == 0
    assert ran[0].run_dir == "here"
