"""The files that PandaGPT lies in, and the names of their weights.

Put together in one folder they are a checkpoint: Vicuna 7B v0 in the layout of transformers, with
its config and tokenizer; `imagebind_huge.pth`; and `pytorch_model.pt`, which its authors trained: a
projection and a LoRA, whose scale the file does not say.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from torch import Tensor

from vbench.checkpoints import Checkpoint
from vbench.errors import ModelError
from vbench.models.loading import explained
from vbench.models.vlm.lora import read_shards
from vbench.models.weight_file import State, read_state

IMAGEBIND = "imagebind_huge.pth"
DELTA = "pytorch_model.pt"

_WRAPPED = "language_model.base_model.model."
_VISION = re.compile(r"modality_(preprocessors|trunks|heads)\.vision\.")


def is_pandagpt(checkpoint: Checkpoint) -> bool:
    """Whether a folder holds what PandaGPT's authors publish.

    Raises:
        ModelError: ImageBind is missing.
    """
    folder = Path(checkpoint.source)
    if checkpoint.revision is not None or not (folder / DELTA).is_file():
        return False
    if not (folder / IMAGEBIND).is_file():
        raise ModelError(
            f"{IMAGEBIND} is missing",
            where=f"checkpoint {checkpoint.name}",
            why=f"{DELTA} lies there, which is PandaGPT's, and PandaGPT sees with ImageBind",
            mend=f"put it there: https://dl.fbaipublicfiles.com/imagebind/{IMAGEBIND}",
        )
    return True


def read_weights(checkpoint: Checkpoint) -> State:
    """Returns all weights, the LoRA beside those that it changes, as PEFT wraps them.

    Args:
        checkpoint: The folder.

    Raises:
        ModelError: A file cannot be read.
    """
    folder = Path(checkpoint.source)
    with explained(checkpoint.name, "weights"):
        language = read_shards(checkpoint)
    state = {f"{_WRAPPED}{name}": value for name, value in language.items()}
    return state | _seen(read_state(folder / IMAGEBIND)) | _trained(read_state(folder / DELTA))


def _seen(state: Mapping[str, Tensor]) -> State:
    """Leaves out what ImageBind hears, reads and measures with."""
    return {f"visual_encoder.{name}": value for name, value in state.items() if _VISION.match(name)}


def _trained(state: Mapping[str, Tensor]) -> State:
    return {re.sub(r"^llama_model\.", "language_model.", name): state[name] for name in state}
