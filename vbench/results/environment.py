"""environment.json: what a run's numbers are about, and where its answers were made."""

from __future__ import annotations

import json
import os
import platform
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

from vbench.records import Prediction
from vbench.results.store import RunFolder, write_json
from vbench.schema import flatten

PACKAGES = (
    "vbench-eval", "torch", "torchvision", "transformers", "tokenizers", "lightning", "av", "numpy",
    "pillow", "open_clip_torch", "timm", "pandas", "pyarrow", "scipy", "wandb", "hydra-core",
)  # fmt: skip


@dataclass(frozen=True)
class AnsweredHere:
    """A run folder that keeps with every answer where it was made, which no later reader knows."""

    folder: RunFolder
    model: Any
    device: str
    """As torch names its type."""
    devices: int

    def write_predictions(self, rows: Sequence[Prediction], rank: int) -> None:
        """Writes rows; what has failed was answered nowhere."""
        made = [self._here(rows)] if any(row.status == "ok" for row in rows) else []
        self.folder.write_predictions(rows, rank, made)

    def _here(self, rows: Sequence[Prediction]) -> dict[str, object]:
        return {
            **machine(),
            "weight_dtype": ", ".join(sorted(self._dtypes(rows))) or None,
            "device": self.device,
            "devices": self.devices,
            "tf32": self.device == "cuda" and _tf32(),
        }

    def _dtypes(self, rows: Sequence[Prediction]) -> set[str]:
        """Returns what a language model says with its replies, else what the weights are in."""
        if said := {row.reply.dtype for row in rows if row.reply and row.reply.dtype}:
            return said
        weights = getattr(self.model, "module", None)  # loaded: they have just answered
        if weights is None:
            return set()
        return {str(weight.dtype).removeprefix("torch.") for weight in weights.parameters()}


def write_environment(folder: RunFolder, facts: Mapping[str, object]) -> None:
    """Writes environment.json.

    Args:
        folder: The run folder; its answers know where they were made.
        facts: What the numbers are about: data, model, precision.
    """
    scored_by = {"vbench-eval": _version("vbench-eval"), "git": machine()["git"]}
    told = {**facts, "answered": folder.made(), "scored_by": scored_by}
    write_json(folder.path / "environment.json", told)


def read_environment(folder: Path) -> dict[str, Any]:
    """Returns a run's environment.json with what is said of each place said of the run.

    A fact that is another in another place is all of them: `{"gpu": "H200 | none", …}`.

    Args:
        folder: The run folder.

    Returns:
        Places under dotted keys, the rest as it stands; nothing where the file cannot be read.
    """
    try:
        told = dict(json.loads((folder / "environment.json").read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return {}
    places = [dict(flatten(place)) for place in told.pop("answered", [])]
    for key in dict.fromkeys(key for place in places for key in place):
        values = [place.get(key) for place in places]
        said = dict.fromkeys("none" if value is None else str(value) for value in values)
        told[key] = values[0] if len(said) == 1 else " | ".join(said)
    return told


@cache
def machine() -> dict[str, object]:
    """Returns versions, commit and machine; nothing secret, no variables."""
    import torch

    return {
        "packages": {name: version for name in PACKAGES if (version := _version(name))},
        "python": platform.python_version(),
        "platform": platform.platform(),
        "cpu_count": os.cpu_count(),
        "gpu": torch.cuda.get_device_name() if torch.cuda.is_available() else None,
        "git": _git(Path(__file__).parent),
    }


def _tf32() -> bool:
    import torch

    return torch.backends.cudnn.allow_tf32 or torch.backends.cuda.matmul.allow_tf32


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
