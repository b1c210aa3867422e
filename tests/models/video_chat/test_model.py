"""VideoChat's modules against plain arithmetic on the files' own tensors."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from vbench.errors import ModelError
from vbench.models.video_chat.config import VideoChatConfig
from vbench.models.video_chat.model import VideoChatForConditionalGeneration

from ..assembled_files import State
from ..assembled_runs import load, noise, shapes_of, sharing_changes_no_score, two_questions
from ..plain_arithmetic import close
from ..plain_lavis import PlainLavis, gelu

LAYERS, BLOCKS, FEATURES, SIDE = 3, 2, 7, 2
OWN = "videochat_7b.pth"


@pytest.fixture(scope="module")
def model(video_chat: Path) -> Any:
    return load(video_chat)


def video(count: int, rows: int = 1) -> Tensor:
    return noise(count, 8, rows)


class PlainVideoChat(PlainLavis):
    """eva_vit.py's Global_MHRA and videochat.py's encode_img, a cell and a head at a time."""

    def features(self, frames: Tensor) -> Tensor:
        """Takes (frames, 3, side, side), returns (features, words)."""
        towers = [self.tower(frame, LAYERS) for frame in frames]
        token = self.state["visual_encoder.gmhra_cls_token"][0]
        for number in range(BLOCKS):
            states = torch.stack([tower[LAYERS - BLOCKS + number] for tower in towers])
            token = self.watches(f"visual_encoder.gmhra.{number}", token, states)
        seen = torch.cat([*(tower[-1] for tower in towers), token])
        queries = torch.cat([self.state["query_tokens"][0], self.state["extra_query_tokens"][0]])
        read = self.qformer("Qformer", queries, self.norm("ln_vision", seen), every=2)
        return self.linear("llama_proj", read)

    def watches(self, name: str, token: Tensor, states: Tensor) -> Tensor:
        """Takes (1, width) and (frames, tokens, width)."""
        seen = self.norm(f"{name}.ln_3", states)
        kept = seen.clone()
        kernel = self.state[f"{name}.dpe.weight"][:, 0]
        for place in self.places(len(states)):
            frame, row, column = place
            total = self.state[f"{name}.dpe.bias"].clone()
            for near in self.places(len(states)):
                step = [there - here + 1 for there, here in zip(near, place, strict=True)]
                if all(0 <= part <= 2 for part in step):
                    total += kernel[:, step[0], step[1], step[2]] * seen[self.at(near)]
            kept[frame, 1 + row * SIDE + column] += total
        rows = self.state[f"{name}.attn.in_proj_weight"].chunk(3)
        biases = self.state[f"{name}.attn.in_proj_bias"].chunk(3)
        tokens = kept.flatten(0, 1)
        asked = [self.norm(f"{name}.ln_1", token), tokens, tokens]
        parts = [x @ row.T + bias for x, row, bias in zip(asked, rows, biases, strict=True)]
        token = token + self.linear(f"{name}.attn.out_proj", self.attended(*parts))
        inner = gelu(self.linear(f"{name}.mlp.c_fc", self.norm(f"{name}.ln_2", token)))
        return token + self.linear(f"{name}.mlp.c_proj", inner)

    @staticmethod
    def places(frames: int) -> list[tuple[int, int, int]]:
        return [(t, y, x) for t in range(frames) for y in range(SIDE) for x in range(SIDE)]

    @staticmethod
    def at(place: tuple[int, int, int]) -> tuple[int, int]:
        return place[0], 1 + place[1] * SIDE + place[2]


@pytest.mark.parametrize("count", [1, 3])
def test_features_equal_plain_arithmetic(model: Any, state: State, count: int) -> None:
    plain, pixels = PlainVideoChat(state), video(count, rows=2)
    with torch.no_grad():
        found = model.get_video_features(pixels)
    assert found.shape == (2, FEATURES, 16)
    close(found, torch.stack([plain.features(each) for each in pixels]), 1e-6)


def test_the_authors_norm_replaces_that_of_lavis(
    model: Any, state: State, video_chat: Path
) -> None:
    lavis = torch.load(video_chat / "blip2_pretrained_flant5xxl.pth", weights_only=True)["model"]
    own = model.vision_model.post_layernorm.weight
    assert torch.equal(own, state["ln_vision.weight"])
    assert not torch.equal(own, lavis["ln_vision.weight"])


def test_the_norm_after_the_tower_is_lavis_s(model: Any) -> None:
    """A plain torch norm, where transformers gives BLIP-2 the tower's own 1e-6."""
    assert model.vision_model.post_layernorm.eps == torch.nn.LayerNorm(1).eps == 1e-5


def test_sizes_are_the_published_ones_where_config_json_says_none() -> None:
    said = {"model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 1}
    config = VideoChatConfig.from_dict(said)
    found = shapes_of(VideoChatForConditionalGeneration, config)
    sizes = {
        "vision_model.encoder.layers.38.mlp.fc1.weight": (6144, 1408),
        "gmhra_cls_token": (1, 1, 1408),
        "gmhra.7.dpe.weight": (1408, 1, 3, 3, 3),
        "gmhra.7.attn.in_proj_weight": (4224, 1408),
        "gmhra.7.mlp.c_fc.weight": (6144, 1408),
        "query_tokens": (1, 32, 768),
        "extra_query_tokens": (1, 64, 768),
        "qformer.encoder.layer.10.crossattention.attention.key.weight": (768, 1408),
        "llama_proj.weight": (4096, 768),
    }
    assert sizes.items() <= found.items()
    assert not [
        name for name in found if name.startswith(("gmhra.8", "vision_model.encoder.layers.39"))
    ]
    assert config.vision_config.num_attention_heads == 16
    assert config.features == 96


def test_all_weights_come_in_the_precision_asked_for(video_chat: Path) -> None:
    model = load(video_chat, "bf16-true")
    assert {weight.dtype for weight in model.parameters()} == {torch.bfloat16}
    assert model.get_video_features(video(2).bfloat16()).dtype == torch.bfloat16


def test_sharing_a_prefix_changes_no_score(model: Any) -> None:
    visual = (model.config.video_token_id,) * FEATURES
    sharing_changes_no_score(model, two_questions(*visual), video(2))


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("visual_encoder.gmhra.1.ln_3.bias", None, "1 missing (gmhra.1.ln_3.bias)"),
        ("visual_encoder.blocks.0.lmhra1.bias", torch.ones(8), "not known to the model"),
        ("llama_proj.bias", torch.ones(3), "1 mis-shaped (llama_proj.bias)"),
    ],
)
def test_a_file_that_does_not_fill_the_model_is_refused(
    video_chat: Path, tmp_path: Path, name: str, value: Tensor | None, why: str
) -> None:
    folder = tmp_path / "changed"
    shutil.copytree(video_chat, folder)
    content = torch.load(folder / OWN, weights_only=True)
    content["model"].pop(name, None)
    if value is not None:
        content["model"][name] = value
    torch.save(content, folder / OWN)
    with pytest.raises(ModelError) as caught:
        load(folder)
    assert why in caught.value.why
