"""`sampler=native`: the frames that a checkpoint's own video processor would choose."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

from vbench.errors import ConfigError
from vbench.frames.samplers import Sampler
from vbench.frames.timeline import Span
from vbench.video_settings import video_settings

Rule = Callable[[int, float, Mapping[str, Any]], list[int]]
"""From frames in the clip, their rate and the processor's settings to positions."""


def _stepped(n: int, k: float, start: float = 0.0) -> list[int]:
    """int(arange(start, n, n/k)): `torch.arange(…).int()` in transformers' processors."""
    step = n / k
    return [int(start + i * step) for i in range(math.ceil((n - start) / step - 1e-9))]


def _linspace(n: int, k: int) -> list[float]:
    return [i * (n - 1) / (k - 1) for i in range(k)] if k > 1 else [0.0]


def _counted(n: int, source_fps: float, settings: Mapping[str, Any]) -> float | None:
    """Returns the frames wanted where a number or a rate is set; never more than there are."""
    if settings.get("num_frames"):
        return min(n, int(settings["num_frames"]))
    if settings.get("fps"):
        return max(1, min(n, int(n / source_fps * float(settings["fps"]))))
    return None


def qwen2(n: int, source_fps: float, settings: Mapping[str, Any]) -> list[int]:
    """Qwen2-VL, Qwen2.5-VL: whole temporal patches, `fps` within bounds.

    Source: transformers 5.24, qwen2_vl/video_processing_qwen2_vl.py. Checkpoints set no rate; 2 per
    second is that of qwen-vl-utils, the reference.

    >>> qwen2(100, 10.0, {"fps": 1.0})
    [0, 10, 20, 30, 40, 50, 60, 70, 80, 90]
    """
    patch = int(settings.get("temporal_patch_size", 2))
    if settings.get("num_frames"):
        wanted = round(min(n, int(settings["num_frames"])) / patch) * patch
    else:
        most = math.floor(min(int(settings.get("max_frames", 768)), n) / patch) * patch
        rate = n / source_fps * float(settings.get("fps") or 2.0)
        bounded = min(max(rate, int(settings.get("min_frames", 4))), most, n)
        wanted = math.floor(bounded / patch) * patch
    return _stepped(n, wanted) if 0 < wanted <= n else list(range(n))


def video_llama3(n: int, source_fps: float, settings: Mapping[str, Any]) -> list[int]:
    """VideoLLaMA 3: as Qwen2-VL, frame by frame; 1 per second, at most 180.

    Source: transformers 5.24, video_llama_3/video_processing_video_llama_3.py; the rate is that of
    DAMO-NLP-SG/VideoLLaMA3, the reference.

    >>> video_llama3(60, 10.0, {})
    [0, 10, 20, 30, 40, 50]
    """
    known = {name: value for name, value in settings.items() if value is not None}
    own = {"fps": 1.0, "max_frames": 180, "temporal_patch_size": 1, **known}
    return qwen2(n, source_fps, own)


def qwen3(n: int, source_fps: float, settings: Mapping[str, Any]) -> list[int]:
    """Qwen3-VL: `fps` within bounds, first and last frame and equal steps between.

    Source: transformers 5.24, qwen3_vl/video_processing_qwen3_vl.py.

    >>> qwen3(100, 10.0, {"fps": 0.5})
    [0, 25, 50, 74, 99]
    """
    if settings.get("num_frames"):
        wanted = int(settings["num_frames"])
    else:
        wanted = int(n / source_fps * float(settings.get("fps") or 2.0))
        wanted = max(wanted, int(settings.get("min_frames", 4)))
    wanted = min(wanted, int(settings.get("max_frames", 768)), n)
    return [round(place) for place in _linspace(n, wanted)]


def internvl(n: int, source_fps: float, settings: Mapping[str, Any]) -> list[int]:
    """InternVL: `num_frames` or `fps`, from the middle of the first of equal parts.

    Source: transformers 5.24, internvl/video_processing_internvl.py.

    >>> internvl(100, 10.0, {"num_frames": 4})
    [12, 37, 62, 87]
    """
    wanted = _counted(n, source_fps, settings)
    shift = settings.get("initial_shift", True)
    if wanted is None:
        raise _no_rule(settings)
    return _stepped(n, wanted, n / wanted / 2 if shift is True else float(shift))


