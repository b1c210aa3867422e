"""The story of `vbench build`: a dataset that can generate its files writes them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from omegaconf import open_dict

from vbench.errors import ConfigError
from vbench.schema import check, instantiate

if TYPE_CHECKING:
    from omegaconf import DictConfig


def build(config: DictConfig) -> Path:
    """Builds the dataset of a composed `build` command.

    Args:
        config: From `schema.compose(…, "build")`. Its keys num_videos, seed and render, where
            given, go to the dataset.

    Returns:
        Where the dataset was written.

    Raises:
        ConfigError: The dataset is none that vbench can generate, or does not know such a key.
        DataError: It cannot be written.
    """
    with open_dict(config):
        for key in ("num_videos", "seed", "render"):
            if config[key] is not None:
                config.dataset[key] = config[key]
        if config.dataset.get("render", False) is None:
            config.dataset.render = True  # who builds wants the videos, unless told otherwise
    check(config, "build")
    dataset = instantiate(config, "dataset")
    if not hasattr(dataset, "build"):
        raise ConfigError(
            f"dataset={config.command.choices.dataset} is not generated",
            where=f"dataset ({config.dataset._target_})",
            why="it reads files that exist already",
            mend="point its own keys at them and evaluate; `vbench build` is for velociti/toy",
        )
    return Path(dataset.build())
