"""ViFi-CLIP from files with the published layout, against transformers and open_clip."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from jaxtyping import Float
from torch import Tensor

from vbench.errors import ModelError
from vbench.models.vifi_clip import ViFiClip
from vbench.models.weight_file import read_state
from vbench.protocols import ClipEncoder, FrameEncoder

from .conftest import State, build_clip, to_open_clip
from .research_files import tuned, vifi_state, write_vifi

TEXTS = ["a red circle jumps", "the blue square pushes it and then it is lying", "red"]


@pytest.fixture(scope="module")
def model(clip_folder: Path) -> torch.nn.Module:
    """What ViFi-CLIP's training would end with: all tuned but the token embedding."""
    return tuned(clip_folder, tokens=False)


@pytest.fixture(scope="module")
def file(model: torch.nn.Module, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_vifi(tmp_path_factory.mktemp("vifi") / "vifi.pth", vifi_state(model))


def test_equals_the_tuned_clip(file: Path, clip_folder: Path, model: torch.nn.Module) -> None:
    ours = ViFiClip(str(file), str(clip_folder))
    pixels = torch.randn(3, 3, 32, 32)
    frames: Float[Tensor, "n d"] = ours.embed_frames(pixels)
    expected = model.get_image_features(pixels).pooler_output
    assert (frames - expected).abs().max() < 1e-6
    vectors, truncated = ours.embed_texts(TEXTS)
    inputs = ours._texts.inputs(TEXTS)
    texts = model.get_text_features(**inputs).pooler_output
    assert (vectors - torch.nn.functional.normalize(texts, dim=-1)).abs().max() < 1e-6
    assert truncated == [False] * 3
    assert isinstance(ours, FrameEncoder)
    assert not isinstance(ours, ClipEncoder)
    for name, weight in ours.module.state_dict().items():
        assert torch.equal(weight, model.state_dict()[name]), name
        assert weight.dtype == torch.float32
    plain = tuned(clip_folder, seed=0)
    assert (plain.get_image_features(pixels).pooler_output - expected).abs().max() > 0.01


def test_equals_open_clip_on_the_files_own_names(file: Path, clip_folder: Path) -> None:
    """The file's weights under open_clip's names, which differ from its own by a prefix."""
    open_clip = pytest.importorskip("open_clip", reason="the extra open_clip is not installed")
    ours = ViFiClip(str(file), str(clip_folder))
    state = {
        name.replace("image_encoder.", "visual.").replace("text_encoder.", ""): weight
        for name, weight in read_state(file).items()
        if not name.startswith("prompt_learner")
    }
    base = to_open_clip(tuned(clip_folder, seed=0, tokens=False).state_dict())
    state["token_embedding.weight"] = base["token_embedding.weight"]
    tower = {"layers": 2, "width": 32}
    vocabulary, eot = len(base["token_embedding.weight"]), "argmax"
    theirs = open_clip.CLIP(
        embed_dim=24,
        vision_cfg={"image_size": 32, "patch_size": 16, "head_width": 16, "mlp_ratio": 2, **tower},
        text_cfg={"vocab_size": vocabulary, "heads": 2, "mlp_ratio": 2, "pool_type": eot, **tower},
        quick_gelu=True,
    ).eval()
    theirs.load_state_dict(state)
    pixels = torch.randn(3, 3, 32, 32)
    with torch.no_grad():
        assert (ours.embed_frames(pixels) - theirs.encode_image(pixels)).abs().max() < 1e-5
        ids = ours._texts._tokenizer(TEXTS, padding="max_length", return_tensors="pt")["input_ids"]
        texts = theirs.encode_text(ids, normalize=True)
    assert (ours.embed_texts(TEXTS)[0] - texts).abs().max() < 1e-5


def failure(file: Path, base: Path) -> ModelError:
    with pytest.raises(ModelError) as caught:
        _ = ViFiClip(str(file), str(base)).module
    assert caught.value.mend
    return caught.value


def without(name: str) -> Callable[[State], State]:
    return lambda state: {key: value for key, value in state.items() if key != name}


WRONG = {
    "a weight lacks": (
        without("module.image_encoder.transformer.resblocks.1.attn.in_proj_bias"),
        "1 missing (image_encoder.transformer.resblocks.1.attn.in_proj_bias)",
    ),
    "learnt prompts": (
        lambda state: state | {"module.prompt_learner.ctx": torch.zeros(4, 32)},
        "1 not known to the model (prompt_learner.ctx)",
    ),
    "another width": (
        lambda state: state | {"module.text_encoder.text_projection": torch.zeros(32, 25)},
        "1 mis-shaped (text_encoder.text_projection)",
    ),
    "open_clip's names": (
        lambda state: {k.replace("image_encoder.", "visual."): v for k, v in state.items()},
        "not known to the model (visual.class_embedding",
    ),
}


@pytest.mark.parametrize("fault", WRONG)
def test_a_file_of_another_layout_names_its_keys(
    fault: str, model: torch.nn.Module, clip_folder: Path, tmp_path: Path
) -> None:
    change, why = WRONG[fault]
    error = failure(write_vifi(tmp_path / "x.pth", change(vifi_state(model))), clip_folder)
    assert error.what.startswith("the weights do not fit the model: ")
    assert why in error.why


def test_a_base_that_it_was_not_tuned_from(file: Path, tmp_path: Path) -> None:
    """Of the same shape, so that nothing else would tell."""
    error = failure(file, build_clip(tmp_path / "other", seed=3))
    assert error.what == "the base is not the CLIP that the weights were tuned from"


def test_a_file_may_lack_the_class_names(
    model: torch.nn.Module, clip_folder: Path, tmp_path: Path
) -> None:
    state = without("module.prompt_learner.complete_text_embeddings")(vifi_state(model))
    ours = ViFiClip(str(write_vifi(tmp_path / "x.pth", state)), str(clip_folder))
    assert torch.equal(ours.module.logit_scale, model.logit_scale)


def test_a_base_that_is_no_clip(file: Path, siglip_folder: Path) -> None:
    error = failure(file, siglip_folder)
    assert error.what == "a model of type siglip cannot be the base"


def test_no_such_file(file: Path, clip_folder: Path) -> None:
    error = failure(file.with_name("vifo.pth"), clip_folder)
    assert error.what == "there is no such file"
    assert "did you mean 'vifi.pth'?" in error.mend
    assert "docs/models.md" in error.mend


def test_frames_are_cropped_as_in_its_own_evaluation(file: Path, clip_folder: Path) -> None:
    """datasets/build.py: short side 8/7 of the model's, OpenCV's bilinear, ImageNet's numbers."""
    transform = ViFiClip(str(file), str(clip_folder)).preprocess
    assert transform.resized(72, 128) == (36, 64)  # of 32, as 256 of 224
    frame = np.random.default_rng(0).integers(0, 256, (72, 128, 3), dtype=np.uint8)
    halved = frame.astype(np.float64).reshape(36, 2, 64, 2, 3).mean((1, 3))  # bilinear at one half
    cropped = halved[2:34, 16:48]
    mean, std = np.array([123.675, 116.28, 103.53]), np.array([58.395, 57.12, 57.375])
    expected = ((cropped - mean) / std).transpose(2, 0, 1)
    assert np.abs(transform([frame])[0].numpy() - expected).max() < 0.018  # one grey level


def test_identity_is_of_file_and_base(
    file: Path, clip_folder: Path, model: torch.nn.Module, tmp_path: Path
) -> None:
    ours = ViFiClip(str(file), str(clip_folder))
    copy = tmp_path / "copy.pth"
    copy.write_bytes(file.read_bytes())
    assert ViFiClip(str(copy), str(clip_folder)).identity() == ours.identity()
    changed = vifi_state(model) | {"module.logit_scale": torch.tensor(2.0)}
    others = [
        ViFiClip(str(write_vifi(tmp_path / "other.pth", changed)), str(clip_folder)),
        ViFiClip(str(file), str(build_clip(tmp_path / "base", seed=3))),
        ViFiClip(str(file), str(clip_folder), pooling="normalise_then_mean"),
        ViFiClip(str(file), str(clip_folder), max_text_tokens=9),
    ]
    assert len({other.identity() for other in [ours, *others]}) == 5
