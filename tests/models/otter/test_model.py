"""Otter's modules against plain arithmetic on the checkpoint's own tensors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from transformers import LlamaConfig, LlamaForCausalLM

from vbench.models.otter.config import OtterConfig
from vbench.models.otter.model import OtterForConditionalGeneration
from vbench.models.vlm.generation import Asked, Ends, Generation, write
from vbench.models.vlm.prefix import Scored
from vbench.models.vlm.stops import Stops

from ..assembled_files import State
from ..assembled_runs import load, shapes_of, sharing_changes_no_score
from ..plain_arithmetic import PlainClip, attend, close
from .conftest import CLIP, EVERY, HEADS, LAYERS, PERCEIVER

SIDE = CLIP.side


@pytest.fixture(scope="module")
def model(otter: Path) -> Any:
    return load(otter)


class Otter(PlainClip):
    """In fp64, with loops over frames, heads and words."""

    root = "vision_encoder.vision_model"

    def times(self, name: str, x: Tensor) -> Tensor:
        return x @ self.state[f"{name}.weight"].T

    def look(self, name: str, x: Tensor, seen: Tensor) -> Tensor:
        query = self.times(f"{name}.to_q", x).chunk(HEADS, dim=-1)
        key, value = self.times(f"{name}.to_kv", seen).chunk(2, dim=-1)
        parts = zip(query, key.chunk(HEADS, dim=-1), value.chunk(HEADS, dim=-1), strict=True)
        heads = [attend(*head) for head in parts]
        return self.times(f"{name}.to_out", torch.cat(heads, dim=-1))

    def think(self, name: str, x: Tensor) -> Tensor:
        inner = self.times(f"{name}.feed_forward.1", self.norm(f"{name}.feed_forward.0", x))
        return self.times(f"{name}.feed_forward.3", inner * 0.5 * (1 + torch.erf(inner / 2**0.5)))

    def features(self, frames: Tensor) -> Tensor:
        """Takes (frames, 3, side, side), returns (latents, width)."""
        seen = [
            self.clip(frame, CLIP.layers)[1:] + self.state["perceiver.frame_embs"][number]
            for number, frame in enumerate(frames.double())
        ]
        x = self.state["perceiver.latents"]
        for layer in (f"perceiver.layers.{number}" for number in range(PERCEIVER)):
            media = self.norm(f"{layer}.norm_media", torch.cat(seen))
            normed = self.norm(f"{layer}.norm_latents", x)
            x = x + self.look(layer, normed, torch.cat([media, normed]))
            x = x + self.think(layer, x)
        return self.norm("perceiver.norm", x)

    def logits(self, config: Any, ids: list[int], media: Tensor, sees: list[bool]) -> Tensor:
        """Returns (tokens, vocabulary): transformers' LLaMA, interrupted before some layers."""
        llama = LlamaForCausalLM(LlamaConfig(**config.text_config.to_dict())).double().eval()
        prefix = "lang_encoder."
        own = {
            name.removeprefix(prefix).replace(".decoder_layer", ""): value
            for name, value in self.state.items()
            if name.startswith(prefix) and "gated" not in name
        }
        llama.load_state_dict(own)
        for number in range(EVERY - 1, LAYERS, EVERY):
            name = f"{prefix}model.layers.{number}.gated_cross_attn_layer"

            def hook(_: Any, args: tuple[Tensor], name: str = name) -> tuple[Tensor]:
                x = args[0][0]
                found = self.look(f"{name}.attn", self.norm(f"{name}.attn.norm", x), media)
                found[~torch.tensor(sees)] = 0
                x = x + found * self.state[f"{name}.attn_gate"].tanh()
                x = x + self.think(name, x) * self.state[f"{name}.ff_gate"].tanh()
                return (x[None],)

            llama.model.layers[number].register_forward_pre_hook(hook)
        with torch.no_grad():
            return llama(torch.tensor([ids])).logits[0]


def video(count: int, seed: int) -> Tensor:
    made = torch.Generator().manual_seed(seed)
    return torch.randn(1, count, 3, SIDE, SIDE, generator=made)


