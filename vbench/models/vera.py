"""VERA: how plausible a statement is to a T5 encoder that has never seen the video.

liujch1998/vera; arXiv 2305.03695. VELOCITI compares it on the two captions of a sample (§5).
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import torch

from vbench.checkpoints import Checkpoint, find_checkpoint
from vbench.errors import ConfigError, ModelError
from vbench.models.loading import load_config, load_tokenizer, load_whole
from vbench.protocols import Need

WEIGHT_ROW, BIAS_ROW, TEMPERATURE_ROW = 32099, 32098, 32097
"""Rows of the embedding matrix, spare in T5, that hold the head: the weight as a whole row, bias
and temperature as its first number (card of liujch1998/vera)."""

_SENTINEL = re.compile(r"<(?=extra_id_\d+>)")
"""What the tokenizer takes for a token of its own, whose embedding would be read off the head."""

MAX_TOKENS = 128
"""As in training (liujch1998/vera, scripts/run.py)."""


@dataclass(frozen=True, eq=False)
class Head:
    """A linear layer on the last state, in fp32 whatever the encoder computes in."""

    weight: torch.Tensor
    """(d,)."""
    bias: torch.Tensor
    """()."""
    temperature: torch.Tensor
    """(), above 0."""

    @classmethod
    def of(cls, name: str, embeddings: torch.Tensor) -> Head:
        """Takes the head out of the embedding matrix (vocabulary, d).

        Args:
            name: The checkpoint, for the message.
            embeddings: Before the run's precision rounds them.

        Raises:
            ModelError: What lies there is no head.
        """
        rows = embeddings.detach().float()
        head = cls(
            rows[WEIGHT_ROW].clone(), rows[BIAS_ROW, 0].clone(), rows[TEMPERATURE_ROW, 0].clone()
        )
        numbers = torch.cat([head.weight, head.bias[None], head.temperature[None]])
        if not torch.isfinite(numbers).all() or head.temperature <= 0 or not head.weight.any():
            raise ModelError(
                "the checkpoint holds no plausibility head",
                where=f"checkpoint {name}",
                why=f"row {TEMPERATURE_ROW} of its embeddings gives a temperature of "
                f"{float(head.temperature):g}, which must be above 0, and row {WEIGHT_ROW} weights "
                f"of length {float(head.weight.norm()):g}",
                mend="use liujch1998/vera or liujch1998/vera-base, or a copy of one; other T5 "
                "checkpoints have something else in these rows",
            )
        return head

    def logits(self, states: torch.Tensor) -> torch.Tensor:
        """Returns (n,), fp32, of states (n, d)."""
        device = states.device
        weighed = (states.float() * self.weight.to(device)).sum(-1)
        return weighed + self.bias.to(device)


class Vera:
    """A T5 encoder whose spare embedding rows hold a plausibility head. Opens no file.

    Args:
        checkpoint: A folder, `pkg://package/folder`, or a hub id `owner/name`.
        revision: Branch, tag or commit of a hub id; None: its default branch, now.
        calibrated: Whether the logit is divided by the temperature before the sigmoid. The order of
            scores is the same either way, but for rounding.
        max_text_tokens: Longer texts are cut, the end-of-text token kept, and flagged.
        text_batch: Texts read at once; changes speed and memory only.

    Raises:
        ConfigError: A count is below what makes sense.
        ModelError: The checkpoint cannot be found or loaded, or is no T5 with room for the head.
    """

    needs: ClassVar[frozenset[Need]] = frozenset({"text"})

    def __init__(
        self,
        checkpoint: str,
        revision: str | None = None,
        calibrated: bool = True,
        max_text_tokens: int = MAX_TOKENS,
        text_batch: int = 64,
    ) -> None:
        for name, value, least in (
            ("max_text_tokens", max_text_tokens, 2),
            ("text_batch", text_batch, 1),
        ):
            if value < least:
                raise ConfigError(
                    f"model.{name} counts from {least}", where=f"model.{name}={value}"
                )
        self._checkpoint = find_checkpoint(checkpoint, revision)
        self._calibrated = calibrated
        self._text_batch = text_batch
        self.max_text_tokens = max_text_tokens
        config = load_config(self._checkpoint)
        _check_architecture(checkpoint, config)
        self._tokenizer = load_tokenizer(self._checkpoint)
        _check_end_of_text(checkpoint, self._tokenizer, config.eos_token_id)

    @cached_property
    def _loaded(self) -> tuple[torch.nn.Module, Head]:
        module: Any = _load(self._checkpoint)
        return module, Head.of(self._checkpoint.name, module.shared.weight)

    @property
    def module(self) -> torch.nn.Module:
        """The encoder, in float32 on the CPU until Lightning moves it.

        Raises:
            ModelError: Its weights cannot be read or do not fit, or hold no head.
        """
        return self._loaded[0]

    def identity(self) -> str:
        """Returns the checkpoint's content and every setting that can change a score."""
        settings = {
            "model": "vera",
            "checkpoint": self._content,
            "calibrated": self._calibrated,
            "max_text_tokens": self.max_text_tokens,
        }
        return json.dumps(settings, sort_keys=True)

    @cached_property
    def _content(self) -> str:
        return self._checkpoint.identity()

    def overlong(self, texts: Sequence[str]) -> list[bool]:
        """Says of each text whether it is cut at `max_text_tokens`."""
        return [length > self.max_text_tokens for length in self._lengths(texts)]

    def score_texts(self, texts: Sequence[str]) -> tuple[list[float], list[bool]]:
        """Returns how plausible each text is, from 0 to 1, and flags truncated texts.

        A text without a word is not plausible at all: 0 (scripts/run.py gives it a logit of -1e9).
        """
        lengths = self._lengths(texts)
        order = sorted(range(len(texts)), key=lengths.__getitem__)
        scores = [0.0] * len(texts)
        for start in range(0, len(order), self._text_batch):
            rows = order[start : start + self._text_batch]
            for row, score in zip(rows, self._scores([texts[row] for row in rows]), strict=True):
                scores[row] = score if lengths[row] > 1 else 0.0
        return scores, [length > self.max_text_tokens for length in lengths]

    def _scores(self, texts: list[str]) -> list[float]:
        module, head = self._loaded
        device = next(module.parameters()).device
        inputs = self._tokens(
            texts, padding=True, truncation=True, max_length=self.max_text_tokens,
            return_tensors="pt",
        )  # fmt: skip
        ids, mask = inputs["input_ids"].to(device), inputs["attention_mask"].to(device)
        with torch.no_grad():
            states = module(input_ids=ids, attention_mask=mask).last_hidden_state
        last = states[torch.arange(len(ids), device=device), mask.sum(1) - 1]
        logits = head.logits(last)
        if self._calibrated:
            logits = logits / head.temperature.to(device)
        # In double, where texts that are almost certain do not all round to 1.
        values: list[float] = logits.cpu().double().sigmoid().tolist()
        return values

    def _lengths(self, texts: Sequence[str]) -> list[int]:
        return [len(ids) for ids in self._tokens(list(texts), verbose=False)["input_ids"]]

    def _tokens(self, texts: list[str], **options: Any) -> Any:
        return self._tokenizer([_SENTINEL.sub("< ", text) for text in texts], **options)


