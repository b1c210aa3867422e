"""conf/model names real classes with real arguments, and what the papers evaluated."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hydra import compose, initialize_config_dir
from hydra.utils import get_object
from omegaconf import OmegaConf

from vbench.errors import ConfigError
from vbench.signatures import check_arguments

PUBLISHED = {
    "clip_b32": {"checkpoint": "openai/clip-vit-base-patch32"},
    "clip_l14": {"checkpoint": "openai/clip-vit-large-patch14"},
    "siglip_b16": {"checkpoint": "google/siglip-base-patch16-224"},
    "siglip_l16_256": {"checkpoint": "google/siglip-large-patch16-256"},
    "eva_clip_l14": {"arch": "EVA02-L-14", "pretrained": "merged2b_s4b_b131k", "activation": None},
    "negclip_b32": {"arch": "ViT-B-32", "activation": "gelu"},
    "vifi_clip_b16": {"base": "openai/clip-vit-base-patch16"},
}
WHOLE = {
    "clip_vip_b32": {"base": "openai/clip-vit-base-patch32", "processing": "clip_vip"},
    "clip_vip_b16": {"base": "openai/clip-vit-base-patch16", "processing": "clip_vip"},
}
"""They see a clip's frames together, so nothing is pooled."""
ASKS = {
    "hf/dual_encoder": "checkpoint",
    "open_clip": "arch",
    "negclip_b32": "pretrained",
    "vifi_clip_b16": "checkpoint",
    "clip_vip_b32": "checkpoint",
    "clip_vip_b16": "checkpoint",
}


def compose_model(repository: Path, name: str) -> dict[str, Any]:
    with initialize_config_dir(str(repository / "conf"), version_base="1.3"):
        config = compose(overrides=["+sampler=velociti20", f"+model={name}"])
    node: dict[str, Any] = OmegaConf.to_container(config.model)
    return node


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_checkpoints(name: str, repository: Path) -> None:
    node = compose_model(repository, name)
    assert PUBLISHED[name].items() <= node.items()
    assert node["pooling"] == "mean_then_normalise"  # as VELOCITI's evaluation does


@pytest.mark.parametrize("name", WHOLE)
def test_published_checkpoints_that_see_clips_whole(name: str, repository: Path) -> None:
    node = compose_model(repository, name)
    assert WHOLE[name].items() <= node.items()
    assert "pooling" not in node


@pytest.mark.parametrize(
    "name",
    [
        *PUBLISHED,
        *WHOLE,
        "hf/dual_encoder",
        "open_clip",
        "toy/clip",
        "vera",
        "vera_base",
        "hf/causal_lm",
    ],
)
def test_keys_fit_the_class_and_none_is_left_out(name: str, repository: Path) -> None:
    node = compose_model(repository, name)
    target = get_object(node["_target_"])
    given = {key: "x" if value == "???" else value for key, value in node.items()}
    check_arguments(given, target, "model")
    assert set(given) - {"_target_"} == set(target.__init__.__annotations__) - {"return"}


@pytest.mark.parametrize("name", ASKS)
def test_what_must_be_given_is_asked_for(name: str, repository: Path) -> None:
    node = compose_model(repository, name)
    with pytest.raises(ConfigError, match=f"'model.{ASKS[name]}' is missing"):
        check_arguments(node, get_object(node["_target_"]), "model")


def test_a_choice_that_does_not_exist(repository: Path) -> None:
    node = compose_model(repository, "clip_b32") | {"pooling": "mean_then_normalize"}
    with pytest.raises(ConfigError) as caught:
        check_arguments(node, get_object(node["_target_"]), "model")
    assert "did you mean 'mean_then_normalise'" in caught.value.mend
