"""Tokenizers of the two kinds that real checkpoints have, trained on a few sentences."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

SENTENCES = [
    "Yes No yes no A B C D system user assistant You are a helpful assistant.",
    "Is the action by the agent shown in this video? Answer Yes or No.",
    "USER: ASSISTANT: User: Assistant: a red circle jumps over the blue square, then it stops.",
    "Does this video entail the description? Which option is best? The answer is (A).",
    "Frame1: Frame2: Time 0.0s: 1.5 seconds 00:01 0123456789",
] * 4


def byte_level(specials: Sequence[str], **named: Any) -> Any:
    """A byte-level BPE as Qwen's, with its special tokens at the end of the vocabulary."""
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers
    from transformers import Qwen2Tokenizer

    trained = Tokenizer(models.BPE())
    trained.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(
        vocab_size=500,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    trained.train_from_iterator(SENTENCES, trainer)
    model = json.loads(trained.to_str())["model"]
    tokenizer = Qwen2Tokenizer(
        vocab=dict(model["vocab"]), merges=[tuple(pair) for pair in model["merges"]], **named
    )
    tokenizer.add_special_tokens({"additional_special_tokens": list(specials)})
    return tokenizer


def sentence_piece(specials: Sequence[str], **named: Any) -> Any:
    """A BPE over words that begin with a visible space, as LLaMA's, with its three first tokens."""
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers
    from transformers import LlamaTokenizer

    trained = Tokenizer(models.BPE(byte_fallback=True, fuse_unk=True))
    trained.pre_tokenizer = pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="first")
    starts = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256))]
    trainer = trainers.BpeTrainer(vocab_size=700, special_tokens=starts, show_progress=False)
    trained.train_from_iterator(SENTENCES, trainer)
    model = json.loads(trained.to_str())["model"]
    tokenizer = LlamaTokenizer(
        vocab=dict(model["vocab"]), merges=[tuple(pair) for pair in model["merges"]], **named
    )
    tokenizer.add_special_tokens({"additional_special_tokens": list(specials)})
    return tokenizer
