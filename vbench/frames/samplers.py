"""The samplers that conf/sampler builds: which frames of a span a model sees, in which order.

A sampler is a rule (vbench.frames.rules), what to do when the span holds fewer frames than wanted,
and the order of delivery. Nothing here opens a file.
"""

from __future__ import annotations

import hashlib
import json
import math
import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from typing import ClassVar, Literal, get_args

from vbench.errors import ConfigError, DecodeError, did_you_mean
from vbench.frames import rules
from vbench.frames.timeline import Span

Order = Literal["in_order", "reverse", "shuffle", "repeat_one", "single"]
"""How chosen frames are delivered.

`in_order`: by time. `reverse`: last first. `shuffle`: a seeded permutation. `repeat_one`: the
middle one of them, as many times as there were frames: a video without motion. `single`: that one
frame, once.
"""
Short = Literal["keep", "repeat_last", "error"]
"""What happens when fewer frames are chosen than wanted.

`keep`: each is delivered once, fewer than wanted. `repeat_last`: the last one fills up. `error`:
the request fails.
"""

COUNT_RULES: dict[str, Callable[[int, int], list[int]]] = {
    "left_edge": rules.left_edge,
    "uniform_endpoints": rules.uniform_endpoints,
    "uniform_midpoints": rules.uniform_midpoints,
    "uniform_interior": rules.uniform_interior,
    "segment_offset": rules.segment_offset,
    "whole_steps": rules.whole_steps,
    "segment_midpoints": rules.segment_midpoints,
}


