"""Pixels for image encoders: resize, crop, rescale and normalise, torch-fast and PIL-faithful.

Decode workers apply it to frames as they leave the decoder. Shrinking runs in torch on uint8 with
antialiasing, on a channels-last view: within one grey level of PIL and about five times as fast.
"PIL" is the order of passes that Pillow had up to 12 and published scores rest on: horizontal
first. (Pillow 13 turns frames vertical first whose height shrinks by more than twice the pixels of
their width.)
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from vbench.errors import ConfigError, did_you_mean

if TYPE_CHECKING:
    import torch

Fit = Literal["shortest_edge", "squash", "cover", "contain", "patches", "none"]
"""How a frame is brought to size.

`shortest_edge`: the shorter side becomes `size[0]`, the longer one is truncated to an integer
(transformers, torchvision). `squash`: exactly `size`, aspect ratio ignored. `cover`: the smallest
rounded size that covers `size`; `contain`: the largest that fits in it (both open_clip). `patches`:
the largest size of whole patches within a budget of patches (SigLIP 2 NaFlex). `none`: as it is.
"""
Interpolation = Literal["bicubic", "bilinear"]
Crop = Literal["floor", "round"]
"""Where a centre crop starts, and a pad too, when the margin is odd.

`floor`: transformers. `round`: torchvision and open_clip, half to even.
"""

OPENAI_MEAN = (0.48145466, 0.4578275, 0.40821073)
OPENAI_STD = (0.26862954, 0.26130258, 0.27577711)


@dataclass(frozen=True)
class ImageTransform:
    """Turns decoded frames into pixel values; pure and picklable (`protocols.Preprocess`)."""

    fit: Fit = "shortest_edge"
    size: tuple[int, int] = (224, 224)
    """(h, w) asked of the resize; for `patches` (pixels per patch side, most patches)."""
    crop: tuple[int, int] | None = (224, 224)
    """(h, w) cut from the middle, smaller frames padded; None: no crop."""
    crop_start: Crop = "floor"
    fill: int = 0
    """Grey level of the padding."""
    interpolation: Interpolation = "bicubic"
    antialias: bool = True
    """Off only to reproduce a pipeline that resized without it; PIL always antialiases."""
    rescale: float = 1 / 255
    mean: tuple[float, float, float] = OPENAI_MEAN
    std: tuple[float, float, float] = OPENAI_STD

    def __post_init__(self) -> None:
        for name, value, kind in (
            ("fit", self.fit, Fit),
            ("interpolation", self.interpolation, Interpolation),
            ("crop_start", self.crop_start, Crop),
        ):
            if value not in get_args(kind):
                raise unsupported(name, value, did_you_mean(str(value), get_args(kind)))
        if min(*self.size, *(self.crop or (1, 1))) < 1:
            raise unsupported("size", (self.size, self.crop), "sizes count from 1 pixel")
        if len(self.mean) != 3 or len(self.std) != 3 or min(self.std) <= 0:
            raise unsupported("mean, std", (self.mean, self.std), "three each, std above 0")

    def __call__(self, frames: Sequence[np.ndarray]) -> torch.Tensor:
        """Turns frames (each uint8, h w 3, RGB) into pixel values (n, 3, h', w'), float32.

        Raises:
            ValueError: See `shrink`.
        """
        return self.finish(self.shrink(frames))

    def shrink(self, frames: Sequence[np.ndarray]) -> torch.Tensor:
        """Resizes and crops frames (each uint8, h w 3, RGB) to grey levels (n, 3, h', w'), uint8.

        The frames of one call end in one shape; with `crop=None` and a fit that follows the
        frame's shape they must have one to begin with.

        Raises:
            ValueError: A frame has another dtype or layout, there is none, or shapes differ.
        """
        import torch

        if not frames:
            raise ValueError("no frames to transform")
        images = [self._resized_and_cropped(frame) for frame in frames]
        shapes = sorted({tuple(image.shape[2:]) for image in images})
        if len(shapes) > 1:
            raise ValueError(f"frames of one call end in different shapes: {shapes}")
        return torch.cat(images).contiguous()

    def finish(self, levels: torch.Tensor) -> torch.Tensor:
        """Rescales and normalises grey levels (n, 3, h, w) into pixel values, float32."""
        import torch

        pixels = levels.to(torch.float32, memory_format=torch.contiguous_format)
        mean, std = (
            torch.tensor(values, device=levels.device).view(1, 3, 1, 1)
            for values in (self.mean, self.std)
        )
        return pixels.mul_(self.rescale).sub_(mean).div_(std)

    def digest(self) -> str:
        """Returns a short text that changes whenever the pixels would.

        >>> ImageTransform().digest() == ImageTransform(interpolation="bicubic").digest()
        True
        >>> ImageTransform().digest() == ImageTransform(interpolation="bilinear").digest()
        False
        """
        text = json.dumps({"version": 1, **asdict(self)}, sort_keys=True)
        return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()

    def resized(self, height: int, width: int) -> tuple[int, int]:
        """Returns the (h, w) a frame is resized to, before any crop.

        >>> ImageTransform().resized(360, 640)
        (224, 398)
        """
        if self.fit == "none":
            return height, width
        if self.fit == "squash":
            return self.size
        if self.fit == "patches":
            return _patch_budget_size(height, width, *self.size)
        if self.fit == "shortest_edge":
            edge = self.size[0]
            # int() of this very expression: transformers and torchvision agree on it
            if width <= height:
                return int(edge * height / width), edge
            return edge, int(edge * width / height)
        ratios = height / self.size[0], width / self.size[1]
        ratio = min(ratios) if self.fit == "cover" else max(ratios)
        return round(height / ratio), round(width / ratio)

    def _resized_and_cropped(self, frame: np.ndarray) -> torch.Tensor:
        import torch

        if frame.dtype != np.uint8 or frame.ndim != 3 or frame.shape[2] != 3:
            raise ValueError(f"a frame is uint8, h w 3, not {frame.dtype} {frame.shape}")
        (height, width), have = self.resized(*frame.shape[:2]), frame.shape[:2]
        if self.antialias and (height > have[0] or width > have[1]):
            # enlarging amplifies torch's rounding to two grey levels here and there; frames that
            # need it are small, so PIL itself can do it
            frame = _resized_by_pil(frame, height, width, self.interpolation)
        # torch cannot mark memory read-only and warns; such frames (from PIL) are copied
        writable = np.require(frame, requirements=["C", "W"])
        # never .contiguous(): the channels-last view is what makes the uint8 kernel fast
        image = torch.from_numpy(writable).permute(2, 0, 1).unsqueeze(0)
        if (height, width) != frame.shape[:2]:
            image = torch.nn.functional.interpolate(
                image,
                (height, width),
                mode=self.interpolation,
                antialias=self.antialias,
                align_corners=False,
            )
        return image if self.crop is None else self._cropped(image, self.crop)

    def _cropped(self, image: torch.Tensor, crop: tuple[int, int]) -> torch.Tensor:
        import torch

        starts, pads = [], []
        for have, want in zip(image.shape[-2:], crop, strict=True):
            missing = max(0, want - have)
            before = math.ceil(missing / 2) if self.crop_start == "floor" else missing // 2
            pads.append((before, missing - before))
            spare = max(0, have - want)
            starts.append(spare // 2 if self.crop_start == "floor" else round(spare / 2))
        if any(map(any, pads)):
            (top, bottom), (left, right) = pads
            padding = (left, right, top, bottom)
            image = torch.nn.functional.pad(image, padding, value=float(self.fill))
        (top, left), (height, width) = starts, crop
        return image[..., top : top + height, left : left + width]


def _resized_by_pil(frame: np.ndarray, height: int, width: int, kernel: str) -> np.ndarray:
    from PIL import Image

    resample = Image.Resampling[kernel.upper()]
    wide = Image.fromarray(frame).resize((width, frame.shape[0]), resample)
    return np.array(wide.resize((width, height), resample))


def _patch_budget_size(height: int, width: int, patch: int, most: int) -> tuple[int, int]:
    """Bisects the scale as transformers' Siglip2ImageProcessor does, to the same size."""

    def scaled(side: int, scale: float) -> int:
        return max(patch, math.ceil(side * scale / patch) * patch)

    low, high = 1e-6, 100.0
    while high - low >= 1e-5:
        middle = (low + high) / 2
        if (scaled(height, middle) / patch) * (scaled(width, middle) / patch) <= most:
            low = middle
        else:
            high = middle
    return scaled(height, low), scaled(width, low)


def unsupported(key: str, value: object, why: str) -> ConfigError:
    """Returns the error for a setting of the preprocessing that is not known."""
    return ConfigError(f"preprocessing with {key}={value!r} is not supported", where=key, why=why)
