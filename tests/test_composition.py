"""Composition: where configs come from, which words exist, what is swept."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from vbench.composition import conf_dir, sweep_overrides, vocabulary
from vbench.errors import ConfigError
from vbench.overrides import jobs
from vbench.schema import compose

MINE = ["dataset=mine", "model=mine", "model.checkpoint=x"]


def test_own_configs_join_and_are_announced(own_conf: Path, capsys: Any) -> None:
    config = compose(MINE)
    assert config.command.choices.model == "mine"
    assert config.command.overrides == MINE
    assert "hydra" not in config
    assert str(own_conf / "conf") in capsys.readouterr().err


def test_classes_may_lie_beside_the_conf_that_names_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The console script does not look in the working directory; what is installed goes first."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.chdir(tmp_path)
    module = tmp_path / "beside_conf.py"
    module.write_text("class Model:\n    def __init__(self, size: int): ...\n")
    file = tmp_path / "conf" / "model" / "beside.yaml"
    with pytest.raises(ConfigError):
        compose(["model=beside"])
    file.parent.mkdir(parents=True)
    file.write_text("_target_: beside_conf.Model\nsize: 3\n")
    assert compose(["model=beside"]).model.size == 3
    with pytest.raises(ConfigError, match=r"model\.size"):
        compose(["model=beside", "model.size=large"])
    assert sys.path.index(str(tmp_path)) == len(sys.path) - 1


def test_a_config_hidden_by_a_builtin_one_is_announced(own_conf: Path, capsys: Any) -> None:
    twin = own_conf / "conf" / "prompt" / "option_only.yaml"
    twin.parent.mkdir()
    twin.write_text("_target_: own_parts.Metric\n")
    config = compose(MINE)
    assert config.prompt._target_ == "vbench.prompts.OptionOnly"
    said = capsys.readouterr().err
    assert str(twin) in said
    assert "rename" in said


@pytest.mark.parametrize(("typed", "metric"), [([], "accuracy"), (["metric=velociti"], "velociti")])
def test_a_dataset_sets_the_metric_and_the_command_wins(
    own_conf: Path, typed: list[str], metric: str
) -> None:
    assert compose([*MINE, *typed]).command.choices.metric == metric


@pytest.mark.parametrize(
    "spelling", ["experiment=study", "+experiment=study", "++experiment=study"]
)
def test_experiments_in_any_spelling(own_conf: Path, spelling: str) -> None:
    config = compose([*MINE, spelling])
    assert (config.limit, config.command.choices.sampler) == (3, "fps")
    assert compose([*MINE, spelling, "limit=5", "sampler=middle"]).limit == 5


@pytest.mark.parametrize("spelling", ["model.scale=2", "+model.scale=2", "++model.scale=2"])
def test_keys_that_the_yaml_leaves_out_need_no_plus(own_conf: Path, spelling: str) -> None:
    assert compose([*MINE, spelling]).model.scale == 2


def test_no_folder_but_conf_is_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert vocabulary().choices["logger"] == ["none", "wandb"]


def test_every_builtin_debug_and_experiment_composes(own_conf: Path) -> None:
    for group in ("debug", "experiment"):
        for file in (conf_dir() / group).rglob("*.yaml"):
            name = file.relative_to(conf_dir() / group).with_suffix("").as_posix()
            assert compose([*MINE, f"{group}={name}"]).command.choices[group] == name


def test_sweeps_are_multiplied_out_in_order(own_conf: Path) -> None:
    swept = sweep_overrides([*MINE, "sampler=fps,middle", "seed=1,2"], asked=True)
    assert swept is not None
    assert [job[-2:] for job in jobs(swept)] == [
        [f"sampler={sampler}", f"++seed={seed}"] for sampler in ("fps", "middle") for seed in (1, 2)
    ]


def test_an_experiment_may_ask_for_its_own_sweep(own_conf: Path) -> None:
    assert sweep_overrides(MINE, asked=False) is None
    swept = sweep_overrides([*MINE, "experiment=swept"], asked=False)
    assert swept is not None
    assert [job[0] for job in jobs(swept)] == ["++seed=1", "++seed=2"]


def test_typing_a_swept_key_replaces_the_experiments_values(own_conf: Path) -> None:
    swept = sweep_overrides([*MINE, "experiment=swept", "seed=5,6,7"], asked=False)
    assert swept is not None
    assert [job[0] for job in jobs(swept)] == ["++seed=5", "++seed=6", "++seed=7"]


def test_the_jobs_of_one_model_follow_one_another(own_conf: Path) -> None:
    typed = ["experiment=swept", "sampler=fps,middle", "model=oracle/perfect,oracle/random"]
    swept = sweep_overrides([*MINE[1:], *typed], asked=True)
    assert swept is not None
    models = [job[0] for job in jobs(swept)]
    assert models == ["model=oracle/perfect"] * 4 + ["model=oracle/random"] * 4


@pytest.mark.parametrize(
    ("typed", "scorer", "prompt"),
    [
        (["scorer=entailment"], "entailment", "velociti_v2"),
        (["scorer=letters"], "letters", "options"),
        (["scorer=entailment", "prompt=videocon"], "entailment", "videocon"),
        (["model=talking"], "pair_choice", "velociti_v2_mcq"),
        (["model=talking", "prompt=pair"], "pair_choice", "pair"),
        (["model=talking", "scorer=entailment"], "entailment", "velociti_v2"),
        (["model=particular"], "entailment", "short_entailment"),
    ],
)
def test_a_scorer_brings_its_prompt_a_model_its_scorer_and_the_command_wins(
    own_conf: Path, typed: list[str], scorer: str, prompt: str
) -> None:
    head = "_target_: own_parts.Model\ncheckpoint: x\ndefaults:\n"
    choose = "  - override /scorer@_global_.scorer: "
    (own_conf / "conf/model/talking.yaml").write_text(f"{head}{choose}pair_choice\n")
    own_prompt = "  - override /prompt@_global_.prompt: short_entailment\n"
    (own_conf / "conf/model/particular.yaml").write_text(f"{head}{choose}entailment\n{own_prompt}")
    choices = compose(["dataset=mine", "model=mine", "model.checkpoint=x", *typed]).command.choices
    assert (choices.scorer, choices.prompt) == (scorer, prompt)
