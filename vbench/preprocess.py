"""From a checkpoint's own preprocessing config to the transform that decode workers apply.

It stands beside the protocols, at the foot of its floor, so that models can build what frames go
through without knowing how frames are read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from vbench.errors import ConfigError, did_you_mean
from vbench.image_transform import (
    OPENAI_MEAN,
    OPENAI_STD,
    Fit,
    ImageTransform,
    Interpolation,
    unsupported,
)

__all__ = ["ImageTransform", "from_hf_image_processor", "from_open_clip"]

_PIL_INTERPOLATION: dict[int, Interpolation] = {2: "bilinear", 3: "bicubic"}
_HANDLED_STEPS = {"do_resize", "do_center_crop", "do_rescale", "do_normalize", "do_convert_rgb"}


def from_hf_image_processor(config: Mapping[str, Any]) -> ImageTransform:
    """Builds the transform that a transformers image processor describes.

    Args:
        config: `image_processor.to_dict()`, or the content of preprocessor_config.json.

    Raises:
        ConfigError: A key is missing or asks for a step outside resize, crop, rescale, normalise.

    >>> square = {"size": {"height": 8, "width": 8}, "resample": 3, "do_normalize": False}
    >>> from_hf_image_processor(square).fit
    'squash'
    """
    extra = [key for key in config if key.startswith("do_") and key not in _HANDLED_STEPS]
    for key in [*extra, "rescale_offset", "crop_pct", "size_divisor"]:
        if config.get(key):
            raise unsupported(key, config[key], "only resize, crop, rescale, normalise are known")
    fit, size = _hf_fit(config)
    rescaled, normalised = config.get("do_rescale", True), config.get("do_normalize", True)
    cropped = config.get("do_center_crop") and fit != "patches"
    return ImageTransform(
        fit=fit,
        size=size,
        crop=_pair(_need(config, "crop_size")) if cropped else None,
        crop_start="floor",
        interpolation=_hf_interpolation(config) if fit != "none" else "bicubic",
        rescale=float(config.get("rescale_factor", 1 / 255)) if rescaled else 1.0,
        mean=_triple(_need(config, "image_mean")) if normalised else (0.0, 0.0, 0.0),
        std=_triple(_need(config, "image_std")) if normalised else (1.0, 1.0, 1.0),
    )


def from_open_clip(preprocess_cfg: Mapping[str, Any]) -> ImageTransform:
    """Builds the evaluation transform that an open_clip preprocess config describes.

    Args:
        preprocess_cfg: `model.visual.preprocess_cfg`; absent keys take open_clip's own defaults
            (`PreprocessCfg` in open_clip/transform.py).

    Raises:
        ConfigError: The colour mode, resize mode or interpolation is not known.

    >>> from_open_clip({"size": 256, "resize_mode": "squash"}).resized(100, 50)
    (256, 256)
    """
    if preprocess_cfg.get("mode", "RGB") != "RGB":
        raise unsupported("mode", preprocess_cfg["mode"], "only RGB is known")
    height, width = size = _pair(preprocess_cfg.get("size", 224))
    square: Fit = "shortest_edge" if height == width else "cover"
    fits: dict[str, Fit] = {"shortest": square, "longest": "contain", "squash": "squash"}
    mode = preprocess_cfg.get("resize_mode") or "shortest"
    if mode not in fits:
        raise unsupported("resize_mode", mode, did_you_mean(str(mode), fits))
    # open_clip ignores `random` at evaluation, and any choice where it covers a rectangle
    ignored = fits[mode] == "cover" or preprocess_cfg.get("interpolation") in (None, "random")
    return ImageTransform(
        fit=fits[mode],
        size=size,
        crop=None if mode == "squash" else size,
        crop_start="round",
        fill=int(preprocess_cfg.get("fill_color", 0)) if mode == "longest" else 0,
        interpolation="bicubic" if ignored else preprocess_cfg["interpolation"],
        mean=_triple(preprocess_cfg.get("mean") or OPENAI_MEAN),
        std=_triple(preprocess_cfg.get("std") or OPENAI_STD),
    )


def _hf_fit(config: Mapping[str, Any]) -> tuple[Fit, tuple[int, int]]:
    if not config.get("do_resize", True):
        return "none", (1, 1)
    if "max_num_patches" in config:
        return "patches", (int(_need(config, "patch_size")), int(config["max_num_patches"]))
    size = _need(config, "size")
    if isinstance(size, int) or (isinstance(size, Mapping) and set(size) == {"shortest_edge"}):
        # a bare number is the old CLIP spelling of the shortest edge
        edge = int(size) if isinstance(size, int) else int(size["shortest_edge"])
        return "shortest_edge", (edge, edge)
    return "squash", _pair(size)


def _hf_interpolation(config: Mapping[str, Any]) -> Interpolation:
    resample = int(_need(config, "resample"))
    if resample not in _PIL_INTERPOLATION:
        raise unsupported("resample", resample, "2 (bilinear) and 3 (bicubic) are known")
    return _PIL_INTERPOLATION[resample]


def _need(config: Mapping[str, Any], key: str) -> Any:
    if config.get(key) is None:
        raise ConfigError(
            f"the image processor config has no '{key}'",
            where=str(config.get("image_processor_type", "image processor config")),
            mend="load it with AutoImageProcessor and pass its to_dict(), which fills in defaults",
        )
    return config[key]


def _pair(value: Any) -> tuple[int, int]:
    if isinstance(value, int):
        return value, value
    if isinstance(value, Mapping) and set(value) == {"height", "width"}:
        return int(value["height"]), int(value["width"])
    if isinstance(value, Sequence) and len(value) in (1, 2):
        return int(value[0]), int(value[-1])
    raise unsupported("size", value, "a number, (height, width) or {height, width} is known")


def _triple(value: Any) -> tuple[float, float, float]:
    values = (value,) * 3 if isinstance(value, (int, float)) else tuple(value)
    if len(values) != 3:
        raise unsupported("mean, std", value, "three channels are known")
    red, green, blue = (float(v) for v in values)
    return red, green, blue