def smolvlm(n: int, source_fps: float, settings: Mapping[str, Any]) -> list[int]:
    """SmolVLM2: one per `fps`, at most `num_frames`; long clips lose a second at each end.

    Source: transformers 5.24, smolvlm/video_processing_smolvlm.py; the settings are nested in
    `video_sampling` in the checkpoints' files.

    >>> smolvlm(100, 10.0, {"fps": 1, "num_frames": 4})
    [10, 36, 63, 90]
    """
    own = settings.get("video_sampling") or {}
    rate = float(own.get("fps") or settings.get("fps") or 1)
    most = int(own.get("max_frames") or settings.get("num_frames") or 64)
    seconds = n / source_fps
    wanted = max(1, min(round(rate * seconds), most))
    first, last = 0, n - 1
    if seconds - 2 > most * rate:
        first, last = int(source_fps), min(int(n - source_fps), n - 1)
    if first >= last:
        first, last = 0, n - 1
    places = [first + place for place in _linspace(last - first + 1, wanted)]
    return [int(place) for place in places]


def plain(n: int, source_fps: float, settings: Mapping[str, Any]) -> list[int]:
    """Any other: `num_frames` or `fps`, the left edges of equal parts.

    Source: transformers 5.24, BaseVideoProcessor.sample_frames.

    >>> plain(100, 10.0, {"num_frames": 4})
    [0, 25, 50, 75]
    """
    wanted = _counted(n, source_fps, settings)
    if wanted is None:
        raise _no_rule(settings)
    return [i * n // int(wanted) for i in range(int(wanted))]


RULES: dict[str, Rule] = {
    "Qwen2VL": qwen2,
    "Qwen2_5_VL": qwen2,
    "VideoLlama3": video_llama3,
    "Qwen3VL": qwen3,
    "InternVL": internvl,
    "SmolVLM": smolvlm,
}
"""By how the name of the video processor's class begins."""


@dataclass(frozen=True)
class NativeSampler(Sampler):
    """The rule of a checkpoint's own video processor, with the numbers in its own files.

    Raises:
        ConfigError: The checkpoint has no rule: it takes what it is given.
        ModelError: There is no such checkpoint, or it does not say how it processes videos.
    """

    name: str = "native"
    checkpoint: str = field(kw_only=True)
    """A folder, `pkg://package/folder`, or a hub id: the model's own."""
    revision: str | None = field(default=None, kw_only=True)

    names: ClassVar = frozenset({"native"})

    def __post_init__(self) -> None:
        super().__post_init__()
        if self._rule in (plain, internvl) and not (
            self._settings.get("num_frames") or self._settings.get("fps")
        ):
            raise _no_rule(self._settings)

    @cached_property
    def _settings(self) -> dict[str, Any]:
        return video_settings(self.checkpoint, self.revision)

    @cached_property
    def _rule(self) -> Rule:
        kinds = ("video_processor_type", "processor_class", "image_processor_type")
        named = [str(self._settings.get(kind) or "") for kind in kinds]
        found = (rule for name in named for start, rule in RULES.items() if name.startswith(start))
        return next(found, plain)

    def frames_wanted(self, span: Span) -> int:
        """Returns how many the rule asks for."""
        return len(set(self.positions(span)))

    def positions(self, span: Span) -> Iterable[int]:
        """Applies the rule to the span as if it were a file of its own."""
        return self._rule(len(span.timestamps_s), span.source_fps, self._settings)

    def digest(self) -> str:
        """Returns a short text that changes with the rule and its numbers; no path is in it."""
        own = [self._rule.__name__, self._settings, self.order, self.short, self.seed]
        text = json.dumps(["native", 1, *own], sort_keys=True, default=str)
        return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def _no_rule(settings: Mapping[str, Any]) -> ConfigError:
    kind = settings.get("video_processor_type") or settings.get("processor_class") or "it"
    return ConfigError(
        "the checkpoint has no rule for choosing frames",
        where=f"sampler=native ({kind})",
        why="its video processor sets neither num_frames nor fps: it takes what it is given",
        mend="name a sampler, as conf/model/ does for each known checkpoint: "
        "sampler=uniform_endpoints sampler.num_frames=32",
    )
