"""The story of `vbench report dataset=…`: a dataset as one page to browse; no model is asked."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vbench.errors import DataError
from vbench.frames.source import open_source
from vbench.loop.draw import draw
from vbench.loop.filming import Shot, Taken, film, unfilmed
from vbench.loop.keys import digest
from vbench.records import Clip, Sample
from vbench.results.report.browser import Details, blocks
from vbench.results.report.dataset import as_answer, as_row, contents
from vbench.results.report.page import page_file, write_page
from vbench.results.report.strips import Strips
from vbench.schema import instantiate, plain

if TYPE_CHECKING:
    from omegaconf import DictConfig


def report_dataset(config: DictConfig) -> Path:
    """Writes the report of the dataset of a composed `report` command.

    Args:
        config: From `schema.compose(…, "report")`.

    Returns:
        The page.

    Raises:
        DataError: The dataset cannot be read.
        RunError: The page cannot be written.
    """
    dataset, name = instantiate(config, "dataset"), str(config.command.choices.dataset)
    if not getattr(dataset, "is_built", lambda: True)():
        raise DataError(
            "the dataset is not built yet",
            where=f"dataset={name}",
            mend=f"vbench build dataset={name}, with the same dataset.* keys",
        )
    every = list(dataset.samples())
    samples = draw(every, config.limit, config.seed)
    folder = Path(config.paths.outputs, "reports", re.sub(r"[^\w.-]+", "-", name))
    page = page_file(config.out, folder)
    frames = page.parent / "frames"
    taken, remarks = _film(samples, config, frames)
    seen = [[_seen(taken, clip) for clip in sample.clips] for sample in samples]
    answers = [as_answer(sample, own) for sample, own in zip(samples, seen, strict=True)]
    if len(samples) < len(every):
        remarks.append(f"limit={config.limit}: {len(samples)} of {len(every)} samples are shown")
    details = Details(Strips(page.parent), [frames], lambda run, row: [])
    told = blocks([as_row(sample) for sample in samples], [answers], [], details)
    write_page(page, _about(name, config, every, remarks), told)
    return page


def _film(
    samples: Sequence[Sample], config: DictConfig, frames: Path
) -> tuple[Mapping[Clip, tuple[Shot, Taken]], list[str]]:
    clips = list(dict.fromkeys(clip for sample in samples for clip in sample.clips))
    filmed = clips[: config.strips]
    shots = {clip: Shot(frames / f"{_key(clip, config)}.jpg", clip) for clip in filmed}
    loader = instantiate(config, "loader")
    opener = partial(open_source, planned=loader.decode == "planned")
    sampler, workers = instantiate(config, "sampler"), loader.num_workers
    found = film(list(shots.values()), opener, sampler, workers, loader.decode_timeout_s)
    remarks = unfilmed(found.values())
    if len(filmed) < len(clips):
        remarks.append(f"strips={config.strips}: {len(filmed)} of {len(clips)} clips have pictures")
    return {clip: (shot, found[shot]) for clip, shot in shots.items()}, remarks


def _key(clip: Clip, config: DictConfig) -> str:
    """Names a strip by all that decides what is on it, but for the bytes of the file."""
    place = Path(clip.path).resolve()
    stamp = place.stat().st_mtime_ns if place.exists() else 0
    return digest(str(place), stamp, clip.start_s, clip.end_s, plain(config)["sampler"])


def _seen(taken: Mapping[Clip, tuple[Shot, Taken]], clip: Clip) -> dict[str, Any]:
    """Returns a clip's frames in the fields of a run's record."""
    shot, found = taken.get(clip, (None, Taken()))
    return {
        "key": shot.strip.stem if shot is not None and not found.reason else None,
        "frame_indices": list(found.frame_indices),
        "timestamps_s": list(found.timestamps_s),
        "reason": found.reason,
    }


def _about(
    name: str, config: DictConfig, samples: Sequence[Sample], remarks: Sequence[str]
) -> dict[str, Any]:
    sampler = plain(config)["sampler"]
    shown = " ".join(f"{key}={value}" for key, value in sampler.items() if key != "_target_")
    return {
        "title": name,
        "subtitle": f"{len(samples)} samples, no model asked",
        "runs": [],
        "remarks": [f"pictures show the frames of sampler {shown}", *remarks],
        "contents": contents(samples),
    }
