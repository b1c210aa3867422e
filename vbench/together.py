"""What the jobs of a sweep share in one process: datasets, the loaded model, decoded frames."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields
from functools import cached_property
from typing import TYPE_CHECKING, Any

from vbench.evaluation import Share, run_parts
from vbench.parts import Parts, samples_of
from vbench.schema import instantiate, plain

if TYPE_CHECKING:
    from omegaconf import DictConfig

    from vbench.records import Clip
    from vbench.results.run import Run


class Together:
    """Runs jobs one after another without doing anything twice.

    A file is decoded in one pass for all jobs that show frames of it, whatever their samplers and
    models (`CachedSource`); a model stays loaded until a job wants another one; a dataset is read
    once. A job that cannot be built is left to fail by itself.

    Args:
        configs: Of all jobs, composed and checked.
    """

    def __init__(self, configs: Sequence[DictConfig]) -> None:
        self._datasets: dict[str, Any] = {}
        self._model: tuple[str, Any] = ("", None)
        self._configs = configs

    def run(self, config: DictConfig) -> Run | None:
        """Runs one job (see `evaluation.evaluate`).

        Raises:
            VbenchError: See `evaluate`.
        """
        kept_gb = instantiate(config, "loader").sweep_frames_gb
        wishes = self._wishes if kept_gb else {}  # first: it asks for the models of all jobs
        share = Share(wishes, kept_gb) if wishes else None
        parts = self._parts(config)
        return run_parts(parts, config, share=share)

    def _parts(self, config: DictConfig) -> Parts:
        built = {
            part.name: instantiate(config, part.name)
            for part in fields(Parts)
            if part.name not in ("dataset", "model")
        }
        values = plain(config)
        return Parts(
            **built, dataset=self._dataset(config, values), model=self._kept(config, values)
        )

    def _dataset(self, config: DictConfig, values: Mapping[str, Any]) -> Any:
        name = _name(values["dataset"])
        if name not in self._datasets:
            self._datasets[name] = _ReadOnce(instantiate(config, "dataset"))
        return self._datasets[name]

    def _kept(self, config: DictConfig, values: Mapping[str, Any]) -> Any:
        name = _name([values["model"], values["trainer"]])
        if self._model[0] != name:
            self._model = ("", None)  # two models at once may not fit
            self._model = (name, instantiate(config, "model"))
        return self._model[1]

    @cached_property
    def _wishes(self) -> dict[str, list[tuple[Clip, Any]]]:
        """Returns what any job shows of each file, if more than one job shows frames at all."""
        found: dict[str, dict[tuple[Clip, str], Any]] = {}
        watching = 0
        for config in self._configs:
            with suppress(Exception):  # the job itself will say what is wrong
                parts = self._parts(config)
                clips = _shown(parts, config)
                watching += bool(clips)
                for clip in clips:
                    of_file = found.setdefault(clip.path, {})
                    of_file[clip, parts.sampler.digest()] = parts.sampler
        if watching < 2:
            return {}
        return {
            path: [(clip, sampler) for (clip, _), sampler in of_file.items()]
            for path, of_file in found.items()
        }


def run_beside_others(config: DictConfig) -> Run | None:
    """Runs a job while others run in other processes, with which it shares what is on disk.

    Frames that one has decoded are kept for the others; which they will be, it cannot know.

    Raises:
        VbenchError: See `evaluate`.
    """
    parts = Parts.build(config)
    kept_gb = parts.loader.sweep_frames_gb
    return run_parts(parts, config, share=Share({}, kept_gb) if kept_gb else None)


def _shown(parts: Parts, config: DictConfig) -> Iterable[Clip]:
    """Returns the clips that a job shows frames of."""
    if "frames" not in parts.model.needs:
        return []
    return dict.fromkeys(clip for sample in samples_of(parts, config) for clip in sample.clips)


def _name(node: object) -> str:
    return json.dumps(node, sort_keys=True, default=str)


class _ReadOnce:
    """A dataset whose samples are read when first asked for."""

    def __init__(self, dataset: Any) -> None:
        self._dataset = dataset
        self._samples: list[Any] | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._dataset, name)

    def samples(self) -> list[Any]:
        """Returns the dataset's samples."""
        if self._samples is None:
            self._samples = self._dataset.samples()
        return self._samples
