"""What a checkpoint's own files say about the frames it wants, read without its libraries."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from vbench.checkpoints import Checkpoint, find_checkpoint
from vbench.errors import ModelError

_FILES = ("processor_config.json", "video_preprocessor_config.json", "preprocessor_config.json")
"""Where transformers looks for a video processor's settings, the newest layout first."""


def video_settings(checkpoint: str, revision: str | None = None) -> dict[str, Any]:
    """Returns the settings of a checkpoint's video processor, as its files have them.

    Args:
        checkpoint: A folder, `pkg://package/folder`, or a hub id `owner/name`.
        revision: Branch, tag or commit of a hub id; None: its default branch.

    Returns:
        The settings; `video_processor_type` among them where the files name it, else
        `processor_class`.

    Raises:
        ModelError: There is no such checkpoint, or none of its files has such settings.
    """
    found = find_checkpoint(checkpoint, revision)
    for name in _FILES:
        content = _read(found, name)
        nested = content.get("video_processor")
        if isinstance(nested, Mapping):
            return {"processor_class": content.get("processor_class"), **nested}
        if name != "processor_config.json" and content:
            return content
    raise ModelError(
        "the checkpoint does not say how it processes videos",
        where=f"checkpoint {checkpoint}",
        why=f"it has none of {', '.join(_FILES)}, or they are empty",
        mend="choose a sampler by name instead of sampler=native",
    )


def _read(checkpoint: Checkpoint, name: str) -> dict[str, Any]:
    path = _fetch(checkpoint, name)
    if path is None or not path.is_file():
        return {}
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ModelError(
            f"{name} cannot be read",
            where=f"checkpoint {checkpoint.name}",
            why=" ".join(str(error).split()),
            mend="fetch the checkpoint again",
        ) from error
    return content if isinstance(content, dict) else {}


def _fetch(checkpoint: Checkpoint, name: str) -> Path | None:
    if checkpoint.revision is None:
        return Path(checkpoint.source) / name
    from huggingface_hub import errors, hf_hub_download

    try:
        return Path(
            hf_hub_download(
                checkpoint.source,
                name,
                revision=checkpoint.revision,
                local_files_only=checkpoint.local_files_only,
            )
        )
    except (errors.EntryNotFoundError, errors.LocalEntryNotFoundError):
        return None
    except Exception as error:
        # No network, a proxy, a gate: each HTTP library has errors of its own.
        raise ModelError(
            f"{name} cannot be fetched",
            where=f"checkpoint {checkpoint.name}",
            why=" ".join(str(error).split())[:300],
            mend="check the network, or choose a sampler by name instead of sampler=native",
        ) from error
