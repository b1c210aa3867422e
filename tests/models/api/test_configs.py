from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hydra.utils import get_object

from vbench.errors import ConfigError
from vbench.schema import compose, config_digest, instantiate, plain

NAMES = ["model=openai_api", "model=gemini"]


def node(name: str, *more: str) -> dict[str, Any]:
    given = ["model.name=x"] if name == "model=openai_api" else []
    found: dict[str, Any] = plain(compose([name, *given, *more]))["model"]  # type: ignore[assignment]
    return found


def leaves(found: dict[str, Any]) -> list[dict[str, Any]]:
    return [found, *(v for v in found.values() if isinstance(v, dict) and "_target_" in v)]


@pytest.mark.parametrize("name", NAMES)
def test_every_argument_has_a_key(name: str) -> None:
    for part in leaves(node(name)):
        target = get_object(part["_target_"])
        assert set(part) - {"_target_"} == set(target.__init__.__annotations__) - {"return"}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("word", ["generation=short", "generation=greedy", "visual=none"])
def test_words_that_language_models_share(name: str, word: str) -> None:
    given = ["model.name=x"] if name == "model=openai_api" else []
    model = instantiate(compose([name, word, *given]), "model")
    assert model.needs == {"text"} or word != "visual=none"


def test_a_name_is_asked_for() -> None:
    with pytest.raises(ConfigError, match=r"'model\.name' is missing"):
        compose(["model=openai_api"])


@pytest.mark.parametrize(
    ("word", "changes"),
    [
        ("model.calling.max_usd=3.0", False), ("model.calling.max_concurrency=2", False),
        ("model.api_key_env=MINE", False), ("model.generation.seed=1", True),
        ("model.images.quality=50", True), ("model.base_url=http://a/v1", True),
    ],
)  # fmt: skip
def test_patience_and_purse_are_no_part_of_a_runs_identity(word: str, changes: bool) -> None:
    fixed = ["model=openai_api", "model.name=x"]
    prices = ["model.calling.usd_per_million={input: 1.0, output: 1.0}"]
    plainly = config_digest(compose([*fixed, *prices]))
    assert (config_digest(compose([*fixed, *prices, word])) != plainly) == changes


def test_the_journal_lies_in_the_cache(tmp_path: Path) -> None:
    found = node("model=gemini", f"paths.cache={tmp_path}")
    assert found["calling"]["journal"] == f"{tmp_path}/replies.sqlite"
