"""Tiny checkpoints on disk of every supported architecture, with real templates and tokens."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import nn

from . import tiny
from .templates import TEMPLATES
from .tokenizers import byte_level, sentence_piece

QWEN_SPECIALS = [
    "<|im_start|>", "<|im_end|>", "<|object_ref_start|>", "<|object_ref_end|>", "<|box_start|>",
    "<|box_end|>", "<|quad_start|>", "<|quad_end|>", "<|vision_start|>", "<|vision_end|>",
    "<|vision_pad|>", "<|image_pad|>", "<|video_pad|>",
]  # fmt: skip

PIXELS = {"shortest_edge": 16 * 16, "longest_edge": 24 * 24}
"""Of a frame: 16 to 24 pixels each way, in steps of 8."""
PATCHES: dict[str, Any] = {
    "patch_size": 4,
    "merge_size": 2,
    "temporal_patch_size": 2,
    "size": PIXELS,
}
SQUARE = {"height": 16, "width": 16}
CROP: dict[str, Any] = {"size": {"shortest_edge": 16}, "crop_size": SQUARE}


def qwen_tokenizer(*more: str, **named: str) -> Any:
    ends = {"eos_token": "<|im_end|>", "pad_token": "<|endoftext|>"}
    return byte_level([*QWEN_SPECIALS, *more], **ends, **named)


def llama_tokenizer() -> Any:
    return sentence_piece(["<video>", "<image>"], **{"pad_token": "<pad>"})


def qwen2_vl() -> Any:
    from transformers import Qwen2VLImageProcessor, Qwen2VLProcessor, Qwen2VLVideoProcessor

    video = Qwen2VLVideoProcessor(**PATCHES)
    return Qwen2VLProcessor(Qwen2VLImageProcessor(**PATCHES), qwen_tokenizer(), video)


def qwen2_5_vl() -> Any:
    from transformers import Qwen2_5_VLProcessor, Qwen2VLImageProcessor, Qwen2VLVideoProcessor

    video = Qwen2VLVideoProcessor(**PATCHES)
    return Qwen2_5_VLProcessor(Qwen2VLImageProcessor(**PATCHES), qwen_tokenizer(), video)


def qwen3_vl() -> Any:
    from transformers import Qwen2VLImageProcessor, Qwen3VLProcessor, Qwen3VLVideoProcessor

    # Its size is that of the whole video.
    size = {edge: 8 * pixels for edge, pixels in PIXELS.items()}
    video = Qwen3VLVideoProcessor(**PATCHES | {"size": size})
    return Qwen3VLProcessor(Qwen2VLImageProcessor(**PATCHES), qwen_tokenizer(), video)


def llava_onevision() -> Any:
    from transformers import (
        LlavaOnevisionImageProcessor,
        LlavaOnevisionProcessor,
        LlavaOnevisionVideoProcessor,
    )

    return LlavaOnevisionProcessor(
        LlavaOnevisionImageProcessor(size=SQUARE, image_grid_pinpoints=[[16, 16]]),
        qwen_tokenizer("<image>", "<video>"),
        LlavaOnevisionVideoProcessor(size=SQUARE),
        num_image_tokens=16,
        vision_feature_select_strategy="full",
    )


def llava_next_video() -> Any:
    from transformers import (
        LlavaNextImageProcessor,
        LlavaNextVideoProcessor,
        LlavaNextVideoVideoProcessor,
    )

    return LlavaNextVideoProcessor(
        LlavaNextVideoVideoProcessor(**CROP),
        LlavaNextImageProcessor(**CROP, image_grid_pinpoints=[[16, 16]]),
        llama_tokenizer(),
        patch_size=4,
        vision_feature_select_strategy="default",
        num_additional_image_tokens=1,
    )


def video_llava() -> Any:
    from transformers import (
        VideoLlavaImageProcessor,
        VideoLlavaProcessor,
        VideoLlavaVideoProcessor,
    )

    return VideoLlavaProcessor(
        VideoLlavaImageProcessor(**CROP),
        VideoLlavaVideoProcessor(**CROP),
        llama_tokenizer(),
        patch_size=4,
        vision_feature_select_strategy="default",
        num_additional_image_tokens=1,
    )


def internvl() -> Any:
    from transformers import GotOcr2ImageProcessor, InternVLProcessor, InternVLVideoProcessor

    marks = {
        "start_image_token": "<img>",
        "end_image_token": "</img>",
        "context_image_token": "<IMG_CONTEXT>",
        "video_token": "<video>",
    }
    tokenizer = qwen_tokenizer(*marks.values())
    tokenizer = qwen_tokenizer(*marks.values(), extra_special_tokens=marks)
    return InternVLProcessor(
        GotOcr2ImageProcessor(size=SQUARE),
        tokenizer,
        InternVLVideoProcessor(size=SQUARE),
        image_seq_length=4,
    )


def smolvlm() -> Any:
    from transformers import SmolVLMImageProcessor, SmolVLMProcessor, SmolVLMVideoProcessor

    marks = ["<|im_start|>", "<end_of_utterance>", "<fake_token_around_image>", "<image>"]
    ends = {"eos_token": "<end_of_utterance>", "pad_token": "<|im_end|>"}
    ends |= {"bos_token": "<|im_start|>"}
    sizes = {"size": {"longest_edge": 64}, "max_image_size": {"longest_edge": 16}}
    return SmolVLMProcessor(
        SmolVLMImageProcessor(**sizes),
        byte_level([*marks, "<global-img>"], **ends),
        SmolVLMVideoProcessor(**sizes),
        image_seq_len=4,
    )


def video_llama_3() -> Any:
    from transformers import (
        VideoLlama3ImageProcessor,
        VideoLlama3Processor,
        VideoLlama3VideoProcessor,
    )

    sizes = {"patch_size": 4, "merge_size": 2}
    size = {edge: 8 * pixels for edge, pixels in PIXELS.items()}
    video = VideoLlama3VideoProcessor(**sizes, size=size)
    image = VideoLlama3ImageProcessor(**sizes, size=PIXELS)
    return VideoLlama3Processor(image, qwen_tokenizer(), video)


PROCESSORS: dict[str, Callable[[], Any]] = {
    "qwen2_vl": qwen2_vl,
    "qwen2_5_vl": qwen2_5_vl,
    "qwen3_vl": qwen3_vl,
    "llava_onevision": llava_onevision,
    "llava_next_video": llava_next_video,
    "video_llava": video_llava,
    "internvl": internvl,
    "smolvlm": smolvlm,
    "video_llama_3": video_llama_3,
}


def save(name: str, folder: Path, seed: int = 0) -> Path:
    """Writes one of `PROCESSORS` with random weights, in the layout of a real checkpoint."""
    processor = PROCESSORS[name]()
    processor.chat_template = TEMPLATES[name]
    tokenizer = processor.tokenizer
    config: Any = tiny.VIDEO_MODELS[name]().model.config
    places = {
        "image_token_id": getattr(processor, "image_token", None),
        "video_token_id": getattr(processor, "video_token", None),
    }
    for key, token in places.items():
        if hasattr(config, key) and token:
            setattr(config, key, tokenizer.convert_tokens_to_ids(token))
    text = config.get_text_config(decoder=True)
    text.vocab_size = len(tokenizer)
    text.max_position_embeddings = 4096
    for key in ("bos_token_id", "eos_token_id", "pad_token_id"):
        setattr(text, key, getattr(tokenizer, key))
    torch.manual_seed(seed)
    model = type(tiny.VIDEO_MODELS[name]().model)(config).eval().requires_grad_(False)
    sharpen(model)
    model.generation_config.eos_token_id = tokenizer.eos_token_id
    model.generation_config.pad_token_id = tokenizer.pad_token_id
    model.save_pretrained(folder)
    processor.save_pretrained(folder)
    return folder


def sharpen(model: Any) -> None:
    """Makes replies depend on the prompt, and log-probabilities differ as if trained."""
    for name, weight in model.named_parameters():
        if "layers." in name and weight.ndim == 2:
            weight.mul_(6)
    head = model.get_output_embeddings()
    if head.weight is model.get_input_embeddings().weight:
        head.weight = nn.Parameter(head.weight.clone(), requires_grad=False)
    head.weight.mul_(40)
