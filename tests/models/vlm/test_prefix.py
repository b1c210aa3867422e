"""Sharing a prefix changes no answer: each way against plain passes, for every architecture."""

from __future__ import annotations

import math
from itertools import pairwise
from types import ModuleType
from typing import Any

import pytest
import torch

from vbench.errors import ModelError
from vbench.models.vlm.architecture import stateless
from vbench.models.vlm.prefix import ContinuationScore, Scored, score

CLOSE = 1e-4
VIDEO_MODELS = (
    "qwen2_vl", "qwen2_5_vl", "qwen3_vl", "llava_onevision", "llava_next_video", "video_llava",
    "internvl", "smolvlm", "video_llama_3",
)  # fmt: skip
TEXT_MODELS = ("llama", "qwen2", "mistral", "gemma3")
WINDOWED = ("mistral", "gemma3")
CHUNK = 12
"""Less than the endings need: several rows, one of them made for a single long ending."""


def questions(vlm: Any, tiny: ModuleType, *, video_first: bool) -> list[Scored]:
    """Single tokens, captions that share words, one that is another's beginning; two prompts."""
    words = tiny.words
    start, middle = words(14, 1), words(3, 2)
    prompts = [
        vlm.prompt(start, middle + words(4, 3)) if video_first else vlm.prompt(words(9, 51), start),
        vlm.prompt(start, middle + words(2, 4)) if video_first else vlm.prompt(words(7, 52), start),
    ]
    long = words(16, 5)
    options = ((5,), (6,), long, words(7, 6))
    captions = (words(3, 7), (5, *words(2, 8)), (5, *words(4, 9)), (5, 6), (5,))
    return [Scored(prompts[0], options), Scored(prompts[1], captions)]


def worst(found: list[list[ContinuationScore]], right: list[list[float]]) -> float:
    pairs = [
        (score_.log_prob, value)
        for scores, values in zip(found, right, strict=True)
        for score_, value in zip(scores, values, strict=True)
    ]
    assert all(math.isfinite(value) for pair in pairs for value in pair)
    return max(abs(one - other) for one, other in pairs)


def plain(plainly: Any, vlm: Any, asked: list[Scored], video: dict[str, Any]) -> list[list[float]]:
    return [[plainly(vlm, q.prompt_ids, c, video) for c in q.continuations] for q in asked]


