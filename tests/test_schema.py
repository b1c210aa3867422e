"""Misuse explained; identity; what nodes build."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from vbench.composition import conf_dir, plain
from vbench.errors import ConfigError, DataError
from vbench.schema import (
    check,
    compose,
    config_digest,
    identity,
    instantiate,
    run_name,
    write_hydra,
)

MINE = ["dataset=mine", "model=mine", "model.checkpoint=x"]


def error_of(*overrides: str) -> str:
    with pytest.raises(ConfigError) as caught:
        compose(overrides)
    return str(caught.value)


@pytest.mark.parametrize("file", sorted(conf_dir().rglob("*.yaml")), ids=str)
def test_every_node_names_something_that_exists(file: Path) -> None:
    values = yaml.safe_load(file.read_text(encoding="utf-8")) or {}
    if "_target_" in values:
        module, _, name = values["_target_"].rpartition(".")
        assert callable(getattr(__import__(module, fromlist=[name]), name))


@pytest.mark.parametrize(
    ("typed", "parts"),
    [
        (["modle=mine"], ["unknown key 'modle'", "did you mean 'model'"]),
        (["+foo=1"], ["unknown key 'foo'", "one of:"]),
        (["sampler=velociti_20"], ["no sampler 'velociti_20'", "'velociti20'"]),
        (["trainer=cpux"], ["no trainer 'cpux'", "did you mean 'cpu'"]),
        (["model=openai/clip-vit-base-patch32"],
         ["hub", "model=hf/dual_encoder model.checkpoint=openai/clip-vit-base-patch32"]),
        (["model=./my_checkpoint"], ["model.checkpoint=./my_checkpoint"]),
        (["dataset=qa.jsonl"], ["dataset=table dataset.file=qa.jsonl"]),
        (["experiment=stdy"], ["no experiment", "did you mean 'study'"]),
        (["debug=defualt"], ["did you mean 'default'"]),
        (["model.checkpont=x"], ["unknown key", "own_parts.Model", "'checkpoint'"]),
        (["+model.poolin=max"], ["unknown key 'model.poolin'", "'pooling'"]),
        (["model.pooling=maxx"], ["the text 'maxx'", "'mean' or 'max'", "did you mean 'max'"]),
        (["model.scale=big"], ["'model.scale'", "must be a number"]),
        (["model.names=a"], ["must be a list"]),
        (["model.names=[a,1]"], ["must be a list", "a text"]),
        (["model.checkpoint=3"], ["the number 3", "\"model.checkpoint='3'\""]),
        (["model.checkpoint=???"], ["'model.checkpoint' is missing", "add model.checkpoint=…"]),
        (["dataset.num_videos=many"], ["must be a whole number"]),
        (["dataset.num_videos=true"], ["cannot be true", "a whole number"]),
        (["dataset.num_videos={a: 1}"], ["the mapping", "a whole number"]),
        (["loader.batch_siz=3"], ["LoaderSettings", "'batch_size'"]),
        (["trainer.precision=bf16"], ["'bf16-true'"]),
        (["paths.dta=x"], ["unknown key 'paths.dta'", "'data'"]),
        (["seed=abc"], ["'seed'", "a whole number"]),
        (["limit=0"], ["limit", "from 1"]),
        (["limit=2.5"], ["a whole number or null"]),
        (["fresh=maybe"], ["true or false"]),
        (["run_dir=[a]"], ["'run_dir'", "a text or null"]),
        (["~logger"], ["'logger' cannot be taken away", "none, wandb"]),
        (["sampler=null"], ["'sampler' cannot be taken away"]),
        (["seed=1,2"], ["several values", "-m"]),
        (["sampler=fps,middle"], ["several values", "-m"]),
        (["limit"], ["cannot read 'limit'", "key=value"]),
        (["limit=[1"], ["cannot read 'limit=[1'"]),
        (["limit=${nothing}"], ["'nothing' not found", "limit"]),
        (["model._target_=own_parts.Modle"], ["own_parts has no 'Modle'", "'Model'"]),
        (["model._target_=nowhere.Model"], ["No module named 'nowhere'"]),
        (["model=empty"], ["'model' builds nothing", "_target_"]),
        (["model=oracle/random", "model.checkpoint=x"], ["unknown key", "clip_b32, "]),
        (["sampler=velociti20", "sampler.num_frames=8"], ["left_edge", "uniform_midpoints"]),
        (["model=relative"], ["'model' builds nothing", "/model/hf/NAME@_here_"]),
        (["model=broken"], ["not valid YAML", "broken.yaml, line 1"]),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else None,
)  # fmt: skip
def test_misuse_is_explained(own_conf: Path, typed: list[str], parts: list[str]) -> None:
    message = error_of(*MINE, *typed)
    assert [part for part in parts if part not in message] == [], message
    assert "where:" in message
    assert "mend:" in message


def test_a_plain_default_that_is_missing_names_the_key(own_conf: Path) -> None:
    assert "'model.checkpoint' is missing" in error_of("dataset=mine", "model=mine")


def test_instantiate_passes_a_users_error_through(own_conf: Path) -> None:
    with pytest.raises(DataError, match="no such file"):
        instantiate(compose(["dataset=mine", "model=missing"]), "model")


def test_instantiate_names_the_node_of_another_error(own_conf: Path) -> None:
    with pytest.raises(ConfigError, match=r"RuntimeError: boom") as caught:
        instantiate(compose(["dataset=mine", "model=buggy"]), "model")
    assert "model (own_parts.Buggy)" in str(caught.value)


def test_instantiate_hands_over_plain_values(own_conf: Path) -> None:
    model = instantiate(compose([*MINE, "model.names=[a,b]"]), "model", scale=3.0)
    assert type(model.names) is list
    assert model.names == ["a", "b"]


def test_write_hydra_leaves_config_and_overrides(own_conf: Path) -> None:
    config = compose([*MINE, "seed=4"])
    write_hydra(config, own_conf / "run")
    written = yaml.safe_load((own_conf / "run/.hydra/config.yaml").read_text())
    assert written["seed"] == 4
    assert yaml.safe_load((own_conf / "run/.hydra/overrides.yaml").read_text())[-1] == "seed=4"


def test_write_hydra_leaves_no_half_file(own_conf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def killed(config: object, file: Path) -> None:
        file.write_text("half")
        raise KeyboardInterrupt

    monkeypatch.setattr("omegaconf.OmegaConf.save", killed)
    with pytest.raises(KeyboardInterrupt):
        write_hydra(compose(MINE), own_conf / "run")
    assert not list((own_conf / "run").rglob("*.yaml"))


@pytest.mark.parametrize(
    "typed",
    ["trainer.devices=2", "loader.batch_size=9", "logger=none", "run_dir=elsewhere", "fresh=true",
     "trainer=cpu", "sweep=name", "paths.outputs=there"],
)  # fmt: skip
def test_what_cannot_change_a_score_keeps_the_run_id(own_conf: Path, typed: str) -> None:
    assert config_digest(compose([*MINE, typed])) == config_digest(compose(MINE))


@pytest.mark.parametrize(
    "typed",
    ["model.scale=2", "sampler=fps", "limit=3", "seed=1", "trainer.precision=bf16-true",
     "prompt=question_option", "metric=velociti"],
)  # fmt: skip
def test_what_can_change_a_score_changes_the_run_id(own_conf: Path, typed: str) -> None:
    assert config_digest(compose([*MINE, typed])) != config_digest(compose(MINE))


def test_run_names_need_no_quoting(own_conf: Path) -> None:
    config = compose([*MINE, "sampler=fps"])
    config.command.choices.model = "odd/name=[a,b] c"
    name = run_name(config)
    assert name == f"mine/odd-name-a-b-c/fps-{config_digest(config)}"


def test_identity_tells_keys_apart() -> None:
    values = {"a": {"b": 1, "c": {}}, "trainer": {"devices": 2, "precision": "32-true"}}
    assert identity(values) == {"a.b": 1, "a.c": {}, "trainer.precision": "32-true"}


def test_check_reads_a_config_changed_by_hand(own_conf: Path) -> None:
    config = compose(MINE)
    config.limit = "big"
    with pytest.raises(ConfigError, match="limit"):
        check(config)
    assert plain(config)["limit"] == "big"