def test_the_perceiver_reads_all_frames(model: Any, state: State) -> None:
    pixels = torch.cat([video(3, 1), video(3, 2)])
    with torch.no_grad():
        found = model.get_video_features(pixels)
        back = model.get_video_features(pixels.flip(1))
    plain = Otter(state)
    close(found, torch.stack([plain.features(frames) for frames in pixels]), 1e-5)
    assert (found - back).abs().max() > 1e-2
    with pytest.raises(ValueError, match="7 frames, of at most 6"):
        model.get_video_features(video(7, 1))


def test_sizes_are_those_of_its_code_where_config_json_says_none() -> None:
    vision = {**CLIP.config(), "hidden_size": 1024, "num_attention_heads": 16}
    text = {"model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 8, "vocab_size": 32004}
    config = OtterConfig(vision_config=vision, text_config=text, max_num_frames=128)
    found = shapes_of(OtterForConditionalGeneration, config)
    gated = "lang_encoder.model.layers.7.gated_cross_attn_layer"
    sizes = {
        "perceiver.latents": (64, 1024),
        "perceiver.frame_embs": (128, 1024),
        "perceiver.layers.5.to_kv.weight": (1024, 1024),
        "perceiver.layers.5.feed_forward.1.weight": (4096, 1024),
        f"{gated}.attn.to_q.weight": (512, 4096),
        f"{gated}.attn.to_kv.weight": (1024, 1024),
        f"{gated}.feed_forward.3.weight": (4096, 16384),
        f"{gated}.ff_gate": (1,),
    }
    assert sizes.items() <= found.items()
    looks = {name.split(".")[3] for name in found if "gated_cross_attn_layer" in name}
    assert looks == {"3", "7"}
    assert "perceiver.layers.6.norm_media.weight" not in found
    marks = (config.end_token_id, config.video_token_id, config.answer_token_id)
    assert marks == (32000, 32001, 32002)


def test_words_from_the_mark_on_see_the_video_and_a_reply_does_not(
    model: Any, state: State
) -> None:
    end, image, answer = (
        model.config.end_token_id,
        model.config.video_token_id,
        model.config.answer_token_id,
    )
    pixels, plain = video(2, 3), Otter(state)
    ids = [1, 40, image, 50, 51, answer, 60, 61, end, 52, answer, 62]
    sees = [False, False, True, True, True, True, False, False, False, True, True, False]
    for reply_sees in (False, True):
        model.config.reply_sees_video = reply_sees
        with torch.no_grad():
            found = model(torch.tensor([ids]), pixel_values_videos=pixels).logits[0]
        marks = [number >= 2 for number in range(len(ids))] if reply_sees else sees
        right = plain.logits(model.config, ids, plain.features(pixels[0]), marks)
        close(found, right, 1e-5)
    model.config.reply_sees_video = False
    with torch.no_grad():
        blind = model(torch.tensor([ids])).logits[0]
    close(blind, plain.logits(model.config, ids, torch.ones(1, 8).double(), [False] * 12), 1e-5)


def test_sharing_a_prefix_changes_no_score(model: Any) -> None:
    image, answer = model.config.video_token_id, model.config.answer_token_id
    prompts = [(1, image, 30, 31, 32 + number, 40, answer) for number in range(3)]
    questions = [Scored(prompt, ((45,), (46,), (47, 48))) for prompt in prompts]
    sharing_changes_no_score(model, questions, video(3, 4))


def test_replies_are_the_best_of_whole_passes_that_see_only_before_the_answer(
    model: Any, state: State
) -> None:
    """What the original's generation does: every new token is alone, without a mark before it."""
    image, answer = model.config.video_token_id, model.config.answer_token_id
    plain, ends = Otter(state), Ends(frozenset({model.config.end_token_id}), 0, Stops(None))
    one, other = ({"pixel_values_videos": video(3, seed)} for seed in (5, 6))
    asked = [
        Asked((1, image, 30, 31, answer), one),
        Asked((1, image, 30, 33, 34, answer), one),
        Asked((1, image, 35, answer), other),
    ]
    written = write(model, asked, Generation(max_new_tokens=5), ends, 8)
    for each, found in zip(asked, written, strict=True):
        media = plain.features(each.video["pixel_values_videos"][0])
        ids = list(each.prompt)
        for token in found.tokens:
            sees = [1 <= number < len(each.prompt) for number in range(len(ids))]
            assert token == int(plain.logits(model.config, ids, media, sees)[-1].argmax())
            ids.append(token)
    assert len({found.tokens for found in written}) == 3
