"""Composition, checks against signatures, identity."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from vbench.composition import conf_dir, plain, sweep_overrides, vocabulary
from vbench.errors import ConfigError, DataError
from vbench.overrides import jobs
from vbench.schema import (
    check,
    compose,
    config_digest,
    identity,
    instantiate,
    run_name,
    write_hydra,
)
from vbench.signatures import check_arguments, describe_hint, fits, signature_of

PARTS = """
from typing import Literal
from vbench.errors import DataError

class Data:
    def __init__(self, root: str | None = None, num_videos: int = 10): ...
class Model:
    def __init__(self, checkpoint: str, pooling: Literal["mean", "max"] = "mean",
                 scale: float = 1.0, names: list[str] | None = None):
        self.checkpoint, self.names = checkpoint, names
class Metric: ...
class Missing:
    def __init__(self): raise DataError("no such file", where="a.csv", mend="write it")
class Buggy:
    def __init__(self): raise RuntimeError("boom")
"""

CONFIGS = {
    "dataset/mine": "defaults:\n  - override /metric@_global_.metric: accuracy\n\n"
    "_target_: own_parts.Data\nroot: ${paths.data}/mine\n",
    "model/mine": "_target_: own_parts.Model\ncheckpoint: ???\n",
    "model/missing": "_target_: own_parts.Missing\n",
    "model/buggy": "_target_: own_parts.Buggy\n",
    "model/empty": "checkpoint: x\n",
    "model/broken": "_target_: a: b\n",
    "experiment/study": "# @package _global_\ndefaults:\n  - override /sampler: fps\n\nlimit: 3\n",
    "experiment/swept": "# @package _global_\nhydra:\n  mode: MULTIRUN\n  sweeper:\n    params:\n"
    "      seed: 1,2\n",
}
MINE = ["dataset=mine", "model=mine", "model.checkpoint=x"]


@pytest.fixture
def own_conf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user's folder with a ./conf and a module of theirs."""
    for name, text in CONFIGS.items():
        file = tmp_path / "conf" / f"{name}.yaml"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    (tmp_path / "own_parts.py").write_text(PARTS)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "own_parts", raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def error_of(*overrides: str) -> str:
    with pytest.raises(ConfigError) as caught:
        compose(overrides)
    return str(caught.value)


def test_own_configs_join_and_are_announced(own_conf: Path, capsys: Any) -> None:
    config = compose(MINE)
    assert config.command.choices.model == "mine"
    assert config.command.overrides == MINE
    assert "hydra" not in config
    assert str(own_conf / "conf") in capsys.readouterr().err


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


def target(
    count: int, ratio: float = 1.0, mode: Literal["a", "b"] | None = None, **rest: object
) -> None:
    """Stands for what a node may build."""


def test_open_ended_targets_take_unknown_keys() -> None:
    check_arguments({"count": 1, "anything": 2}, target, "node")
    with pytest.raises(ConfigError, match=r"'node\.count' is missing"):
        check_arguments({"anything": 2}, target, "node")


def test_hints_for_type_checkers_only_hide_nothing() -> None:
    def later(size: int, module: NotImportable) -> None:  # type: ignore[name-defined]
        ...

    hints = signature_of(later).hints
    assert (hints["size"], hints["module"]) == (int, Any)


@pytest.mark.parametrize(
    ("value", "hint", "expected"),
    [
        (1, int, True), (1.0, int, False), (True, int, False), (1, float, True),
        (False, float, False), ([1], tuple[int, str], False), (object(), Any, True),
        ("a", str, True), (1, str, False), (None, str, False), (None, str | None, True),
        ([1, 2], tuple[int, ...], True), ([1, "a"], tuple[int, str], True),
        ("ab", Sequence[str], False), ({"a": 1}, Mapping[str, int], True),
        ({"a": "x"}, Mapping[str, int], False), ([1], dict[str, int], False), ("p", Path, True),
        (3, Path, False), ({"_target_": "x.Y"}, int, True), (1, Literal[True], False),
    ],
)  # fmt: skip
def test_fits(value: object, hint: Any, expected: bool) -> None:
    assert fits(value, hint) is expected


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(), st.lists))
def test_a_value_fits_a_union_when_it_fits_a_member(value: object) -> None:
    members = (int, float, str, bool, None, list)
    assert fits(value, int | float | str | bool | list | None)
    for hint in members:
        if fits(value, hint or type(None)):
            assert fits(value, (hint or type(None)) | Path)


def test_descriptions_are_plain_words() -> None:
    assert describe_hint(list[str]) == "a list [a, b, …] of a text each"
    assert describe_hint(Path) == "a path"
    assert describe_hint(dict[str, int]) == "a mapping {key: value}"
