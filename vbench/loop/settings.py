"""The knobs of the loop that cannot change a score, and the one that can: precision."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Literal

from vbench.errors import ConfigError

Precision = Literal["32-true", "bf16-true", "16-true", "bf16-mixed", "16-mixed"]
"""Lightning's words. `x-true`: weights and arithmetic in x; `x-mixed`: fp32 weights, autocast."""

_NO_CPU = {
    "16-mixed": "Lightning would compute in bfloat16 instead and the record would be wrong",
    "16-true": "few CPUs compute in float16: torch emulates it, many times slower than 32-true",
}


@dataclass(frozen=True)
class TrainerSettings:
    """Where and in what arithmetic the model runs (conf/trainer)."""

    accelerator: Literal["auto", "cpu", "gpu"] = "auto"
    devices: int = 1
    num_nodes: int = 1
    precision: Precision = "32-true"

    def __post_init__(self) -> None:
        if self.devices < 1 or self.num_nodes < 1:
            raise ConfigError(
                "trainer.devices and trainer.num_nodes count from 1",
                where=f"trainer.devices={self.devices} trainer.num_nodes={self.num_nodes}",
                mend="use 1 for a single process",
            )
        check_precision(self.precision, self.accelerator)


def check_precision(precision: str, device: str) -> None:
    """Refuses float16 on a CPU.

    Args:
        precision: `trainer.precision`.
        device: Where the model runs, as torch names it; `auto` is not known yet and may be a GPU.

    Raises:
        ConfigError: It is.
    """
    if device == "cpu" and precision in _NO_CPU:
        raise ConfigError(
            f"trainer.precision={precision} is not for a CPU",
            where="trainer.precision",
            why=_NO_CPU[precision],
            mend="use trainer.precision=bf16-mixed, bf16-true or 32-true, or trainer=gpu where "
            "there is one",
        )


@dataclass(frozen=True)
class LoaderSettings:
    """How work is fed to the model (conf/loader)."""

    batch_size: int = 4
    """Files per step."""
    num_workers: int | None = None
    """Decode processes per device; None: the cores that are left beside the model's own, 1 to 8;
    0: the loop's own process decodes, and nothing can stop a decoder that hangs or crashes."""
    decode_timeout_s: float = 600.0
    """A file that takes a decode process longer is recorded as failed, and the process killed."""
    frames_per_batch: int = 32
    """Frames per forward pass of an encoder."""
    texts_per_batch: int = 64
    flush_seconds: float = 5.0
    """Answers older than this are on disk."""

    decode: Literal["planned", "sequential"] = "planned"
    """Planned decodes only what wanted frames need, where that is known to be right; the pixels are
    the same."""
    frame_cache_gb: float = 0.0
    """Decoded frames that are kept for other runs (paths.cache); 0: none."""
    sweep_frames_gb: float = 20.0
    """Decoded frames that the jobs of one sweep keep for one another; 0: each job decodes anew."""
    cache: bool = True
    """Whether embeddings are shared with other runs (paths.cache)."""
    cache_gb: float = 20.0
    """The embedding cache drops what was used longest ago above this size."""

    def __post_init__(self) -> None:
        for name in ("batch_size", "frames_per_batch", "texts_per_batch"):
            if getattr(self, name) < 1:
                raise ConfigError(
                    f"loader.{name} counts from 1", where=f"loader.{name}={getattr(self, name)}"
                )
        if self.num_workers is not None and self.num_workers < 0:
            raise ConfigError(
                "loader.num_workers counts from 0",
                where=f"loader.num_workers={self.num_workers}",
                mend="leave it out for as many as fit",
            )
        if not self.decode_timeout_s > 0:
            raise ConfigError(
                "loader.decode_timeout_s is no time",
                where=f"loader.decode_timeout_s={self.decode_timeout_s}",
                mend="give seconds, more than the longest video takes to decode; .inf for ever",
            )

    def workers(self, devices: int = 1) -> int:
        """Returns the number of decode processes for each of the devices of this machine."""
        if self.num_workers is not None:
            return self.num_workers
        known = hasattr(os, "sched_getaffinity")  # a scheduler may lend a part of the cores
        cores = len(os.sched_getaffinity(0)) if known else os.cpu_count() or 1
        return max(1, min(8, cores // devices - 1))
