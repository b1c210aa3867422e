"""Hands tests the tiny models of tiny.py, and plain passes to hold everything else against."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch

_NAME = "tests_models_vlm"
"""Under this name the modules of this folder find one another."""


def load(name: str) -> ModuleType:
    if _NAME not in sys.modules:
        package = ModuleType(_NAME)
        package.__path__ = [str(Path(__file__).parent)]
        sys.modules[_NAME] = package
    return importlib.import_module(f"{_NAME}.{name}")


def load_tiny() -> ModuleType:
    return load("tiny")


@pytest.fixture(scope="session")
def tiny() -> ModuleType:
    return load_tiny()


@pytest.fixture(scope="session")
def folders() -> ModuleType:
    """Writes tiny checkpoints."""
    return load("folders")


@pytest.fixture(scope="session")
def checkpoint(folders: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Returns the folder of a tiny checkpoint, written once."""
    known: dict[str, Path] = {}

    def find(name: str) -> Path:
        if name not in known:
            known[name] = folders.save(name, tmp_path_factory.mktemp("checkpoints") / name)
        return known[name]

    return find


@pytest.fixture(scope="session")
def plainly() -> Any:
    """Scores one continuation by one pass of the whole model, in the simplest way there is."""

    def log_prob(
        vlm: Any, prompt: tuple[int, ...], continuation: tuple[int, ...], video: Mapping[str, Any]
    ) -> float:
        ids = torch.tensor([prompt + continuation])
        if hasattr(vlm.model, "model") and hasattr(vlm.model.model, "rope_deltas"):
            vlm.model.model.rope_deltas = None
        with torch.no_grad():
            logits = vlm.model(input_ids=ids, **video, **vlm.rest(ids.tolist())).logits
        found = logits[0].double().log_softmax(-1)
        places = range(len(prompt) - 1, len(ids[0]) - 1)
        return sum(found[at, ids[0, at + 1]].item() for at in places)

    return log_prob