@dataclass(frozen=True)
class Sampler(ABC):
    """What all samplers share. A new rule is a subclass and a YAML file."""

    name: str
    """The exact name of the rule."""
    order: Order = field(default="in_order", kw_only=True)
    short: Short = field(default="keep", kw_only=True)
    seed: int = field(default=0, kw_only=True)
    """Of the shuffle and of random draws; the span's identity joins it."""

    names: ClassVar[frozenset[str]]
    """The rules this class knows."""

    def __post_init__(self) -> None:
        _one_of("name", self.name, self.names)
        _one_of("order", self.order, get_args(Order))
        _one_of("short", self.short, get_args(Short))

    @abstractmethod
    def frames_wanted(self, span: Span) -> int:
        """Returns how many frames the rule asks for."""

    @abstractmethod
    def positions(self, span: Span) -> Iterable[int]:
        """Returns the positions that the rule names, in 0..len-1; repeats are dropped later."""

    def __call__(self, span: Span) -> list[int]:
        """Chooses frames of a span, none twice unless `short` or `order` says so.

        Returns:
            Positions within the span, in the order of delivery.

        Raises:
            DecodeError: The span holds no frame, or fewer than wanted under `short=error`.
        """
        if not span.timestamps_s:
            raise DecodeError(
                "a sampler was given a span without frames",
                where=f"{span.start_s} s to {span.end_s} s",
                mend="check the clip's start and end against the file's length",
            )
        chosen = sorted(set(self.positions(span)))
        wanted = self.frames_wanted(span)
        if len(chosen) < wanted and self.short == "error":
            raise DecodeError(
                f"sampler {self.name} wants {wanted} frames and found {len(chosen)}",
                where=f"{span.start_s} s to {span.end_s} s, {len(span.timestamps_s)} frames",
                mend="use sampler.short=keep or ask for fewer frames",
            )
        if self.short == "repeat_last":
            chosen += chosen[-1:] * (wanted - len(chosen))
        return self._ordered(chosen, span)

    def digest(self) -> str:
        """Returns a short text that changes whenever the chosen frames would."""
        text = json.dumps({"version": 1, **asdict(self)}, sort_keys=True)
        return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()

    def _ordered(self, chosen: list[int], span: Span) -> list[int]:
        if self.order == "reverse":
            return chosen[::-1]
        if self.order == "repeat_one":
            return [chosen[len(chosen) // 2]] * len(chosen)
        if self.order == "single":
            return [chosen[len(chosen) // 2]]
        if self.order == "shuffle":
            random.Random(self._seed("shuffle", span)).shuffle(chosen)
        return chosen

    def _seed(self, use: str, span: Span) -> str:
        return f"{use}/{self.seed}/{span.identity}/{span.start_s!r}/{span.end_s!r}"


@dataclass(frozen=True)
class CountSampler(Sampler):
    """A fixed number of frames, spread by index."""

    num_frames: int = field(default=8, kw_only=True)

    names: ClassVar = frozenset({*COUNT_RULES, "seeded_random"})

    def __post_init__(self) -> None:
        super().__post_init__()
        _at_least_one("num_frames", self.num_frames)

    def frames_wanted(self, span: Span) -> int:
        """Returns `num_frames`."""
        return self.num_frames

    def positions(self, span: Span) -> Iterable[int]:
        """Applies the named rule to the number of frames in the span."""
        n = len(span.timestamps_s)
        if self.name == "seeded_random":
            return rules.seeded_random(n, self.num_frames, self._seed("draw", span))
        return COUNT_RULES[self.name](n, self.num_frames)


@dataclass(frozen=True)
class NestedSampler(Sampler):
    """A fixed number of frames out of one grid, so that smaller counts are subsets of larger."""

    name: str = "nested"
    num_frames: int = field(default=8, kw_only=True)
    max_frames: int = field(default=32, kw_only=True)
    """The largest count of the sweep."""

    names: ClassVar = frozenset({"nested"})

    def __post_init__(self) -> None:
        super().__post_init__()
        _at_least_one("num_frames", self.num_frames)
        _at_least_one("max_frames", self.max_frames)
        if self.num_frames > self.max_frames:
            raise ConfigError(
                f"num_frames={self.num_frames} does not fit in a grid of {self.max_frames}",
                where="sampler.num_frames",
                mend=f"use sampler.max_frames={self.num_frames} or more, the same for the sweep",
            )

    def frames_wanted(self, span: Span) -> int:
        """Returns `num_frames`."""
        return self.num_frames

    def positions(self, span: Span) -> Iterable[int]:
        """Applies `rules.nested`."""
        return rules.nested(len(span.timestamps_s), self.num_frames, self.max_frames)


@dataclass(frozen=True)
class RateSampler(Sampler):
    """A fixed rate by presentation time, with a cap."""

    name: str = "fps"
    fps: float = field(default=1.0, kw_only=True)
    max_frames: int | None = field(default=None, kw_only=True)
    """Past it the rate falls so that this many frames spread over the whole span; None: no cap."""

    names: ClassVar = frozenset({"fps"})

    def __post_init__(self) -> None:
        super().__post_init__()
        _above_zero("fps", self.fps, "frames per second")
        if self.max_frames is not None:
            _at_least_one("max_frames", self.max_frames)

    def frames_wanted(self, span: Span) -> int:
        """Returns one per 1/fps seconds of the span, at most `max_frames`."""
        return len(self._moments(span))

    def positions(self, span: Span) -> Iterable[int]:
        """Returns the frames on screen at those moments."""
        return rules.on_screen(span.timestamps_s, self._moments(span))

    def _moments(self, span: Span) -> list[float]:
        return rules.fps_moments(span.start_s, span.end_s, self.fps, self.max_frames)


@dataclass(frozen=True)
class ClipSampler(Sampler):
    """Both ends of some clips of a few seconds."""

    name: str = "clip_ends"
    num_clips: int = field(default=5, kw_only=True)
    clip_s: float = field(default=2.0, kw_only=True)
    """How long a clip is, in seconds."""

    names: ClassVar = frozenset({"clip_ends"})

    def __post_init__(self) -> None:
        super().__post_init__()
        _at_least_one("num_clips", self.num_clips)
        _above_zero("clip_s", self.clip_s, "seconds")

    def frames_wanted(self, span: Span) -> int:
        """Returns two for each clip."""
        return 2 * self.num_clips

    def positions(self, span: Span) -> Iterable[int]:
        """Applies `rules.clip_ends`."""
        n = len(span.timestamps_s)
        found = rules.clip_ends(n, span.source_fps, self.num_clips, self.clip_s)
        return [position for ends in found for position in ends]


@dataclass(frozen=True)
class FixedSampler(Sampler):
    """Rules whose count follows from the span alone."""

    names: ClassVar = frozenset({"first", "middle", "mid_second", "velociti20"})

    def frames_wanted(self, span: Span) -> int:
        """Returns 1 (first, middle), or one or two per second (mid_second, velociti20)."""
        if self.name == "mid_second":
            return len(rules.mid_second_moments(span.start_s, span.end_s))
        if self.name == "velociti20":
            return len(rules.velociti20_moments(span.start_s, span.end_s))
        return 1

    def positions(self, span: Span) -> Iterable[int]:
        """Applies the named rule."""
        n = len(span.timestamps_s)
        if self.name == "first":
            return rules.first(n)
        if self.name == "middle":
            return rules.middle(n)
        if self.name == "mid_second":
            moments = rules.mid_second_moments(span.start_s, span.end_s)
            return rules.on_screen(span.timestamps_s, moments)
        return _velociti20(span)


def _velociti20(span: Span) -> list[int]:
    """Finds the v1 frames in a span.

    At two frames a second, the rate of the release's own folders of frames, the rule's numbers
    coincide or fall before the first frame: there the frames on screen at its moments are taken,
    which for such a folder are all of them.
    """
    moments = rules.velociti20_moments(span.start_s, span.end_s)
    if round(span.source_fps) <= 2:
        return rules.on_screen(span.timestamps_s, moments)
    indices = rules.velociti20_indices(moments, span.source_fps)
    inside = [index - span.first_index for index in indices]
    n = len(span.timestamps_s)
    return [p for p in inside if 0 <= p < n] or rules.middle(n)


def _one_of(key: str, value: str, choices: Iterable[str]) -> None:
    if value not in (pool := tuple(choices)):
        raise ConfigError(
            f"sampler.{key}={value} does not exist",
            where=f"sampler.{key}",
            mend=did_you_mean(str(value), pool),
        )


def _above_zero(key: str, value: float, unit: str) -> None:
    if isinstance(value, bool) or not (math.isfinite(value) and value > 0):
        raise ConfigError(
            f"{key}={value!r} does not count {unit}",
            where=f"sampler.{key}",
            mend=f"give {unit} above 0, e.g. sampler.{key}=2",
        )


def _at_least_one(key: str, value: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ConfigError(
            f"sampler.{key}={value!r} is not a number of frames",
            where=f"sampler.{key}",
            mend=f"give a whole number from 1, e.g. sampler.{key}=8",
        )
