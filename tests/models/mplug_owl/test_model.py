"""mPLUG-Owl-Video's modules against plain arithmetic on the checkpoint's own tensors."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from vbench.errors import ModelError
from vbench.models.vlm.prefix import Scored

from ..assembled_runs import load, noise, sharing_changes_no_score
from ..plain_arithmetic import Plain, State, attend, close

HEADS = 2


@pytest.fixture(scope="module")
def model(owl: Path) -> Any:
    return load(owl)


class Owl(Plain):
    """The same with loops over frames, heads and moments, read off the published code."""

    def temporal(self, name: str, frames: Tensor) -> Tensor:
        """A dense convolution over (frames, rows, columns) by loops over moments."""
        made = torch.cat([frames[:, :1], torch.zeros_like(frames[:, 1:])], dim=1)
        down = self.linear(f"{name}.down_proj", self.norm(f"{name}.ln", frames[:, 1:]))
        kernel = self.state[f"{name}.conv.weight"][:, 0, :, 0, 0]  # (channels, 3)
        for at in range(len(frames)):
            total = self.state[f"{name}.conv.bias"].expand_as(down[at]).clone()
            for step in (-1, 0, 1):
                if 0 <= at + step < len(frames):
                    total += kernel[:, step + 1] * down[at + step]
            made[at, 1:] = self.linear(f"{name}.up_proj", total * (1.702 * total).sigmoid())
        return made

    def tower(self, frames: Tensor) -> Tensor:
        """Takes (frames, 3, side, side), returns (frames, tokens, width)."""
        kernel = self.state["vision_model.embeddings.patch_embed.weight"]
        side = kernel.shape[-1]
        rows = range(0, frames.shape[-1], side)
        tokens = [
            torch.stack(
                [self.state["vision_model.embeddings.cls_token"][0, 0]]
                + [
                    (kernel * frame[:, y : y + side, x : x + side]).sum((1, 2, 3))
                    for y in rows
                    for x in rows
                ]
            )
            for frame in frames
        ]
        places = self.state["vision_model.embeddings.position_embedding"]
        x = self.norm("vision_model.embeddings.pre_layernorm", torch.stack(tokens) + places, 1e-6)
        for number in range(2):
            name = f"vision_model.encoder.layers.{number}"
            if len(x) > 1:
                x = x + self.temporal(f"{name}.temporal", x)
            x = torch.stack([self.block(name, frame) for frame in x])
        return self.norm("vision_model.post_layernorm", x, 1e-6)

    def block(self, name: str, x: Tensor) -> Tensor:
        mixed = self.linear(
            f"{name}.self_attn.query_key_value", self.norm(f"{name}.input_layernorm", x, 1e-6)
        )
        size = x.shape[-1] // HEADS
        heads = [
            attend(*mixed[:, 3 * head * size : 3 * (head + 1) * size].split(size, dim=-1))
            for head in range(HEADS)
        ]
        x = x + self.linear(f"{name}.self_attn.dense", torch.cat(heads, dim=-1))
        inner = self.linear(
            f"{name}.mlp.fc1", self.norm(f"{name}.post_attention_layernorm", x, 1e-6)
        )
        return x + self.linear(f"{name}.mlp.fc2", inner * (1.702 * inner).sigmoid())

    def features(self, frames: Tensor) -> Tensor:
        """Takes (frames, 3, side, side), returns (features, words)."""
        seen = self.tower(frames.double()).flatten(0, 1)
        queries = [self.state["query_tokens"][0]]
        if len(frames) > 1:
            queries.append(self.state["temporal_query_tokens"][0])
        count, x = len(queries[0]), torch.cat(queries)
        for number in range(2):
            x = self.reading(f"abstractor.encoder.layers.{number}.crossattention", x, seen)
        made = self.linear("abstractor.visual_fc", x[:count])
        if len(frames) > 1:
            made = made + self.linear("abstractor.temporal_visual_fc", x[count:])
        return torch.cat([made, self.state["abstractor.vit_eos"][0]])

    def reading(self, name: str, x: Tensor, seen: Tensor) -> Tensor:
        x = self.norm(f"{name}.norm1", x)
        both = torch.cat([x, self.norm(f"{name}.normk", seen)])
        query, key, value = (
            self.linear(f"{name}.attention.{part}", what).chunk(HEADS, dim=-1)
            for part, what in (("query", x), ("key", both), ("value", both))
        )
        heads = [attend(*head) for head in zip(query, key, value, strict=True)]
        x = x + self.linear(f"{name}.output.out_proj", torch.cat(heads, dim=-1))
        inner = self.norm(f"{name}.output.norm2", x)
        gate = self.linear(f"{name}.output.mlp.w1", inner)
        gated = gate * gate.sigmoid() * self.linear(f"{name}.output.mlp.w3", inner)
        normed = self.norm(f"{name}.output.mlp.ffn_ln", gated, 1e-6)
        return x + self.linear(f"{name}.output.mlp.w2", normed)


@pytest.mark.parametrize("count", [1, 2, 5])
def test_features_equal_plain_arithmetic(model: Any, state: State, count: int) -> None:
    pixels = noise(count, 16, rows=2)
    plain = Owl(state)
    with torch.no_grad():
        found = model.get_video_features(pixels)
    right = torch.stack([plain.features(video) for video in pixels])
    assert found.shape == (2, 5, 32)
    close(found, right, 1e-6)


def test_the_order_of_frames_matters(model: Any) -> None:
    pixels = noise(3, 16)
    with torch.no_grad():
        there, back = model.get_video_features(pixels), model.get_video_features(pixels.flip(1))
        still = model.get_video_features(pixels[:, :1].expand(-1, 3, -1, -1, -1))
    assert (there - back).abs().max() > 1e-2
    assert (there - still).abs().max() > 1e-2


def test_sharing_a_prefix_changes_no_score(model: Any) -> None:
    pixels = noise(3, 16)
    visual = (model.config.video_token_id,) * 5
    prompts = [(1, 300, 301, *visual, 310 + number, 320, 331 + number) for number in range(3)]
    questions = [Scored(prompt, ((340,), (341,), (342, 343))) for prompt in prompts]
    sharing_changes_no_score(model, questions, pixels)


def test_a_prompt_needs_a_place_for_every_feature(model: Any) -> None:
    ids = torch.tensor([[1, *([model.config.video_token_id] * 4)]])
    with pytest.raises(ValueError, match="5 features of videos for 4 places"):
        model(ids, pixel_values_videos=torch.zeros(1, 2, 3, 16, 16))


def pop(start: str) -> Callable[[State], None]:
    def edit(state: State) -> None:
        for name in [name for name in state if start in name]:
            del state[name]

    return edit


WRONG = {
    "with a part of those for time": (pop("temporal_visual_fc"), "missing"),
    "with a layer too many": (
        lambda state: state.update({"abstractor.encoder.layers.9.norm": torch.ones(1)}),
        "not known to the model",
    ),
    "of another width": (
        lambda state: state.update({"query_tokens": torch.ones(1, 4, 8)}),
        "mis-shaped",
    ),
}


@pytest.mark.parametrize("kind", WRONG)
def test_weights_that_do_not_fill_the_model_are_refused(
    resaved: Callable[[Callable[[State], Any]], Path], kind: str
) -> None:
    edit, why = WRONG[kind]
    with pytest.raises(ModelError, match="do not fit the model") as caught:
        load(resaved(edit))
    assert why in caught.value.why
