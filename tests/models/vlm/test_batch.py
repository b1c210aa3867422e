"""Videos side by side give what each gives alone."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest
import torch

from vbench.models.vlm.batch import alike, left_padded, score_batch
from vbench.models.vlm.prefix import Scored

MODELS = (
    "qwen2_vl", "qwen2_5_vl", "qwen3_vl", "llava_onevision", "llava_next_video", "video_llava",
    "internvl", "smolvlm", "video_llama_3", "llama", "qwen2", "mistral", "gemma3",
)  # fmt: skip


def mixed(vlm: Any, tiny: ModuleType) -> list[tuple[Scored, dict[str, Any]]]:
    """Eight questions: prompts of many lengths, options, captions, one of several; one blind."""
    words = tiny.words
    kinds = [
        ((5,), (6,)),
        (words(7, 40),),
        ((9,), words(4, 41), words(5, 42)),  # no single row answers this one
        ((4, 5), (4,)),
    ]
    asked: list[tuple[Scored, dict[str, Any]]] = []
    for number in range(7):
        prompt = vlm.prompt(words(3 + 2 * number, number), words(2, 70 + number))
        asked.append((Scored(prompt, kinds[number % 4]), vlm.another_video(number)))
    return [*asked, (Scored(words(12, 80), ((5,), (6,))), {})]


@pytest.mark.parametrize("name", MODELS)
def test_batches_of_any_size_and_plain_passes_agree(
    name: str, tiny: ModuleType, plainly: Any
) -> None:
    vlm = tiny.build(name)
    asked = mixed(vlm, tiny)
    right = [
        [plainly(vlm if video else tiny.TinyVlm(vlm.model, {}, ()), q.prompt_ids, c, video)
         for c in q.continuations]
        for q, video in asked
    ]  # fmt: skip
    for size in (1, 4, 8):
        found = []
        for start in range(0, len(asked), size):
            found += score_batch(vlm.model, asked[start : start + size], pad_id=tiny.PAD)
        for row, values in zip(found, right, strict=True):
            assert [one.log_prob for one in row] == pytest.approx(values, abs=1e-4)


def test_one_pass_for_all_that_one_row_answers(tiny: ModuleType) -> None:
    vlm = tiny.build("qwen2_vl")
    rows: list[int] = []
    decoder = vlm.model.get_decoder()
    decoder.register_forward_pre_hook(
        lambda _, __, kwargs: rows.append(kwargs["inputs_embeds"].shape[0]), with_kwargs=True
    )
    asked = mixed(vlm, tiny)
    score_batch(vlm.model, [asked[0], asked[1], asked[3]], pad_id=tiny.PAD)
    assert rows == [3]


def test_padding_is_not_read(tiny: ModuleType) -> None:
    vlm = tiny.build("llama")
    asked = mixed(vlm, tiny)[:2]
    one = score_batch(vlm.model, asked, pad_id=0)
    other = score_batch(vlm.model, asked, pad_id=77)
    assert one == other


def test_sizes_that_do_not_fit_together_go_apart() -> None:
    videos = [
        {"pixel_values": torch.zeros(3, 3, 16, 16)},
        {"pixel_values": torch.zeros(5, 3, 16, 16)},
        {"pixel_values": torch.zeros(3, 3, 32, 16)},
        {},
        {"pixel_values": torch.zeros(3, 3, 16, 16), "grid": [1]},
    ]
    assert alike(videos) == [[0, 1], [2], [3], [4]]


def test_inputs_for_generate(tiny: ModuleType) -> None:
    """Greedy words after left padding are those after each prompt alone."""
    vlm = tiny.build("internvl")
    prompts = [vlm.prompt(tiny.words(3 + 4 * n, n), tiny.words(2, 9)) for n in range(3)]
    videos = [vlm.another_video(number) for number in range(3)]
    settings = {"do_sample": False, "max_new_tokens": 4, "pad_token_id": tiny.PAD}
    together = vlm.model.generate(**left_padded(vlm.model, prompts, videos, tiny.PAD), **settings)[
        :, -4:
    ]
    for number in range(3):
        inputs = left_padded(vlm.model, [prompts[number]], [videos[number]], tiny.PAD)
        alone = vlm.model.generate(**inputs, **settings)
        assert alone[0, -4:].tolist() == together[number].tolist()


def test_token_types_and_masks_of_padded_rows(tiny: ModuleType) -> None:
    vlm = tiny.build("qwen2_vl")
    rows = [(5, tiny.VIDEO, 6), (7, 8, 9, tiny.IMAGE, 4)]
    inputs = left_padded(vlm.model, rows, [{}, {}], tiny.PAD)
    assert inputs["input_ids"].tolist() == [[0, 0, 5, tiny.VIDEO, 6], [7, 8, 9, tiny.IMAGE, 4]]
    assert inputs["attention_mask"].tolist() == [[0, 0, 1, 1, 1], [1, 1, 1, 1, 1]]
    assert inputs["mm_token_type_ids"].tolist() == [[0, 0, 0, 2, 0], [0, 0, 0, 1, 0]]
