"""What a command composes, built, and what it asks of the model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vbench.checks import check_metric, check_pairing
from vbench.records import Request, Sample
from vbench.schema import instantiate, run_name

if TYPE_CHECKING:
    from omegaconf import DictConfig

    from vbench.loop.cache import EmbeddingCache
    from vbench.loop.plan import Plan


@dataclass(frozen=True)
class Parts:
    """What a command composes, built."""

    dataset: Any
    prompt: Any
    scorer: Any
    metric: Any
    trainer: Any
    loader: Any
    logger: Any
    sampler: Any
    model: Any

    @classmethod
    def build(cls, config: DictConfig) -> Parts:
        """Builds each node of the config under its own name, the model last."""
        return cls(**{part.name: instantiate(config, part.name) for part in fields(cls)})


def run_path(config: DictConfig) -> Path:
    """Returns the folder that a composed command runs in."""
    return Path(config.run_dir or Path(config.paths.outputs, "runs", run_name(config)))


def samples_of(parts: Parts, config: DictConfig) -> Sequence[Sample]:
    """Returns the samples that a command asks, after checking that the parts fit together.

    Raises:
        ConfigError: They do not.
        DataError: The dataset cannot be read.
    """
    from vbench.loop.draw import draw

    check_metric(parts.metric, parts.model, parts.scorer)
    samples = draw(parts.dataset.samples(), config.limit, config.seed)
    check_pairing(parts.dataset, parts.model, parts.scorer, parts.prompt, samples)
    if "facts" in parts.model.needs:
        parts.model.bind(parts.dataset.facts())
    return samples


@dataclass(frozen=True)
class Query:
    """What a command asks, and the least work that answers it."""

    samples: Sequence[tuple[Sample, Sequence[Request]]]
    """In the dataset's order."""
    plan: Plan
    cache: EmbeddingCache
    """Shared with other runs."""

    @classmethod
    def of(cls, parts: Parts, config: DictConfig) -> Query:
        """Plans a command; no weight is loaded.

        Raises:
            ConfigError: The parts do not fit together.
            DataError: The dataset cannot be read.
        """
        from vbench.loop.cache import EmbeddingCache
        from vbench.loop.family import plan_for

        samples = [
            (sample, parts.scorer.requests(sample, parts.prompt))
            for sample in samples_of(parts, config)
        ]
        requests = [request for _, of_sample in samples for request in of_sample]
        place = Path(config.paths.cache).expanduser() / "embeddings.sqlite"
        limit = int(parts.loader.cache_gb * 1e9)
        cache = EmbeddingCache(place, limit, enabled=parts.loader.cache)
        precision = parts.trainer.precision
        plan = plan_for(parts.model, requests, parts.sampler, precision, cache.file_hash)
        return cls(samples, plan, cache)
