"""The tiny video-language model as shipped."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForImageTextToText, AutoProcessor

from vbench.datasets.toy.statements import is_true, say
from vbench.datasets.toy.world import ToyClip, benchmark_clip

CHECKPOINT = Path(__file__).parents[2] / "vbench" / "assets" / "toy_vlm"

Chat = Callable[[str], list[dict[str, object]]]
Asked = Callable[[ToyClip, str], dict[str, torch.Tensor]]


def test_checkpoint_is_small_and_holds_no_code() -> None:
    files = list(CHECKPOINT.iterdir())
    assert {file.suffix for file in files} == {".json", ".jinja", ".safetensors"}
    assert sum(file.stat().st_size for file in files) < 8_000_000


def test_checkpoint_loads_whole() -> None:
    model, info = AutoModelForImageTextToText.from_pretrained(CHECKPOINT, output_loading_info=True)
    assert type(model).__name__ == "Qwen2VLForConditionalGeneration"
    assert not any(info.values()), info
    assert {p.dtype for p in model.parameters()} == {torch.float32}


@pytest.mark.parametrize("word", ["Yes", "No", *"ABCDEF"])
def test_answers_are_single_words(processor: AutoProcessor, chat: Chat, word: str) -> None:
    tokenizer = processor.tokenizer
    prompt = processor.apply_chat_template(chat("Is it?"), add_generation_prompt=True)
    alone = tokenizer.encode(word)
    assert len(alone) == 1
    assert tokenizer.encode(" " + word) == alone
    assert tokenizer.encode(prompt + word) == tokenizer.encode(prompt) + alone
    assert tokenizer.decode(alone) == word
    assert alone != tokenizer.encode(word.lower())
    assert alone[0] != tokenizer.unk_token_id


def test_chat_template_writes_what_qwen2_vl_writes(processor: AutoProcessor, chat: Chat) -> None:
    said = [*chat("Does it?"), {"role": "assistant", "content": "Yes"}]
    assert processor.apply_chat_template(said) == (
        "<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n"
        "<|im_start|>user\n<|vision_start|><|video_pad|><|vision_end|>Does it?<|im_end|>\n"
        "<|im_start|>assistant\nYes<|im_end|>\n"
    )
    own = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": [{"type": "image"}, {"type": "text", "text": "Who?"}]},
    ]
    assert processor.apply_chat_template(own, add_generation_prompt=True) == (
        "<|im_start|>system\nBe brief.<|im_end|>\n"
        "<|im_start|>user\n<|vision_start|><|image_pad|><|vision_end|>Who?<|im_end|>\n"
        "<|im_start|>assistant\n"
    )


def test_a_toy_clip_is_forty_tokens(processor: AutoProcessor, asked: Asked) -> None:
    inputs = asked(benchmark_clip(9, 0), "Describe the video.")
    assert inputs["video_grid_thw"].tolist() == [[10, 4, 4]]
    pad = processor.tokenizer.convert_tokens_to_ids("<|video_pad|>")
    assert int((inputs["input_ids"] == pad).sum()) == 40


def test_words_beyond_the_toy_world_are_unknown_but_read(processor: AutoProcessor) -> None:
    tokenizer = processor.tokenizer
    words = tokenizer.convert_ids_to_tokens(tokenizer.encode("In space, a dog is JUMPING: 7.5%?"))
    assert words[:7] == ["In", "space", ",", "a", "<unk>", "is", "<unk>"]


@torch.inference_mode()
def test_checkpoint_knows_what_happens_on_unseen_clips(
    processor: AutoProcessor, model: AutoModelForImageTextToText, asked: Asked
) -> None:
    # Guards against shipping an untrained or mismatched file; the figures are in docs/toy_vlm.md.
    yes, no = processor.tokenizer.encode("Yes No")
    right = total = 0
    clips = [benchmark_clip(77, index) for index in range(8)]
    for clip, donor in zip(clips, clips[1:] + clips[:1], strict=True):
        pairs = [
            (say(a).text, say(b).text)
            for a, b in zip(clip.events, donor.events, strict=True)
            if not is_true(say(b), clip)
        ]
        for pair in pairs[:3]:
            logits = []
            for caption in pair:
                prompt = f"Does the video show this? {caption} Answer Yes or No."
                last = model(**asked(clip, prompt)).logits[0, -1]
                logits.append(float(last[yes] - last[no]))
            right += logits[0] > logits[1]
            total += 1
    assert total > 15
    assert right / total > 0.8
