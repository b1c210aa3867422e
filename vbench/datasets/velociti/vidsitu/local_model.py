"""A causal language model in this process, from a checkpoint of transformers."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from functools import cached_property
from typing import Any

from vbench.datasets.velociti.vidsitu.asking import NoAnswerError
from vbench.datasets.velociti.vidsitu.journal import Reply
from vbench.datasets.velociti.vidsitu.prompting import Messages
from vbench.errors import ModelError


class LocalModel:
    """Decodes greedily, one question at a time (`asking.LanguageModel`).

    Args:
        checkpoint: A folder, or a name on the hub.
        max_tokens: The longest answer.
    """

    def __init__(self, checkpoint: str, max_tokens: int) -> None:
        self._checkpoint = checkpoint
        self._max_tokens = max_tokens
        self._turn = threading.Lock()

    @property
    def identity(self) -> Mapping[str, object]:
        """Checkpoint and settings."""
        return {"model": self._checkpoint, "greedy": True, "max_tokens": self._max_tokens}

    def answer(self, messages: Messages) -> Reply:
        """Answers.

        Raises:
            ModelError: The checkpoint cannot be loaded.
            NoAnswerError: The question does not fit, or memory is short.
        """
        import torch

        with self._turn:
            tokenizer, model = self._loaded
            tokens = self._encoded(tokenizer, messages).to(model.device)
            try:
                with torch.inference_mode():
                    out = model.generate(
                        **tokens,
                        do_sample=False,
                        max_new_tokens=self._max_tokens,
                        pad_token_id=tokenizer.pad_token_id or tokenizer.eos_token_id or 0,
                    )
            except (RuntimeError, IndexError, ValueError) as error:
                raise NoAnswerError(" ".join(str(error).split())[:300], lasting=True) from error
        asked = tokens["input_ids"].shape[1]
        new = out[0, asked:]
        finish = "length" if len(new) >= self._max_tokens else "stop"
        text = str(tokenizer.decode(new, skip_special_tokens=True))
        return Reply(text, finish, asked, len(new))

    def close(self) -> None:
        """Forgets the weights."""
        self.__dict__.pop("_loaded", None)

    def _encoded(self, tokenizer: Any, messages: Messages) -> Any:
        if tokenizer.chat_template:
            turns = [{"role": role, "content": text} for role, text in messages]
            return tokenizer.apply_chat_template(
                turns, add_generation_prompt=True, return_tensors="pt", return_dict=True
            )
        text = "\n\n".join(text for _, text in messages) + "\n"
        return tokenizer(text, return_tensors="pt", return_token_type_ids=False)

    @cached_property
    def _loaded(self) -> tuple[Any, Any]:
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer

        try:
            tokenizer = AutoTokenizer.from_pretrained(self._checkpoint)
            model = AutoModelForCausalLM.from_pretrained(self._checkpoint, dtype="auto")
        except (OSError, ValueError) as error:
            raise ModelError(
                "the language model cannot be loaded",
                where=f"dataset.llm_model={self._checkpoint}",
                why=" ".join(str(error).split())[:300],
                mend="name a causal language model of the hub, or its folder",
            ) from error
        return tokenizer, model.eval().to("cuda" if torch.cuda.is_available() else "cpu")
