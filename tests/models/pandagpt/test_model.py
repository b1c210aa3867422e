"""PandaGPT's modules against plain arithmetic on the tensors of its files."""

from __future__ import annotations

import shutil
from math import prod
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from vbench.errors import ModelError
from vbench.models.pandagpt.config import PandaGptConfig
from vbench.models.pandagpt.model import PandaGptForConditionalGeneration

from ..assembled_files import State
from ..assembled_runs import load, shapes_of
from ..plain_arithmetic import Plain, attend
from .conftest import HEADS, LAYERS, SIDE, WIDTH


@pytest.fixture(scope="module")
def model(pandagpt: Path) -> Any:
    return load(pandagpt, alpha=6.0)


class ImageBind(Plain):
    """In fp64 with loops over patches and heads, read off the paper and the published names."""

    before, trunk, head = (
        f"modality_{part}.vision" for part in ("preprocessors", "trunks", "heads")
    )

    def vector(self, pair: Tensor) -> Tensor:
        """Takes two frames (2, 3, side, side), returns (channels,) of length one."""
        kernel = self.state[f"{self.before}.rgbt_stem.proj.1.weight"]  # (width, 3, 2, …)
        step = kernel.shape[-1]
        cells = [
            (kernel * pair[:, :, y : y + step, x : x + step].transpose(0, 1)).sum((1, 2, 3, 4))
            for y in range(0, SIDE, step)
            for x in range(0, SIDE, step)
        ]
        x = torch.stack([self.state[f"{self.before}.cls_token"][0, 0], *cells])
        x = x + self.state[f"{self.before}.pos_embedding_helper.pos_embed"][0]
        x = self.norm(f"{self.trunk}.pre_transformer_layer.0", x, 1e-6)
        for number in range(LAYERS):
            x = self.block(f"{self.trunk}.blocks.{number}", x)
        found = self.norm(f"{self.head}.0", x[0], 1e-6) @ self.state[f"{self.head}.2.weight"].T
        return found / found.square().sum().sqrt()

    def block(self, name: str, x: Tensor) -> Tensor:
        mixed = self.norm(f"{name}.norm_1", x, 1e-6) @ self.state[f"{name}.attn.in_proj_weight"].T
        mixed = mixed + self.state[f"{name}.attn.in_proj_bias"]
        parts = [part.chunk(HEADS, dim=-1) for part in mixed.split(WIDTH, dim=-1)]
        heads = [attend(*head) for head in zip(*parts, strict=True)]
        x = x + self.linear(f"{name}.attn.out_proj", torch.cat(heads, dim=-1))
        inner = self.linear(f"{name}.mlp.fc1", self.norm(f"{name}.norm_2", x, 1e-6))
        exact = inner * 0.5 * (1 + torch.erf(inner / 2**0.5))
        return x + self.linear(f"{name}.mlp.fc2", exact)


@pytest.mark.parametrize(("height", "width"), [(16, 16), (16, 29), (23, 16)])
def test_a_video_is_the_mean_over_clips_and_squares(
    model: Any, state: State, height: int, width: int
) -> None:
    made = torch.Generator().manual_seed(height + width)
    pixels = torch.randn(2, 4, 3, height, width, generator=made)
    ends = torch.tensor([[[0, 1], [2, 3]], [[0, 2], [3, 3]]])
    with torch.no_grad():
        found = model.get_video_features(pixels, ends)
    plain = ImageBind(state)
    right = []
    for video, pairs in zip(pixels.double(), ends, strict=True):
        views = []
        for pair in pairs:
            for part in range(3):
                y, x = ((size - 16) * part for size in (height, width))
                y, x = -(-y // 2), -(-x // 2)  # nothing, half of what is spare rounded up, all
                views.append(plain.vector(video[pair][:, :, y : y + 16, x : x + 16]))
        right.append(plain.linear("llama_proj", torch.stack(views).mean(0)))
    assert found.shape == (2, 1, 16)
    scale = torch.stack(right).abs().max()
    assert scale > 0.5
    torch.testing.assert_close(found[:, 0].double(), torch.stack(right), rtol=0, atol=1e-6 * scale)


def test_each_clip_its_frames_and_their_order_matter(model: Any) -> None:
    pixels = torch.randn(1, 4, 3, 16, 20, generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        found = [
            model.get_video_features(pixels, torch.tensor([ends]))
            for ends in ([[0, 1], [2, 3]], [[1, 0], [2, 3]], [[0, 1], [3, 3]], [[0, 1]])
        ]
    for other in found[1:]:
        assert (found[0] - other).abs().max() > 1e-3


def test_sizes_are_imagebind_huges_where_config_json_says_none() -> None:
    said = {"model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 1, "vocab_size": 32001}
    config = PandaGptConfig.from_dict(said)
    found = shapes_of(PandaGptForConditionalGeneration, config)
    root = "visual_encoder.modality_{}.vision.{}"
    sizes = {
        root.format("preprocessors", "rgbt_stem.proj.1.weight"): (1280, 3, 2, 14, 14),
        root.format("preprocessors", "pos_embedding_helper.pos_embed"): (1, 257, 1280),
        root.format("trunks", "blocks.31.attn.in_proj_weight"): (3840, 1280),
        root.format("trunks", "blocks.31.mlp.fc1.weight"): (5120, 1280),
        root.format("heads", "2.weight"): (1024, 1280),
        "llama_proj.weight": (4096, 1024),
    }
    assert sizes.items() <= found.items()
    assert not [name for name in found if "blocks.32." in name]
    assert config.vision_config.num_attention_heads == 16
    assert config.video_token_id == 32001
    vision = [prod(shape) for name, shape in found.items() if name.startswith("visual_encoder")]
    assert sum(vision) == 632_829_440  # as in Girdhar et al.: a ViT-H of 630 M


def test_the_lora_is_added_at_the_scale_of_its_training(model: Any, state: State) -> None:
    name = "model.layers.1.self_attn.{}_proj"
    for part in "qkvo":
        layer = name.format(part)
        wrapped = f"llama_model.base_model.model.{layer}"
        down = state[f"{wrapped}.lora_A.default.weight"].double()
        up = state[f"{wrapped}.lora_B.default.weight"].double()
        right = state[f"{layer}.weight"].double() + 6.0 / 3 * up @ down
        found = model.language_model.get_parameter(f"{layer}.weight")
        torch.testing.assert_close(found.double(), right, rtol=0, atol=1e-5)
    kept = "model.layers.1.mlp.up_proj.weight"
    assert torch.equal(model.language_model.get_parameter(kept), state[kept])


def test_a_folder_that_is_not_whole_is_refused(pandagpt: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="a LoRA lies among them") as caught:
        load(pandagpt)
    assert "model.adapter={alpha" in caught.value.mend
    folder = tmp_path / "copy"
    shutil.copytree(pandagpt, folder)
    vision = torch.load(folder / "imagebind_huge.pth", weights_only=True)
    del vision["modality_heads.vision.2.weight"]
    torch.save(vision, folder / "imagebind_huge.pth")
    with pytest.raises(ModelError, match="do not fit the model") as caught:
        load(folder, alpha=6.0)
    assert "visual_encoder.modality_heads.vision.2.weight" in caught.value.why
    (folder / "imagebind_huge.pth").unlink()
    with pytest.raises(ModelError, match=r"imagebind_huge\.pth is missing") as caught:
        load(folder, alpha=6.0)
    assert "dl.fbaipublicfiles.com" in caught.value.mend
