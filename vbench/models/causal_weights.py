"""Loads decoder-only language models: weights, and what stands in for a video processor."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch

from vbench.checkpoints import Checkpoint
from vbench.errors import ModelError
from vbench.models.loading import check_keys, explained, freeze, quietly
from vbench.records import VIDEO


class WordsOnly:
    """A tokenizer in the place of a video processor: chats are told in plain text."""

    video_token = VIDEO
    """Never rendered."""

    def __init__(self, tokenizer: Any) -> None:
        self.tokenizer = tokenizer
        self.chat_template = tokenizer.chat_template

    def apply_chat_template(self, turns: Iterable[dict[str, Any]], **options: Any) -> Any:
        """Renders turns whose content is a list of texts, which templates of words do not take."""
        plain = [{**turn, "content": "".join(map(self._words, turn["content"]))} for turn in turns]
        return self.tokenizer.apply_chat_template(plain, **options)

    def _words(self, part: dict[str, str]) -> str:
        return part.get("text", self.video_token)


def load_causal(checkpoint: Checkpoint, dtype: torch.dtype) -> torch.nn.Module:
    """Loads the weights, frozen and in evaluation mode.

    Args:
        checkpoint: Where they are.
        dtype: What they are loaded in.

    Raises:
        ModelError: They cannot be read, or do not fill the architecture exactly.
    """
    from transformers import AutoModelForCausalLM

    with explained(checkpoint.name, "weights"), quietly():
        module, info = AutoModelForCausalLM.from_pretrained(
            checkpoint.source,
            dtype=dtype,
            attn_implementation="sdpa",
            output_loading_info=True,
            ignore_mismatched_sizes=True,  # reported below, by name and shape
            **checkpoint.load_options(),
        )
    check_keys(
        checkpoint.name,
        total=len(module.state_dict()),
        missing=info["missing_keys"],
        unexpected=info["unexpected_keys"],
        mismatched=[key for key, *_ in info["mismatched_keys"]],
    )
    return freeze(module)


def check_causal(name: str, config: Any) -> None:
    """Refuses an architecture that does not write by itself.

    Args:
        name: The checkpoint, for the message.
        config: From `load_config`.

    Raises:
        ModelError: It is not among the decoder-only models of transformers.
    """
    from transformers import MODEL_FOR_CAUSAL_LM_MAPPING

    if type(config) in MODEL_FOR_CAUSAL_LM_MAPPING and not config.is_encoder_decoder:
        return
    raise ModelError(
        f"a {config.model_type} model is no decoder-only language model",
        where=f"checkpoint {name}",
        why=f"{type(config).__name__} is not among the classes of AutoModelForCausalLM",
        mend="name a checkpoint that generates text by itself (Qwen, Llama, Gemma, GPT-2, …)",
    )


def start_token(name: str, tokenizer: Any) -> int:
    """Returns the token that texts start with: BOS, or EOS where there is none.

    So does EleutherAI/lm-evaluation-harness (`prefix_token_id` of its Hugging Face models).

    Args:
        name: The checkpoint, for the message.
        tokenizer: From `load_words`.

    Raises:
        ModelError: It has neither.
    """
    for token in (tokenizer.bos_token_id, tokenizer.eos_token_id):
        if token is not None:
            return int(token)
    raise ModelError(
        "the tokenizer has no token that texts start with",
        where=f"checkpoint {name}",
        why="the likelihood of a text's first word is asked after a BOS or EOS, and it has neither",
        mend="set bos_token in its tokenizer_config.json",
    )
