"""CLIP-ViP from files with the published layout, against attention written out token by token."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from jaxtyping import Float
from torch import Tensor

from vbench.errors import ModelError
from vbench.models.clip_vip import ClipVip, proxy_mask, video_features
from vbench.protocols import ClipEncoder, FrameEncoder, TextLimit

from .conftest import State, build_clip
from .research_files import ADDED, clip_vip_state, tuned

TEXTS = ["a red circle jumps", "the blue square pushes it and then it is lying", "red"]
VISION = "vision_model.embeddings"
PROXIES, PATCHES = 1 + ADDED, 4  # 32 px in patches of 16


@pytest.fixture(scope="module")
def clip(clip_folder: Path) -> torch.nn.Module:
    return tuned(clip_folder)


@pytest.fixture(scope="module")
def state(clip: torch.nn.Module) -> State:
    return clip_vip_state(clip)


@pytest.fixture(scope="module")
def file(state: State, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("vip") / "pretrain_clipvip_base.pt"
    torch.save(state, path)
    return path


@pytest.fixture(scope="module")
def model(file: Path, clip_folder: Path) -> ClipVip:
    return ClipVip(str(file), str(clip_folder))


def reference(state: State, pixels: Float[Tensor, "t 3 h w"], heads: int = 2) -> Tensor:
    """One clip's unit embedding from the file's tensors, a token at a time, in float64."""
    weights = {name.removeprefix("clipmodel."): w.double() for name, w in state.items()}
    tokens, frame_of = reference_tokens(weights, pixels.double())

    def norm(x: Tensor, name: str) -> Tensor:
        centred = x - x.mean(-1, keepdim=True)
        scaled = centred / (x.var(-1, unbiased=False, keepdim=True) + 1e-5).sqrt()
        return (
            scaled * weights[f"vision_model.{name}.weight"] + weights[f"vision_model.{name}.bias"]
        )

    def linear(x: Tensor, name: str) -> Tensor:
        return x @ weights[f"vision_model.{name}.weight"].T + weights[f"vision_model.{name}.bias"]

    x = norm(tokens, "pre_layrnorm")
    for layer in ("encoder.layers.0", "encoder.layers.1"):
        h = norm(x, f"{layer}.layer_norm1")
        q, k, v = (
            linear(h, f"{layer}.self_attn.{name}_proj").unflatten(-1, (heads, -1)) for name in "qkv"
        )
        mixed = torch.zeros_like(q)
        for i, mine in enumerate(frame_of):
            seen = [j for j, other in enumerate(frame_of) if None in (mine, other) or mine == other]
            for head in range(heads):
                logits = (k[seen, head] @ q[i, head]) / math.sqrt(q.shape[-1])
                mixed[i, head] = logits.softmax(0) @ v[seen, head]
        x = x + linear(mixed.flatten(1), f"{layer}.self_attn.out_proj")
        h = linear(norm(x, f"{layer}.layer_norm2"), f"{layer}.mlp.fc1")
        x = x + linear(h * torch.sigmoid(1.702 * h), f"{layer}.mlp.fc2")
    features = norm(x[0], "post_layernorm") @ weights["visual_projection.weight"].T
    return features / features.norm()


def reference_tokens(weights: State, pixels: Tensor) -> tuple[Tensor, list[int | None]]:
    """Returns the tokens and the frame of each, None for a proxy."""
    positions = weights[f"{VISION}.position_embedding.weight"]
    kernel = weights[f"{VISION}.patch_embedding.weight"]
    tokens = [weights[f"{VISION}.class_embedding"] + positions[0]]
    tokens += [added + positions[0] for added in weights[f"{VISION}.added_cls"]]
    frame_of: list[int | None] = [None] * len(tokens)
    learnt = weights[f"{VISION}.temporal_embedding"][0].numpy()
    for t, frame in enumerate(pixels):
        # linear, half-pixel centres, clamped at both ends: F.interpolate(mode="linear")
        place = (t + 0.5) * len(learnt) / len(pixels) - 0.5
        moment = [np.interp(place, range(len(learnt)), column) for column in learnt.T]
        for patch in range(PATCHES):
            row, column = 16 * (patch // 2), 16 * (patch % 2)
            cut = frame[:, row : row + 16, column : column + 16]
            tokens.append(
                (kernel * cut).sum((1, 2, 3)) + torch.tensor(moment) + positions[1 + patch]
            )
            frame_of.append(t)
    return torch.stack(tokens), frame_of


@pytest.mark.parametrize("frames", [1, 5, 12, 20])
def test_equals_attention_token_by_token(frames: int, model: ClipVip, state: State) -> None:
    """Twelve frames have their own moments; of other counts they are interpolated."""
    pixels = torch.randn(2, frames, 3, 32, 32)
    vectors: Float[Tensor, "b d"] = model.embed_clips(pixels)
    expected = torch.stack([reference(state, clip) for clip in pixels])
    assert (vectors - expected).abs().max() < 1e-6
    assert (expected[0] - expected[1]).abs().max() > 1e-3
    assert vectors.dtype == torch.float32


def test_a_patch_sees_its_frame_and_the_proxies_only(model: ClipVip) -> None:
    """What another frame shows reaches a patch through a proxy, one layer later, never directly."""
    vision = model.module.vision_model
    seen: list[Tensor] = []
    hook = vision.encoder.layers[0].register_forward_hook(lambda *of: seen.append(of[2]))
    pixels = torch.randn(1, 3, 3, 32, 32)
    changed = pixels.clone()
    changed[0, 1] += 1.0
    for clip in (pixels, changed):
        video_features(model.module, clip)
    hook.remove()
    moved = (seen[0] - seen[1])[0].abs().amax(-1) > 1e-6
    assert moved.tolist() == [True] * PROXIES + [False] * 4 + [True] * 4 + [False] * 4


def test_the_mask_of_twelve_frames() -> None:
    mask = proxy_mask(PROXIES, 12, 49)  # B/32 at 224 px
    assert mask.shape == (592, 592)
    assert torch.equal(mask, mask.T)
    assert mask[:PROXIES].all()
    blocks = mask[PROXIES:, PROXIES:]
    assert torch.equal(blocks, torch.block_diag(*[torch.ones(49, 49)] * 12).bool())


def test_frames_have_an_order(model: ClipVip) -> None:
    pixels = torch.randn(1, 4, 3, 32, 32)
    there, back = model.embed_clips(pixels), model.embed_clips(pixels.flip(1))
    assert (there - back).abs().max() > 1e-3


def test_texts_are_read_as_by_clip(model: ClipVip, clip: torch.nn.Module) -> None:
    vectors, truncated = model.embed_texts(TEXTS)
    texts = clip.get_text_features(**model._texts.inputs(TEXTS)).pooler_output
    assert (vectors - torch.nn.functional.normalize(texts, dim=-1)).abs().max() < 1e-6
    assert truncated == [False] * 3
    assert isinstance(model, TextLimit)
    assert model.max_text_tokens == 77
    assert model.overlong([" ".join(["red"] * n) for n in (75, 76)]) == [False, True]


def test_every_weight_is_loaded_and_only_moments_and_proxies_are_new(
    model: ClipVip, state: State, clip: torch.nn.Module
) -> None:
    assert isinstance(model, ClipEncoder)
    assert not isinstance(model, FrameEncoder)
    own = model.module.state_dict()
    assert own.keys() - clip.state_dict().keys() == {
        f"{VISION}.added_cls",
        f"{VISION}.temporal_embedding",
    }
    for name, weight in own.items():
        assert torch.equal(weight, state[f"clipmodel.{name}"]), name
    assert not any(p.requires_grad for p in model.module.parameters())


def test_runs_in_bfloat16(file: Path, clip_folder: Path, model: ClipVip) -> None:
    pixels = torch.randn(2, 12, 3, 32, 32)
    exact = model.embed_clips(pixels)
    mixed = ClipVip(str(file), str(clip_folder))
    with torch.autocast("cpu", torch.bfloat16):
        assert (mixed.embed_clips(pixels) - exact).abs().max() < 0.05
    mixed.module.to(torch.bfloat16)
    rough = mixed.embed_clips(pixels.to(torch.bfloat16))
    assert rough.dtype == torch.float32
    assert (rough - exact).abs().max() < 0.05
    assert mixed.embed_texts(TEXTS)[0].dtype == torch.float32


def failure(state: State, base: Path, path: Path) -> ModelError:
    torch.save(state, path)
    with pytest.raises(ModelError) as caught:
        _ = ClipVip(str(path), str(base)).module
    assert caught.value.mend
    return caught.value


def without(name: str) -> Callable[[State], State]:
    return lambda state: {key: value for key, value in state.items() if not key.endswith(name)}


WRONG = {
    "plain CLIP": (without("added_cls"), f"1 missing ({VISION}.added_cls)"),
    "no moments": (without("temporal_embedding"), f"1 missing ({VISION}.temporal_embedding)"),
    "a layer lacks": (
        without("text_model.encoder.layers.1.mlp.fc2.bias"),
        "1 missing (text_model.encoder.layers.1.mlp.fc2.bias)",
    ),
    "a head": (
        lambda state: state | {"clipmodel.head.weight": torch.zeros(2, 2)},
        "1 not known to the model (head.weight)",
    ),
    "another width": (
        lambda state: state | {f"clipmodel.{VISION}.added_cls": torch.zeros(3, 8)},
        f"1 mis-shaped ({VISION}.added_cls)",
    ),
    "flat moments": (
        lambda state: state | {f"clipmodel.{VISION}.temporal_embedding": torch.zeros(12)},
        f"1 mis-shaped ({VISION}.temporal_embedding)",
    ),
}


@pytest.mark.parametrize("fault", WRONG)
def test_a_file_of_another_layout_names_its_keys(
    fault: str, state: State, clip_folder: Path, tmp_path: Path
) -> None:
    change, why = WRONG[fault]
    error = failure(change(state), clip_folder, tmp_path / "x.pt")
    assert error.what.startswith("the weights do not fit the model: ")
    assert why in error.why


def test_other_numbers_of_proxies_and_moments_are_read_off_the_file(
    state: State, clip_folder: Path, tmp_path: Path
) -> None:
    fewer = {
        f"clipmodel.{VISION}.added_cls": state[f"clipmodel.{VISION}.added_cls"][:1],
        f"clipmodel.{VISION}.temporal_embedding": torch.randn(1, 4, 32),
    }
    torch.save(state | fewer, tmp_path / "x.pt")
    pixels = torch.randn(1, 6, 3, 32, 32)
    vectors = ClipVip(str(tmp_path / "x.pt"), str(clip_folder)).embed_clips(pixels)
    assert (vectors[0] - reference(state | fewer, pixels[0])).abs().max() < 1e-6


def test_base_and_file_must_be_right(file: Path, siglip_folder: Path, clip_folder: Path) -> None:
    with pytest.raises(ModelError, match="a model of type siglip cannot be the base"):
        ClipVip(str(file), str(siglip_folder))
    with pytest.raises(ModelError, match="there is no such file"):
        ClipVip(str(file.with_name("x.pt")), str(clip_folder))


@pytest.fixture(scope="module")
def frame() -> np.ndarray:
    return np.random.default_rng(0).integers(0, 256, (48, 96, 3), dtype=np.uint8)


def test_frames_are_squashed_as_in_its_own_evaluation(model: ClipVip, frame: np.ndarray) -> None:
    """Its transform: torchvision 0.9 on a float tensor, hence bicubic without antialiasing."""
    levels = torch.from_numpy(frame).permute(2, 0, 1)[None].float() / 255
    squashed = torch.nn.functional.interpolate(levels, (32, 32), mode="bicubic")[0]
    mean, std = (
        torch.tensor(values).reshape(3, 1, 1)
        for values in (
            (0.48145466, 0.4578275, 0.40821073),
            (0.26862954, 0.26130258, 0.27577711),
        )
    )
    expected = (squashed.clamp(0, 1) - mean) / std  # our grey levels cannot overshoot
    assert (model.preprocess([frame])[0] - expected).abs().max() < 1.01 / 255 / 0.26


def test_frames_are_cropped_as_by_velocitis_processor(
    file: Path, clip_folder: Path, frame: np.ndarray
) -> None:
    from transformers import VideoMAEImageProcessor

    theirs = VideoMAEImageProcessor(  # the class and settings of microsoft/xclip-base-patch16
        size={"shortest_edge": 32},
        crop_size={"height": 32, "width": 32},
        resample=2,
        image_mean=[0.485, 0.456, 0.406],
        image_std=[0.229, 0.224, 0.225],
    )([[frame]], return_tensors="np")["pixel_values"]
    ours = ClipVip(str(file), str(clip_folder), processing="xclip").preprocess([frame])
    assert np.abs(ours.numpy() - theirs[0]).max() < 1.01 / 255 / 0.22


def test_identity_is_of_file_and_base(
    file: Path, clip_folder: Path, state: State, tmp_path: Path, model: ClipVip
) -> None:
    copy = tmp_path / "copy.pt"
    copy.write_bytes(file.read_bytes())
    assert ClipVip(str(copy), str(clip_folder)).identity() == model.identity()
    torch.save(state | {"clipmodel.logit_scale": torch.tensor(2.0)}, copy)
    others = [
        ClipVip(str(copy), str(clip_folder)),
        ClipVip(str(file), str(build_clip(tmp_path / "base", seed=3))),
        ClipVip(str(file), str(clip_folder), max_text_tokens=9),
    ]
    assert len({other.identity() for other in [model, *others]}) == 4
    xclip = ClipVip(str(file), str(clip_folder), processing="xclip")
    assert xclip.preprocess.digest() != model.preprocess.digest()