def _load(checkpoint: Checkpoint) -> torch.nn.Module:
    from transformers import T5EncoderModel

    return load_whole(checkpoint, T5EncoderModel, spare=("lm_head.",))


def _check_architecture(name: str, config: Any) -> None:
    if config.model_type != "t5":
        raise ModelError(
            f"a {config.model_type} model is no VERA",
            where=f"checkpoint {name}",
            why="VERA is a T5 encoder",
            mend="use liujch1998/vera or liujch1998/vera-base; for another language model "
            f"model=hf/causal_lm model.checkpoint={name}",
        )
    if config.vocab_size <= WEIGHT_ROW:
        raise ModelError(
            "the checkpoint has no room for VERA's head",
            where=f"checkpoint {name}",
            why=f"its vocabulary has {config.vocab_size} rows, and the head lies in rows "
            f"{TEMPERATURE_ROW} to {WEIGHT_ROW}",
            mend="use liujch1998/vera or liujch1998/vera-base, and never resize their embeddings",
        )


def _check_end_of_text(name: str, tokenizer: Any, eos: int) -> None:
    ids = tokenizer("a")["input_ids"]
    if ids[-1:] != [eos]:
        raise ModelError(
            "the tokenizer does not end texts with the token that VERA reads",
            where=f"checkpoint {name}",
            why=f"texts end with id {ids[-1] if ids else None}, the model looks for {eos}",
            mend="use the tokenizer that the checkpoint was saved with",
        )
