"""Each architecture with its real template and special tokens: prompts, scores, replies, batches.

The golden prompts are those that the named sources give for the checkpoint; transformers' own
processor and model, called in the documented way, are the oracle for the rest.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from vbench.models.vlm.adapter import HfVideoLanguageModel
from vbench.protocols import ClipTiming, View
from vbench.records import Clip, Continuation, Message, Reply, Request

TOLD = "Why is this video funny?"
CHATML = "<|im_start|>user\n{video}Why is this video funny?<|im_end|>\n<|im_start|>assistant\n"
QWEN2 = "<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n" + CHATML
VICUNA = "USER: <video>\nWhy is this video funny? ASSISTANT:"
PAD = "<|vision_start|><|video_pad|><|vision_end|>"

GOLDEN = {
    # QwenLM/Qwen2.5-VL, README: what apply_chat_template gives for a video and a text
    "qwen2_vl": QWEN2.format(video=PAD),
    "qwen2_5_vl": QWEN2.format(video=PAD),
    # Qwen3-VL has no system prompt of its own
    "qwen3_vl": CHATML.format(video=PAD),
    # transformers, docs of llava_onevision
    "llava_onevision": CHATML.format(video="<video>\n"),
    # transformers, docs and integration tests of llava_next_video and video_llava
    "llava_next_video": VICUNA,
    "video_llava": VICUNA,
    "internvl": CHATML.format(video="<video>\n"),
    # transformers, smolvlm/processing_smolvlm.py, with a video
    "smolvlm": "<|im_start|>User: <video>Why is this video funny?<end_of_utterance>\nAssistant:",
    # vllm-project/vllm, tests of lkhl/VideoLLaMA3-2B-Image-HF
    "video_llama_3": CHATML.format(video="<|video_pad|>\n"),
}
EXPANDED = {
    # seconds of the middle of two frames, then their tokens (transformers 5, qwen3_vl)
    "qwen3_vl": "<0.2 seconds><|vision_start|><|video_pad|>",
    "internvl": "Frame1: <img><IMG_CONTEXT><IMG_CONTEXT><IMG_CONTEXT><IMG_CONTEXT></img>\nFrame2:",
    "smolvlm": "You are provided the following series of four frames from a 0:00:02 [H:MM:SS] "
    "video.\n\nFrame from 00:00:<fake_token_around_image><global-img><image>",
    "video_llama_3": "Time 0.0s:<|video_pad|>",
}
SPECIALS = {
    "qwen2_vl": "<|im_end|>",
    "qwen2_5_vl": "<|vision_start|>",
    "qwen3_vl": "<|video_pad|>",
    "llava_onevision": "<image>",
    "llava_next_video": "</s>",
    "video_llava": "<s>",
    "internvl": "<IMG_CONTEXT>",
    "smolvlm": "<end_of_utterance>",
    "video_llama_3": "<|image_pad|>",
}
SENTENCE_PIECE = ("llava_next_video", "video_llava")
EVERY = pytest.mark.parametrize("name", GOLDEN)
CLIP = Clip("v", "v.mp4")


def frames(count: int, seed: int = 0) -> list[np.ndarray]:
    made = np.random.default_rng(seed)
    return [made.integers(0, 255, (48, 64, 3), dtype=np.uint8) for _ in range(count)]


def view(model: HfVideoLanguageModel, count: int = 4, seed: int = 0) -> View:
    times = tuple(i / 2 for i in range(count))
    timing = ClipTiming(tuple(4 * i for i in range(count)), times, 8.0, 4 * count, count / 2)
    assert model.preprocess is not None
    return View(CLIP, inputs=model.preprocess.view(frames(count, seed), timing))


def scored(text: str, *words: str) -> Request:
    return Request((CLIP,), message=Message(text), continuations=tuple(map(Continuation, words)))


def asked(text: str) -> Request:
    return Request((CLIP,), message=Message(text))


@pytest.fixture(scope="module")
def load(checkpoint: Callable[[str], Path]) -> Callable[..., HfVideoLanguageModel]:
    known: dict[str, HfVideoLanguageModel] = {}

    def get(name: str) -> HfVideoLanguageModel:
        if name not in known:
            folder = str(checkpoint(name))
            known[name] = HfVideoLanguageModel(folder, generation={"max_new_tokens": 4})
        return known[name]

    return get


def official(model: HfVideoLanguageModel, prompt: str, count: int, seed: int = 0) -> Any:
    """The documented way: processor(text, videos) with metadata of every frame."""
    video = torch.from_numpy(np.stack(frames(count, seed))).permute(0, 3, 1, 2)
    metadata = {"fps": 8.0, "frames_indices": [4 * i for i in range(count)]}
    metadata |= {"total_num_frames": 4 * count, "duration": count / 2}
    return model._clips.processor(
        text=[prompt],
        videos=[video],
        videos_kwargs={"do_sample_frames": False, "video_metadata": [metadata]},
        return_tensors="pt",
    )


@EVERY
def test_no_time_tells_the_order_of_shuffled_frames(
    name: str, load: Callable[[str], HfVideoLanguageModel]
) -> None:
    preprocess = load(name).preprocess
    assert preprocess is not None
    order = [2, 0, 3, 1]
    shown, times = frames(4), [k / 2 for k in order]
    timing = ClipTiming(tuple(4 * k for k in order), tuple(times), 8.0, 16, 2.0)
    shuffled = preprocess.view([shown[k] for k in order], timing)
    plain = view(load(name)).inputs
    assert shuffled["expansion"] == plain["expansion"]
    told = {key for key in plain["tensors"] if not key.startswith("pixel_values")}
    assert all(torch.equal(shuffled["tensors"][key], plain["tensors"][key]) for key in told)


@EVERY
def test_prompt(name: str, load: Callable[[str], HfVideoLanguageModel]) -> None:
    model = load(name)
    shown = view(model)
    reply = model.answer([(shown, [scored(TOLD, "Yes", "No")])])[0][0]
    assert reply.status == "ok"
    assert reply.prompt == GOLDEN[name]
    assert shown.inputs["expansion"].startswith(EXPANDED.get(name, ""))
    grid = official(model, GOLDEN[name], 4).get("video_grid_thw", torch.tensor([[4, 4, 4]]))
    assert reply.frame_shape == (4, *(4 * grid[0, 1:]).tolist())  # patches of 4 pixels
    refused = model.answer([(shown, [asked(f"a {SPECIALS[name]} b")])])[0][0]
    assert refused.status == "model_error"
    assert SPECIALS[name] in refused.reason


@EVERY
def test_scores_are_those_of_the_documented_call(
    name: str, load: Callable[[str], HfVideoLanguageModel]
) -> None:
    model = load(name)
    reply = model.answer([(view(model), [scored(TOLD, "Yes", "No", "The answer")])])[0][0]
    inputs = official(model, GOLDEN[name], 4)
    weights = model._weights.model
    assert reply.prompt_tokens == inputs["input_ids"].shape[1]
    for tokens, found in zip(reply.token_ids, reply.log_probs, strict=True):
        given = dict(inputs)
        added = torch.tensor([tokens])
        given["input_ids"] = torch.cat([given["input_ids"], added], 1)
        given["attention_mask"] = torch.ones_like(given["input_ids"])
        if "mm_token_type_ids" in given:
            types = [given["mm_token_type_ids"], torch.zeros_like(added)]
            given["mm_token_type_ids"] = torch.cat(types, 1)
        given.pop("token_type_ids", None)
        if hasattr(weights.model, "rope_deltas"):
            weights.model.rope_deltas = None
        with torch.no_grad():
            logits = weights(**given).logits[0].double().log_softmax(-1)
        start = logits.shape[0] - len(tokens) - 1
        expected = sum(logits[start + i, token].item() for i, token in enumerate(tokens))
        assert found == pytest.approx(expected, abs=1e-4)


@EVERY
def test_a_reply_is_the_best_token_of_a_whole_pass_again_and_again(
    name: str, load: Callable[[str], HfVideoLanguageModel]
) -> None:
    model = load(name)
    shown = view(model)
    reply = model.answer([(shown, [asked(TOLD)])])[0][0]
    forward_inputs = model._inputs(shown)
    from vbench.models.vlm.forward import Forward

    forward = Forward(model._weights.model)
    prompt = tuple(official(model, GOLDEN[name], 4)["input_ids"][0].tolist())
    written: list[int] = []
    with torch.no_grad():
        for _ in range(4):
            logits = forward.whole((*prompt, *written), forward_inputs, 1)
            written.append(int(logits[-1].argmax()))
    stop = [i for i, token in enumerate(written) if token == model._tokenizer.eos_token_id]
    written = written[: stop[0]] if stop else written
    assert reply.text == model._tokenizer.decode(written, skip_special_tokens=True)
    assert reply.reply_tokens == len(written)
    assert reply.finish_reason == ("stop" if stop else "length")


@EVERY
def test_batches_and_shared_videos_change_nothing(
    name: str, load: Callable[[str], HfVideoLanguageModel]
) -> None:
    model = load(name)
    told = [TOLD, "Is the action by the agent shown in this video?"]
    own = [*(scored(text, "Yes", "No") for text in told), *map(asked, told)]
    work: list[Any] = [(view(model, count, seed=count), own) for count in (2, 3)]
    work += [(view(model, 3, seed=seed), [own[seed]]) for seed in range(4)]
    work += [(None, own)]

    def flat(size: int) -> list[Reply]:
        model._batch_size = size
        return [reply for group in model.answer(work) for reply in group]

    alone = [model.answer([(shown, [one])])[0][0] for shown, requests in work for one in requests]
    assert len({reply.text for reply in alone}) > 2
    for size in (4, 8):
        for found, right in zip(flat(size), alone, strict=True):
            assert found.text == right.text
            assert found.log_probs == pytest.approx(right.log_probs, abs=1e-4)


@EVERY
def test_forms_of_a_continuation(name: str, load: Callable[[str], HfVideoLanguageModel]) -> None:
    """For SentencePiece `Yes` alone is `▁Yes`; for byte-level BPE it is `Yes`."""
    model = load(name)
    request = Request(
        (CLIP,),
        message=Message(TOLD),
        continuations=tuple(Continuation("Yes", form) for form in ("encode", "bare", "space")),
    )
    encode, bare, space = model.answer([(view(model), [request])])[0][0].token_ids
    words = [model._tokenizer.convert_ids_to_tokens(list(ids)) for ids in (encode, bare, space)]
    if name in SENTENCE_PIECE:
        assert words[0] == words[2] == ["▁Yes"]
        assert "".join(words[1]) == "Yes"
    else:
        assert words == [["Yes"], ["Yes"], ["ĠYes"]]


def test_times_are_those_of_the_clip_at_a_varying_frame_rate(
    load: Callable[[str], HfVideoLanguageModel],
) -> None:
    """Qwen3-VL writes the middle of each pair of frames; the file's own indices would mislead."""
    times = (0.0, 0.5, 1.1, 2.1)
    timing = ClipTiming((70, 71, 80, 99), times, 30.0, 300, 2.4)
    told = load("qwen3_vl")._clips.view(frames(4), timing)["expansion"]
    assert [part.split(">")[0] for part in told.split("<") if "seconds" in part] == [
        "0.2 seconds",
        "1.6 seconds",
    ]
    told = load("smolvlm")._clips.view(frames(4), timing)["expansion"]
    assert [f"Frame from 00:0{second}:" in told for second in range(4)] == [True, True, True, False]
    assert "0:00:02 [H:MM:SS] video" in told
    made = load("qwen2_5_vl")._clips.view(frames(4), timing)["tensors"]
    assert made["second_per_grid_ts"].tolist() == pytest.approx([2 * 2.4 / 4])  # two frames each
