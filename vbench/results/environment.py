"""environment.json: where a run's numbers were made."""

from __future__ import annotations

import os
import platform
import subprocess
from importlib import metadata
from pathlib import Path

PACKAGES = (
    "vbench-eval", "torch", "torchvision", "transformers", "tokenizers", "lightning", "av", "numpy",
    "pillow", "open_clip_torch", "timm", "pandas", "pyarrow", "scipy", "wandb", "hydra-core",
)  # fmt: skip


def environment(**details: object) -> dict[str, object]:
    """Returns versions, commit, machine and the details given; nothing secret, no variables.

    Args:
        **details: What the run itself knows: device, dtype, model identity.
    """
    import torch

    gpu = torch.cuda.get_device_name() if torch.cuda.is_available() else None
    return {
        "packages": {name: version for name in PACKAGES if (version := _version(name))},
        "python": platform.python_version(),
        "platform": platform.platform(),
        "cpu_count": os.cpu_count(),
        "gpu": gpu,
        "git": _git(Path(__file__).parent),
        **details,
    }


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _git(folder: Path) -> dict[str, object] | None:
    """Returns vbench's own commit when it runs from a checkout, else None."""

    def ask(*words: str) -> str:
        command = ["git", "-C", str(folder), *words]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    try:
        return {"commit": ask("rev-parse", "HEAD"), "dirty": bool(ask("status", "--porcelain"))}
    except (OSError, subprocess.CalledProcessError):
        return None
