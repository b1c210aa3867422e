"""Tiny checkpoints on disk of every supported architecture, with real templates and tokens."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import nn

from . import tiny
from .templates import TEMPLATES
from .tokenizers import byte_level

QWEN_SPECIALS = [
    "<|im_start|>", "<|im_end|>", "<|object_ref_start|>", "<|object_ref_end|>", "<|box_start|>",
    "<|box_end|>", "<|quad_start|>", "<|quad_end|>", "<|vision_start|>", "<|vision_end|>",
    "<|vision_pad|>", "<|image_pad|>", "<|video_pad|>",
]  # fmt: skip

PIXELS = {"shortest_edge": 16 * 16, "longest_edge": 24 * 24}
"""Of a frame: 16 to 24 pixels each way, in steps of 8."""


def qwen_tokenizer() -> Any:
    ends = {"eos_token": "<|im_end|>", "pad_token": "<|endoftext|>"}
    return byte_level(QWEN_SPECIALS, **ends)


def qwen2_vl_processor() -> Any:
    from transformers import Qwen2VLImageProcessor, Qwen2VLProcessor, Qwen2VLVideoProcessor

    sizes = {"patch_size": 4, "merge_size": 2, "temporal_patch_size": 2, "size": PIXELS}
    return Qwen2VLProcessor(
        Qwen2VLImageProcessor(**sizes),
        qwen_tokenizer(),
        Qwen2VLVideoProcessor(**sizes),
        chat_template=TEMPLATES["qwen2_vl"],
    )


PROCESSORS: dict[str, Callable[[], Any]] = {"qwen2_vl": qwen2_vl_processor}


def save(name: str, folder: Path, seed: int = 0) -> Path:
    """Writes one of `PROCESSORS` with random weights, in the layout of a real checkpoint."""
    processor = PROCESSORS[name]()
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
    """Makes log-probabilities differ as much as those of trained models."""
    head = model.get_output_embeddings()
    if head.weight is model.get_input_embeddings().weight:
        head.weight = nn.Parameter(head.weight.clone(), requires_grad=False)
    head.weight.mul_(40)
