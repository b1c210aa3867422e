"""The keys of commands that are no folder of conf/: their types, meanings and limits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from vbench.errors import ConfigError


@dataclass(frozen=True)
class Paths:
    """Where things lie (conf/paths)."""

    data: str
    """Datasets that vbench builds."""
    outputs: str
    """Holds runs/ and sweeps/."""
    cache: str
    """What runs share: embeddings, hashes of files."""


@dataclass(frozen=True)
class EvaluateKeys:
    """The keys of `vbench evaluate` that are no folder of conf/."""

    run_dir: str | None = None
    limit: int | None = None
    """Samples per test."""
    seed: int = 0
    on_error: Literal["record", "fail"] = "record"
    shards: int = 1
    shard: int = 0
    """Which of the shares this process does, from 0."""
    fresh: bool = False
    sweep: str | None = None
    """Name of the sweep's folder."""

    def __post_init__(self) -> None:
        if self.limit is not None and self.limit < 1:
            raise ConfigError(
                "limit counts samples per test, from 1",
                where=f"limit={self.limit}",
                mend="leave it out to evaluate all",
            )
        if not 0 <= self.shard < self.shards:
            raise ConfigError(
                f"there is no shard {self.shard} of {self.shards}",
                where=f"shards={self.shards} shard={self.shard}",
                mend="shards counts from 1, shard from 0 to shards - 1",
            )
        if self.fresh and self.shards > 1:
            raise ConfigError(
                "fresh=true would discard what other shards have done",
                where=f"shards={self.shards} fresh=true",
                mend="delete the run folder once, then start the shards without fresh",
            )


@dataclass(frozen=True)
class BuildKeys:
    """The keys of `vbench build`; None leaves the dataset's own default."""

    num_videos: int | None = None
    seed: int | None = None
    render: bool | None = None
    """False: annotations only."""


@dataclass(frozen=True)
class DoctorKeys:
    """The keys of `vbench doctor`."""

    decode: Literal["ends", "all"] = "ends"
    """Which frames of each file are decoded."""
    audit: bool = False
    """Whether to ask what the texts give away, instead of looking at files."""


@dataclass(frozen=True)
class AnnotateKeys:
    """The keys of `vbench annotate`."""

    study: Literal["positive", "ivat", "captions", "human"]
    out: str
    media_root: str | None = None
    media_prefix: str = "/data/local-files/?d="
    annotators: int = 5
    per_annotator: int | None = None
    overlap: int = 1
    seed: int = 0


@dataclass(frozen=True)
class ReportKeys:
    """The keys of `vbench report dataset=…` (conf/report.yaml says what they mean)."""

    limit: int | None = None
    seed: int = 0
    strips: int = 2000
    out: str | None = None
