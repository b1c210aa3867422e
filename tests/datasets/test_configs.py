"""The YAML files of datasets say the same as the classes they name."""

from dataclasses import MISSING, fields
from importlib import import_module
from pathlib import Path

import pytest
import yaml

CONF = Path(__file__).parents[2] / "conf/dataset"
FILES = [
    "table",
    "velociti/toy",
    "velociti/v1",
    "velociti/v2",
    "velociti/human_subset",
    "velociti/from_vidsitu",
    "velociti/filtered",
    "videobench/toy",
    "questions",
]


@pytest.mark.parametrize("name", FILES)
def test_keys_and_defaults_match_the_class(name: str) -> None:
    config = yaml.safe_load((CONF / f"{name}.yaml").read_text())
    config.pop("defaults", None)
    module, _, kind = config.pop("_target_").rpartition(".")
    known = {field.name: field for field in fields(getattr(import_module(module), kind))}
    assert set(config) | {"name"} == set(known)
    assert known["name"].default == name
    for key, value in config.items():
        field = known[key]
        default = field.default_factory() if callable(field.default_factory) else field.default
        if default is not MISSING and not str(value).startswith("${"):
            assert value == (list(default) if isinstance(default, tuple) else default), key