@pytest.mark.parametrize("name", [*VIDEO_MODELS, *TEXT_MODELS])
def test_every_way_equals_plain_passes(
    name: str, tiny: ModuleType, plainly: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    vlm = tiny.build(name)
    ways = ["auto", "loop", "features", "full"] + ["packed"] * (name not in WINDOWED)
    for video_first in (True, False):
        asked = questions(vlm, tiny, video_first=video_first)
        right = plain(plainly, vlm, asked, vlm.video)
        values = sorted(value for row in right for value in row)
        gaps = [b - a for a, b in pairwise(values)]
        assert min(gaps) > 4 * CLOSE  # else a mix-up of continuations would not be seen
        for way in ways:
            found = score(vlm.model, asked, vlm.video, tokens_per_chunk=CHUNK, strategy=way)
            assert worst(found, right) < CLOSE, (way, video_first)
            counts = [[len(c) for c in q.continuations] for q in asked]
            assert [[one.tokens for one in row] for row in found] == counts
    assert capsys.readouterr().err == ""  # the choice by config was right at once


@pytest.mark.parametrize("name", VIDEO_MODELS)
def test_the_video_matters(name: str, tiny: ModuleType) -> None:
    vlm = tiny.build(name)
    asked = questions(vlm, tiny, video_first=True)
    one = score(vlm.model, asked, vlm.video)
    other = score(vlm.model, asked, vlm.another_video(5))
    assert abs(one[0][2].log_prob - other[0][2].log_prob) > 100 * CLOSE


class Calls:
    """Counts what goes through a model."""

    def __init__(self, vlm: Any) -> None:
        self.tokens: list[int] = []
        self.logits: list[int] = []
        self.with_video = 0
        self.videos = 0
        self._visual = vlm.visual[-1] if vlm.visual else None
        vlm.model.register_forward_pre_hook(self._passes, with_kwargs=True)
        vlm.model.get_decoder().register_forward_pre_hook(self._rows, with_kwargs=True)
        vlm.model.get_output_embeddings().register_forward_hook(self._heads)
        towers = ("visual", "vision_tower", "video_tower", "vision_model")
        for tower in towers:
            if hasattr(vlm.model.model, tower):
                getattr(vlm.model.model, tower).register_forward_pre_hook(self._videos)

    def _passes(self, _: Any, __: Any, kwargs: dict[str, Any]) -> None:
        self.with_video += self._visual in kwargs["input_ids"][0].tolist()

    def _rows(self, _: Any, __: Any, kwargs: dict[str, Any]) -> None:
        ids = kwargs.get("inputs_embeds")
        self.tokens.append((ids if ids is not None else kwargs["input_ids"]).shape[1])

    def _heads(self, _: Any, __: Any, logits: torch.Tensor) -> None:
        self.logits.append(logits.shape[1])

    def _videos(self, *_: Any) -> None:
        self.videos += 1


@pytest.mark.parametrize("name", VIDEO_MODELS)
def test_the_video_is_read_once(name: str, tiny: ModuleType) -> None:
    vlm = tiny.build(name)
    calls = Calls(vlm)
    for way, video_first in (("packed", True), ("loop", True), ("packed", False), ("loop", False)):
        asked = questions(vlm, tiny, video_first=video_first)
        calls.videos = calls.with_video = 0
        score(vlm.model, asked, vlm.video, strategy=way)
        assert calls.videos == 1
        assert calls.with_video == (1 if video_first else 2)
    calls.videos = 0
    score(vlm.model, asked, vlm.video, strategy="features")
    assert calls.videos == 1
    score(vlm.model, asked, vlm.video, strategy="full")
    assert calls.videos > 2


@pytest.mark.parametrize("name", ["llama", "video_llama_3"])
def test_each_token_is_computed_once_and_rows_are_bounded(name: str, tiny: ModuleType) -> None:
    vlm = tiny.build(name)
    calls = Calls(vlm)
    prompt = vlm.prompt(tiny.words(20, 1), tiny.words(3, 2))
    captions = tuple((7, *tiny.words(5, 100 + number)) for number in range(40))
    score(vlm.model, [Scored(prompt, captions)], vlm.video, strategy="packed")
    beginnings = {caption[:end] for caption in captions for end in range(1, len(caption))}
    assert calls.tokens == [len(prompt), len(beginnings)]
    assert calls.logits == [1, len(beginnings)]
    assert len(beginnings) <= 1 + 40 * 4  # the last word of each is only predicted
    calls.tokens.clear()
    score(vlm.model, [Scored(prompt, captions)], vlm.video, tokens_per_chunk=33, strategy="packed")
    assert calls.tokens[0] == len(prompt)
    assert max(calls.tokens[1:]) <= 33
    assert sum(calls.tokens[1:]) < len(beginnings) + 4 * len(
        calls.tokens
    )  # shared words again in each row


def test_options_of_one_token_need_no_more_than_the_prompt(tiny: ModuleType) -> None:
    vlm = tiny.build("qwen2_vl")
    calls = Calls(vlm)
    prompt = vlm.prompt(tiny.words(4, 1), tiny.words(3, 2))
    score(vlm.model, [Scored(prompt, ((5,), (6,), (7,)))], vlm.video)
    assert calls.tokens == [len(prompt)]
    assert calls.logits == [1]


@pytest.mark.parametrize("name", ["qwen2_vl", "qwen2_5_vl", "qwen3_vl"])
def test_nothing_leaks_from_call_to_call(name: str, tiny: ModuleType) -> None:
    vlm, fresh = tiny.build(name), tiny.build(name)
    inner = vlm.model.model
    inner.rope_deltas = torch.tensor([[-999]])  # as `generate` may have left it
    with_video = questions(vlm, tiny, video_first=True)
    text = [Scored(tiny.words(30, 1), with_video[1].continuations)]
    jobs = [(with_video, vlm.video), (text, {}), (with_video, vlm.another_video(3))]
    for way in ("packed", "loop", "features", "full", "auto"):
        there = [score(vlm.model, asked, video, strategy=way) for asked, video in jobs]
        back = [score(vlm.model, asked, video, strategy=way) for asked, video in reversed(jobs)]
        assert there == back[::-1]
        alone = []
        for asked, video in jobs:
            fresh.model.model.rope_deltas = None
            alone.append(score(fresh.model, asked, video, strategy=way))
        assert there == alone
        assert inner.rope_deltas.tolist() == [[-999]]
    assert "get_video_features" not in vars(inner)


def test_an_error_leaves_the_model_as_it_was(tiny: ModuleType) -> None:
    vlm = tiny.build("qwen2_vl")
    vlm.model.model.rope_deltas = torch.tensor([[-5]])
    wrong = Scored((*tiny.words(5, 1), *vlm.visual[1:]), ((5, 6), (7, 8)))
    with pytest.raises(ValueError, match="do not match"):
        score(vlm.model, [wrong], vlm.video)
    assert vlm.model.model.rope_deltas.tolist() == [[-5]]
    assert "get_video_features" not in vars(vlm.model.model)


def test_repeated_prompts_and_continuations(tiny: ModuleType, plainly: Any) -> None:
    vlm = tiny.build("llama")
    prompt, caption = tiny.words(9, 1), tiny.words(4, 2)
    asked = [Scored(prompt, (caption, caption)), Scored(prompt, (caption,)), Scored(prompt, ())]
    found = score(vlm.model, asked, {})
    right = plainly(vlm, prompt, caption, {})
    assert [len(row) for row in found] == [2, 1, 0]
    assert worst(found, [[right, right], [right], []]) < CLOSE


def test_a_prompt_that_begins_another(tiny: ModuleType, plainly: Any) -> None:
    vlm = tiny.build("llama")
    short = tiny.words(9, 1)
    asked = [Scored(short, ((5,), (6, 7))), Scored((*short, 6), ((7,), (8, 9, 10)))]
    for way in ("packed", "loop"):
        found = score(vlm.model, asked, {}, strategy=way)
        assert worst(found, plain(plainly, vlm, asked, {})) < CLOSE


def test_prompts_that_share_nothing(tiny: ModuleType, plainly: Any) -> None:
    vlm = tiny.build("llama")
    asked = [Scored((5, 6, 7), ((8, 9), (3,))), Scored((6, 7, 5, 4), ((9, 8), (3, 3)))]
    for way in ("packed", "loop", "auto"):
        found = score(vlm.model, asked, {}, strategy=way)
        assert worst(found, plain(plainly, vlm, asked, {})) < CLOSE


@pytest.mark.parametrize("attention", ["eager", "sdpa"])
def test_both_kinds_of_attention_that_take_masks(
    attention: str, tiny: ModuleType, plainly: Any
) -> None:
    vlm = tiny.build("qwen2_5_vl")
    vlm.model.set_attn_implementation(attention)
    asked = questions(vlm, tiny, video_first=True)
    found = score(vlm.model, asked, vlm.video, tokens_per_chunk=CHUNK, strategy="packed")
    assert worst(found, plain(plainly, vlm, asked, vlm.video)) < CLOSE


def test_text_conditioned_vision_shares_nothing(
    tiny: ModuleType, plainly: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    vlm = tiny.instructblip()
    asked = questions(vlm, tiny, video_first=True)[:1]
    found = score(vlm.model, asked, vlm.video)
    assert worst(found, plain(plainly, vlm, asked, vlm.video)) < CLOSE
    assert capsys.readouterr().err == ""


def test_what_cannot_be_scored_is_refused(tiny: ModuleType) -> None:
    vlm = tiny.build("llama")
    for asked in (Scored((), ((5,),)), Scored((5,), ((),))):
        with pytest.raises(ModelError, match="at least one token"):
            score(vlm.model, [asked], {})
    vlm.model.config.is_encoder_decoder = True
    with pytest.raises(ModelError, match="causal"):
        score(vlm.model, [Scored((5,), ((6,),))], {})


def test_state_of_an_earlier_call_is_out_of_sight(tiny: ModuleType) -> None:
    vlm = tiny.build("qwen3_vl")
    vlm.model.model.rope_deltas = before = torch.tensor([[7]])
    with stateless(vlm.model):
        assert vlm.model.model.rope_deltas is None
        vlm.model.model.rope_deltas = torch.tensor([[1]])
    assert vlm.model.model.rope_deltas is before
