"""How fast earlier runs of a model were, read from when they wrote what."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from vbench.errors import RunError
from vbench.results.environment import read_environment
from vbench.results.folders import runs_under
from vbench.results.store import prediction_files, read_config


@dataclass(frozen=True)
class Pace:
    """How fast a run was, decoding and all."""

    run: str
    """The run folder."""
    frames_per_s: float
    texts_per_s: float | None
    """None where texts were done before it could be told."""
    device: str

    def seconds(self, frames: int, texts: int) -> float:
        """Returns how long frames and texts take; texts nothing where their pace is not known."""
        return frames / self.frames_per_s + (texts / self.texts_per_s if self.texts_per_s else 0.0)


def find_pace(outputs: Path, run: Path, config: Mapping[str, Any]) -> Pace | None:
    """Finds out how fast the model was before: in the run folder itself, else in the latest run.

    Args:
        outputs: Holds runs of any model.
        run: The run folder.
        config: What is to run; earlier runs of the same model, precision and accelerator count.

    Returns:
        The pace; None where no such run has lasted long enough to tell.
    """
    wanted = _what_sets_the_pace(config)
    others = runs_under(outputs) if outputs.is_dir() else []
    for folder in [run, *sorted(others, key=_last_written, reverse=True)]:
        with suppress(RunError, KeyError, TypeError):
            if _what_sets_the_pace(read_config(folder)) == wanted:
                frames, texts = _rates(folder)
                if frames is not None:
                    return Pace(str(folder), frames, texts, _device(folder))
    return None


def _what_sets_the_pace(config: Mapping[str, Any]) -> object:
    trainer = config["trainer"]
    return config["model"], trainer["precision"], trainer["accelerator"], trainer["devices"]


def _rates(folder: Path) -> tuple[float | None, float | None]:
    """Returns frames and texts per second: medians over the pauses between files of one process.

    The median, since a run that was stopped and resumed has pauses in which nothing happened, and
    one that found answers in the cache wrote them at once.
    """
    written: dict[str, list[tuple[int, int, int]]] = defaultdict(list)
    for file in prediction_files(folder):
        name = re.match(r"(\d+)-(\d+-\d+)-", file.name)
        with suppress(OSError, pa.ArrowInvalid):
            if name:
                written[name[2]].append((int(name[1]), *_contents(file)))
    frame_rates, text_rates = [], []
    for of_process in written.values():
        for (start, *_), (end, frames, texts) in pairwise(sorted(of_process)):
            seconds = (end - start) / 1e9
            if frames and not texts:
                frame_rates.append(frames / seconds)
            elif texts and not frames:
                text_rates.append(texts / seconds)
    ranks = len({process.split("-")[0] for process in written})
    return (
        median(frame_rates) * ranks if frame_rates else None,
        median(text_rates) * ranks if text_rates else None,
    )


def _contents(file: Path) -> tuple[int, int]:
    """Returns how many frames and texts a file of predictions answers for."""
    table = pq.read_table(file, columns=["kind", "status", "frame_indices"])
    answered = table.filter(pc.equal(table["status"], "ok"))
    frames = pc.sum(pc.list_value_length(answered["frame_indices"])).as_py() or 0
    return int(frames), answered["kind"].to_pylist().count("text")


def _device(folder: Path) -> str:
    facts = read_environment(folder)
    with suppress(KeyError):
        return str(facts["gpu"] if facts["device"] == "cuda" else facts["device"])
    return "an unknown device"


def _last_written(folder: Path) -> float:
    files: Iterable[Path] = prediction_files(folder)[-1:]
    with suppress(OSError):
        return max((file.stat().st_mtime for file in files), default=0.0)
    return 0.0
