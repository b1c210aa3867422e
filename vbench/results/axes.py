"""What a sweep may vary about frames, and where on it a run stands."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any

from vbench.results.run import Run

ORDERS = ("in_order", "reverse", "shuffle", "repeat_one", "single", "none")
"""Orders of frames as a reader wants them; none: no frames."""

Place = int | str
Config = dict[str, Any]
"""A run's settings, plain and nested."""


@dataclass(frozen=True)
class Axis:
    """Something that a sweep may vary."""

    name: str
    title: str
    place: Callable[[Run], Place | None]
    """Where on it a run stands; None: nowhere."""
    moved: Callable[[str], bool]
    """Whether a setting is what the axis is about."""
    rank: Callable[[Any], int]
    """Where a place comes among others; equals stay in the order of the runs."""
    strip: Callable[[Config], object]
    """Takes out of settings what says the place."""
    stepwise: bool = False
    """Points are held against the one before, not all against the first."""

    def without(self, run: Run) -> Run:
        """Returns a run that says nothing of its place, so that the rest names its series."""
        config = deepcopy(run.config)
        self.strip(config)
        config["command"]["choices"].pop("frame_order", None)
        return replace(run, config=config)


def _sampler(run: Run) -> str:
    return str(run.config["command"]["choices"].get("sampler", run.config["sampler"].get("name")))


def _count(run: Run) -> int | None:
    count = run.config["sampler"].get("num_frames")
    return None if _order(run) == "none" or not isinstance(count, int) else count


def _order(run: Run) -> str | None:
    blind = (run.config["model"].get("visual") or {}).get("blind")
    return "none" if blind == "none" else run.config["sampler"].get("order")


def _strip_count(config: Config) -> None:
    config["sampler"].pop("num_frames", None)


def _strip_sampler(config: Config) -> None:
    config["command"]["choices"].pop("sampler", None)
    kept = ("num_frames", "order", "max_frames", "seed")
    config["sampler"] = {k: v for k, v in config["sampler"].items() if k in kept}


def _strip_order(config: Config) -> None:
    config["sampler"].pop("order", None)
    config["command"]["choices"].pop("visual", None)


AXES = (
    Axis("num_frames", "number of frames", _count, "sampler.num_frames".__eq__, int, _strip_count,
         stepwise=True),
    Axis("sampler", "sampler", _sampler, lambda key: key.startswith("sampler."), lambda _: 0,
         _strip_sampler),
    Axis("frame_order", "order of frames", _order,
         lambda key: key in ("sampler.order", "model.visual.blind"), ORDERS.index, _strip_order),
)  # fmt: skip
