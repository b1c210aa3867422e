"""Tiny language models without eyes, on disk: random weights in real file formats."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import torch

from .conftest import WORDS

CHAT = (
    "{% for turn in messages %}<|turn|>{{ turn['role'] }}: {{ turn['content'] }}\n{% endfor %}"
    "{% if add_generation_prompt %}<|turn|>assistant: {% endif %}"
)


def build_vera(folder: Path, *, temperature: float = 2.5, dtype: torch.dtype | None = None) -> Path:
    """Writes a T5 encoder with the embedding rows of the real one, the head in the spare three."""
    from transformers import T5Config, T5EncoderModel, T5Tokenizer

    words = sorted({word for line in WORDS for word in line.split()})
    pieces = [("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0), ("▁", -2.0)]
    pieces += [(f"▁{word}", -3.0) for word in words]
    pieces += [(f"<extra_id_{number}>", 0.0) for number in range(99, -1, -1)]
    T5Tokenizer(vocab=pieces).save_pretrained(folder)
    torch.manual_seed(0)
    module = T5EncoderModel(
        T5Config(
            vocab_size=32128,
            d_model=16,
            d_kv=8,
            d_ff=32,
            num_layers=2,
            num_heads=2,
            feed_forward_proj="gated-gelu",
            tie_word_embeddings=False,
        )
    )
    rows = module.shared.weight.data
    rows[32099] = torch.randn(16)
    rows[32098] = 7.0  # only the first number of these two counts
    rows[32097] = 9.0
    rows[32098, 0], rows[32097, 0] = -0.4, temperature
    module.to(dtype or torch.float32).save_pretrained(folder)
    return folder


def build_causal(folder: Path, kind: Literal["llama", "gpt2"], chat: str | None = None) -> Path:
    """Writes a decoder with a byte-level BPE.

    Args:
        folder: Where.
        kind: `llama`: rotary positions, BOS and padding. `gpt2`: learned positions, one special
            token for everything.
        chat: A chat template.
    """
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import (
        GPT2Config,
        GPT2LMHeadModel,
        LlamaConfig,
        LlamaForCausalLM,
        PreTrainedTokenizerFast,
    )

    special = ["<|end|>"] if kind == "gpt2" else ["<s>", "</s>", "<pad>", "<|turn|>"]
    trained = Tokenizer(models.BPE())
    trained.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trained.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=400, special_tokens=special, initial_alphabet=alphabet, show_progress=False
    )
    trained.train_from_iterator([*WORDS, "Yes No Yes No A B C D"], trainer)
    roles = {"bos_token": special[0], "eos_token": special[min(1, len(special) - 1)]}
    roles |= {"pad_token": "<pad>"} if kind == "llama" else {}
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=trained, **roles)
    tokenizer.chat_template = chat
    tokenizer.save_pretrained(folder)
    size = len(tokenizer)
    ends = {"bos_token_id": 0, "eos_token_id": tokenizer.eos_token_id}
    torch.manual_seed(0)
    model: torch.nn.Module
    if kind == "gpt2":
        config = GPT2Config(
            vocab_size=size, n_embd=32, n_layer=2, n_head=2, n_positions=128,
            initializer_range=0.3, **ends,
        )  # fmt: skip
        model = GPT2LMHeadModel(config)
    else:
        model = LlamaForCausalLM(
            LlamaConfig(
                vocab_size=size, hidden_size=32, intermediate_size=48, num_hidden_layers=2,
                num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=256,
                initializer_range=0.3, **ends,
            )
        )  # fmt: skip
    model.save_pretrained(folder)
    return folder
