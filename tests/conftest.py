"""What all tests share: no network, no threads beyond the workers, and where outside data lie."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

# A loaded machine is no failure, and examples leave no folder behind.
settings.register_profile("vbench", deadline=None, database=None)
settings.load_profile("vbench")

# Before torch, transformers or wandb are imported by any test.
os.environ.update(WANDB_MODE="offline", HF_HUB_OFFLINE="1", TOKENIZERS_PARALLELISM="false")
os.environ.setdefault("OMP_NUM_THREADS", "1")

REPOSITORY = Path(__file__).parents[1]


@pytest.fixture(scope="session")
def repository() -> Path:
    return REPOSITORY


@pytest.fixture(scope="session")
def shared() -> Path:
    """Published data that may not be copied into the repository; absent on most machines."""
    folder = Path(os.environ.get("VBENCH_SHARED", REPOSITORY.parent / "shared"))
    if not (folder / "data").is_dir():
        pytest.skip(f"no published data in {folder}; set VBENCH_SHARED to the folder with data/")
    return folder
