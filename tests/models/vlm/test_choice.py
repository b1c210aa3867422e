"""The automatic choice: by config first, then by what a check finds."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest
import torch

from vbench.models.vlm.architecture import Architecture
from vbench.models.vlm.choice import choose
from vbench.models.vlm.forward import Forward
from vbench.models.vlm.prefix import Scored, score


def asked(vlm: Any, tiny: ModuleType) -> dict[tuple[int, ...], list[tuple[int, ...]]]:
    start = tiny.words(12, 1)
    return {
        vlm.prompt(start, tiny.words(4, 2)): [(5,), tiny.words(6, 3), tiny.words(5, 4)],
        vlm.prompt(start, tiny.words(3, 5)): [(5,), tiny.words(7, 6)],
    }


def chosen(vlm: Any, tiny: ModuleType) -> str:
    with torch.no_grad():
        return choose(Forward(vlm.model), asked(vlm, tiny), vlm.video, 64)


@pytest.mark.parametrize(
    ("name", "ways"),
    [
        ("llama", ("packed", "loop", "full")),
        ("qwen2_5_vl", ("packed", "loop", "features", "full")),
        ("internvl", ("packed", "loop", "features", "full")),
        ("mistral", ("loop", "full")),
        ("gemma3", ("loop", "full")),
    ],
)
def test_the_config_says_what_is_tried(
    name: str, ways: tuple[str, ...], tiny: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    vlm = tiny.build(name)
    assert Architecture.of(vlm.model).strategies(vlm.video) == ways
    assert chosen(vlm, tiny) == ways[0]
    assert capsys.readouterr().err == ""


def test_attention_that_takes_no_mask_is_not_packed(tiny: ModuleType) -> None:
    vlm = tiny.build("llama")
    vlm.model.config._attn_implementation = "flash_attention_2"
    assert Architecture.of(vlm.model).strategies({}) == ("loop", "full")


def test_positions_of_an_unknown_kind_are_not_packed(tiny: ModuleType) -> None:
    from transformers import GPT2Config, GPT2LMHeadModel

    config = GPT2Config(vocab_size=120, n_embd=32, n_layer=2, n_head=4, n_positions=64)
    model = GPT2LMHeadModel(config).eval()
    assert Architecture.of(model).strategies({}) == ("loop", "full")
    vlm = tiny.TinyVlm(model, {}, ())
    assert chosen(vlm, tiny) == "loop"


def test_a_video_without_a_known_placeholder_shares_nothing(tiny: ModuleType) -> None:
    vlm = tiny.build("llama")
    assert Architecture.of(vlm.model).strategies({"pixel_values": 0}) == ("full",)


def drop(model: torch.nn.Module, name: str, dimensions: int) -> None:
    """Makes a decoder deaf to a mask or to positions."""

    def forget(_: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        if getattr(kwargs.get(name), "ndim", 0) == dimensions:
            kwargs[name] = None
        return args, kwargs

    model.get_decoder().register_forward_pre_hook(forget, with_kwargs=True)


@pytest.mark.parametrize(("name", "dimensions"), [("attention_mask", 4), ("position_ids", 2)])
def test_packing_that_is_wrong_falls_back_and_says_so(
    name: str,
    dimensions: int,
    tiny: ModuleType,
    plainly: Any,
    capsys: pytest.CaptureFixture[str],
) -> None:
    vlm = tiny.build("llava_onevision")
    drop(vlm.model, name, dimensions)
    questions = [Scored(prompt, tuple(c)) for prompt, c in asked(vlm, tiny).items()]
    found = score(vlm.model, questions, vlm.video)
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert said.startswith(
        "vbench: LlavaOnevisionForConditionalGeneration cannot be scored by strategy 'packed' ("
    )
    assert "off by" in said
    assert said.endswith("'loop' is used instead\n")
    for question, row in zip(questions, found, strict=True):
        for continuation, one in zip(question.continuations, row, strict=True):
            right = plainly(vlm, question.prompt_ids, continuation, vlm.video)
            assert one.log_prob == pytest.approx(right, abs=1e-4)
    score(vlm.model, questions, vlm.video)
    assert capsys.readouterr().err == ""  # found once, said once


def test_a_cache_that_is_wrong_falls_back_to_features(
    tiny: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    vlm = tiny.build("llava_onevision")

    def forget(_: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        cache = kwargs.get("cache")
        if cache is not None and cache.get_seq_length():
            for layer in cache.layers:
                layer.keys.zero_()
        return args, kwargs

    vlm.model.get_decoder().register_forward_pre_hook(forget, with_kwargs=True)
    assert chosen(vlm, tiny) == "features"
    assert "'features' is used instead" in capsys.readouterr().err


def test_a_way_that_raises_falls_back(tiny: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    vlm = tiny.build("llama")

    def refuse(_: Any, __: Any, kwargs: dict[str, Any]) -> None:
        if kwargs.get("attention_mask") is not None:
            raise NotImplementedError("no masks here")

    vlm.model.get_decoder().register_forward_pre_hook(refuse, with_kwargs=True)
    assert chosen(vlm, tiny) == "loop"
    assert "NotImplementedError: no masks here" in capsys.readouterr().err


def test_running_out_of_memory_is_not_a_verdict(tiny: ModuleType) -> None:
    vlm = tiny.build("llama")

    def fill(_: Any, __: Any, kwargs: dict[str, Any]) -> None:
        if kwargs.get("attention_mask") is not None:
            raise torch.OutOfMemoryError("full")

    handle = vlm.model.get_decoder().register_forward_pre_hook(fill, with_kwargs=True)
    with pytest.raises(torch.OutOfMemoryError):
        chosen(vlm, tiny)
    handle.remove()
    assert chosen(vlm, tiny) == "packed"


def test_one_pass_needs_no_choice(tiny: ModuleType) -> None:
    vlm = tiny.build("llama")
    prompt = tiny.words(9, 1)
    with torch.no_grad():
        assert choose(Forward(vlm.model), {prompt: [(5,), (6,)]}, {}, 64) == "full"


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("name", ["llama", "qwen2_5_vl", "internvl"])
def test_rounding_of_half_precision_is_no_error(
    name: str, dtype: torch.dtype, tiny: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    vlm = tiny.build(name)
    vlm.model.to(dtype)
    video = {k: v.to(dtype) if v.is_floating_point() else v for k, v in vlm.video.items()}
    assert chosen(tiny.TinyVlm(vlm.model, video, vlm.visual), tiny) == "packed"
    assert capsys.readouterr().err == ""


def test_rounding_of_autocast_is_no_error(
    tiny: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    vlm = tiny.build("llama")
    with torch.autocast("cpu", torch.bfloat16):
        assert chosen(vlm, tiny) == "packed"
    assert capsys.readouterr().err == ""


def test_wrong_packing_is_found_in_half_precision(tiny: ModuleType) -> None:
    vlm = tiny.build("llama")
    vlm.model.to(torch.bfloat16)
    drop(vlm.model, "attention_mask", 4)
    assert chosen(vlm, tiny) == "loop"
