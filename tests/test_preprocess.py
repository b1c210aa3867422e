"""ImageTransform against transformers' PIL image processors and open_clip's own preprocess."""

from __future__ import annotations

import pickle
import subprocess
import sys
from dataclasses import replace
from typing import Any

import numpy as np
import open_clip
import pytest
import torch
from open_clip.transform import PreprocessCfg, image_transform_v2
from PIL import Image
from transformers.models.clip.image_processing_pil_clip import CLIPImageProcessorPil
from transformers.models.siglip.image_processing_pil_siglip import SiglipImageProcessorPil
from transformers.models.siglip2.image_processing_pil_siglip2 import Siglip2ImageProcessorPil

from vbench.errors import ConfigError
from vbench.preprocess import ImageTransform, from_hf_image_processor, from_open_clip
from vbench.protocols import TwoStepPreprocess


@pytest.fixture(autouse=True)
def pillow_order_of_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes any Pillow resize horizontally first, as all did before version 13."""
    whole = Image.Image.resize

    def resize(image: Image.Image, size: tuple[int, int], *args: Any, **kwargs: Any) -> Image.Image:
        wide = whole(image, (size[0], image.height), *args, **kwargs)
        return whole(wide, size, *args, **kwargs)

    monkeypatch.setattr(Image.Image, "resize", resize)


SHAPES = [
    (360, 640),
    (272, 640),
    (720, 1280),
    (641, 359),  # portrait, odd
    (101, 97),  # upscaled, odd
    (128, 128),
    (224, 224),
    (225, 231),
    (17, 300),
    (1, 1),
]


def photo(height: int, width: int) -> np.ndarray:
    """A frame with edges, gradients and noise: what tells resampling kernels apart."""
    rng = np.random.default_rng(height * 10_000 + width)
    y, x = np.mgrid[0:height, 0:width]
    waves = 127 + 90 * np.sin(x[..., None] / [3.0, 7.0, 31.0]) * np.cos(y[..., None] / [5, 11, 3])
    noisy = waves + rng.normal(0, 25, (height, width, 3)) + 80 * ((x // 9 + y // 7) % 2)[..., None]
    return np.clip(noisy, 0, 255).astype(np.uint8)


def grey_levels_apart(ours: torch.Tensor, theirs: torch.Tensor, std: tuple[float, ...]) -> float:
    assert ours.shape == theirs.shape
    levels = (ours - theirs) * torch.tensor(std).view(1, 3, 1, 1) * 255
    return levels.abs().max().item()


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(
    "processor",
    [
        CLIPImageProcessorPil(),
        CLIPImageProcessorPil(size={"shortest_edge": 64}, crop_size={"height": 64, "width": 64}),
        CLIPImageProcessorPil(
            size={"shortest_edge": 61}, crop_size={"height": 50, "width": 75}, resample=2
        ),
        CLIPImageProcessorPil(do_center_crop=False),
        CLIPImageProcessorPil(do_resize=False, crop_size={"height": 200, "width": 333}),
        SiglipImageProcessorPil(),
        SiglipImageProcessorPil(size={"height": 256, "width": 256}, resample=2),
    ],
    ids=["clip", "clip64", "crop_wider_than_edge", "no_crop", "no_resize", "siglip", "siglip_256"],
)
def test_within_one_grey_level_of_transformers_on_pil(
    processor: CLIPImageProcessorPil, shape: tuple[int, int]
) -> None:
    frame = photo(*shape)
    transform = from_hf_image_processor(processor.to_dict())
    theirs = processor(images=[Image.fromarray(frame)], return_tensors="pt")["pixel_values"]
    ours = transform([frame])
    assert ours.dtype == torch.float32
    assert grey_levels_apart(ours, theirs, transform.std) <= 1.001


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(
    "cfg",
    [
        {"size": 224},
        {"size": (256, 256), "resize_mode": "squash", "mean": (0.5,) * 3, "std": (0.5,) * 3},
        {"size": 63, "interpolation": "bilinear"},
        {"size": (224, 96), "interpolation": "bilinear"},
        {"size": 75, "resize_mode": "longest", "fill_color": 90},
        {"size": (60, 120), "resize_mode": "longest"},
    ],
    ids=["clip", "siglip", "bilinear", "rectangle", "longest", "longest_rectangle"],
)
def test_within_one_grey_level_of_open_clip(cfg: dict[str, object], shape: tuple[int, int]) -> None:
    frame = photo(*shape)
    transform = from_open_clip(cfg)
    preprocess = image_transform_v2(PreprocessCfg(**cfg), is_train=False)  # type: ignore[arg-type]
    try:
        theirs = preprocess(Image.fromarray(frame))[None]
    except ValueError as error:  # a 1-pixel side rounded to 0: open_clip cannot do it either
        pytest.skip(f"open_clip: {error}")
    assert grey_levels_apart(transform([frame]), theirs, transform.std) <= 1.001


def test_reads_the_config_of_a_real_open_clip_model() -> None:
    cfg = open_clip.get_model_preprocess_cfg(
        open_clip.create_model("RN50", pretrained=None, precision="fp32")
    )
    assert from_open_clip(cfg).resized(360, 640) == (224, 398)


@pytest.mark.parametrize("shape", [(360, 640), (641, 359), (64, 64), (50, 900)])
def test_siglip2_patch_budget_gives_the_same_patches(shape: tuple[int, int]) -> None:
    processor = Siglip2ImageProcessorPil()
    frame = photo(*shape)
    theirs = processor(images=[Image.fromarray(frame)], return_tensors="pt")
    ours = from_hf_image_processor(processor.to_dict())([frame])[0]
    rows, columns = theirs["spatial_shapes"][0].tolist()
    assert ours.shape == (3, rows * 16, columns * 16)
    patches = theirs["pixel_values"][0][: rows * columns].reshape(rows, columns, 16, 16, 3)
    image = patches.permute(4, 0, 2, 1, 3).reshape(ours.shape)
    assert ((ours - image).abs() * 0.5 * 255).max() <= 1.001


def test_odd_margins_crop_where_each_library_crops() -> None:
    """With 3 pixels to spare transformers starts at 1, torchvision at round(1.5) = 2."""
    ramp = np.repeat(np.arange(11, dtype=np.uint8)[None, :, None], 8, axis=0).repeat(3, axis=2)
    plain = ImageTransform(
        fit="none", crop=(8, 8), rescale=1.0, mean=(0, 0, 0), std=(1, 1, 1), crop_start="floor"
    )
    assert plain([ramp])[0, 0, 0].tolist() == list(range(1, 9))
    assert replace(plain, crop_start="round")([ramp])[0, 0, 0].tolist() == list(range(2, 10))


def test_many_frames_equal_each_alone_and_read_only_frames_are_welcome() -> None:
    frames = [photo(120, 160), photo(120, 160)[::-1], np.asarray(Image.fromarray(photo(90, 200)))]
    frames[0].setflags(write=False)
    transform = ImageTransform(size=(32, 32), crop=(32, 32))
    together = transform(frames)
    assert together.shape == (3, 3, 32, 32)
    for frame, pixels in zip(frames, together, strict=True):
        assert torch.equal(transform([frame])[0], pixels)


@pytest.mark.parametrize(
    "frame",
    [
        np.zeros((3, 8, 8), np.uint8),
        np.zeros((8, 8, 3), np.float32),
        np.zeros((8, 8), np.uint8),
        np.zeros((8, 8, 4), np.uint8),
    ],
    ids=["channels_first", "float", "grey", "rgba"],
)
def test_frames_in_another_layout_are_refused(frame: np.ndarray) -> None:
    with pytest.raises(ValueError, match="uint8, h w 3"):
        ImageTransform()([frame])


def test_no_frames_and_mixed_shapes_are_refused() -> None:
    with pytest.raises(ValueError, match="no frames"):
        ImageTransform()([])
    with pytest.raises(ValueError, match="different shapes"):
        ImageTransform(crop=None)([photo(360, 640), photo(360, 480)])


def test_digest_follows_every_field_and_survives_pickling() -> None:
    base = ImageTransform()
    other = [
        replace(base, fit="squash"),
        replace(base, size=(225, 225)),
        replace(base, crop=None),
        replace(base, crop_start="round"),
        replace(base, fill=1),
        replace(base, interpolation="bilinear"),
        replace(base, antialias=False),
        replace(base, rescale=1.0),
        replace(base, mean=(0.5, 0.5, 0.5)),
        replace(base, std=(0.5, 0.5, 0.5)),
    ]
    assert len({base.digest(), *(t.digest() for t in other)}) == len(other) + 1
    again = pickle.loads(pickle.dumps(base))  # noqa: S301 - our own bytes
    assert again == base and again.digest() == base.digest()


def test_antialias_off_is_another_picture() -> None:
    frame = photo(360, 640)
    on, off = (ImageTransform(antialias=flag)([frame]) for flag in (True, False))
    assert (on - off).abs().max() > 0.1


HF = CLIPImageProcessorPil().to_dict()


@pytest.mark.parametrize(
    ("config", "where"),
    [
        ({**HF, "resample": 1}, "resample"),
        ({**HF, "do_pad": True}, "do_pad"),
        ({**HF, "do_flip_channel_order": True}, "do_flip_channel_order"),
        ({**HF, "size": {"shortest_edge": 8, "longest_edge": 9}}, "size"),
        ({**HF, "image_mean": None}, "CLIPImageProcessor"),
        ({k: v for k, v in HF.items() if k != "crop_size"}, "CLIPImageProcessor"),
        ({**HF, "image_std": [0.2, 0.2, 0.0]}, "mean, std"),
        ({**HF, "image_std": [0.2, 0.2]}, "mean, std"),
    ],
)
def test_hf_configs_beyond_the_known_steps_are_errors(
    config: dict[str, object], where: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        from_hf_image_processor(config)
    assert caught.value.where == where


def test_old_spelling_of_a_clip_config() -> None:
    old = from_hf_image_processor({**HF, "size": 224, "crop_size": 224})
    assert old == from_hf_image_processor(HF)


@pytest.mark.parametrize(
    ("cfg", "hint"),
    [
        ({"resize_mode": "shortes"}, "did you mean 'shortest'?"),
        ({"interpolation": "bicubik"}, "did you mean 'bicubic'?"),
        ({"mode": "L"}, "only RGB"),
        ({"size": (1, 2, 3)}, "height, width"),
        ({"size": 0}, "count from 1"),
    ],
)
def test_open_clip_configs_that_do_not_fit_are_errors(cfg: dict[str, object], hint: str) -> None:
    with pytest.raises(ConfigError, match="not supported") as caught:
        from_open_clip(cfg)
    assert hint in caught.value.why


def test_importing_does_not_import_torch() -> None:
    code = "import sys, vbench.preprocess; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=300).returncode == 0


def test_two_steps_make_what_one_call_makes() -> None:
    frames = [np.random.default_rng(i).integers(0, 256, (36, 64, 3), np.uint8) for i in range(3)]
    transform = ImageTransform(size=(24, 24), crop=(20, 20))
    assert isinstance(transform, TwoStepPreprocess)
    levels = transform.shrink(frames)
    assert levels.dtype == torch.uint8
    assert torch.equal(transform.finish(levels), transform(frames))
