"""How each family of dual encoders reads text: padding, masking, case, length, end of text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import torch

from vbench.errors import ConfigError, ModelError
from vbench.models.embedding import embedding_of, unit

TextPadding = Literal["auto", "max_length", "longest"]
"""`longest`: to the longest text of a batch. `max_length`: always to the model's full length.
`auto`: as the family was trained."""

_UNLIMITED = 10**6
"""Tokenizers without a limit claim one of about 1e30 tokens."""


@dataclass(frozen=True, slots=True)
class TextRule:
    """What a family's text tower was trained on."""

    padding: Literal["max_length", "longest"] = "longest"
    masks_padding: bool = True
    """The attention mask is handed over, so padding is not read."""
    lower_case: bool = False
    reads_end_of_text: bool = False
    """The embedding is the state at the end-of-text token, found by its id."""


SIGLIP_RULE = TextRule(padding="max_length", masks_padding=False, lower_case=True)
"""SigLIP reads the last of 64 positions, unmasked and padded (google-research/big_vision;
transformers `SiglipTextModel`). The second version's hub checkpoints name the Gemma tokenizer,
which keeps case, although training text was lower-cased (transformers `Siglip2Tokenizer`)."""

CLIP_RULE = TextRule(reads_end_of_text=True)
"""CLIP attends causally and reads the end-of-text token, so what follows it has no effect."""

RULES = {"clip": CLIP_RULE, "siglip": SIGLIP_RULE, "siglip2": SIGLIP_RULE}
"""By `model_type`; other families get `TextRule()`: padded to the longest, masked."""


class TextReader:
    """Turns texts into a text tower's inputs.

    Args:
        name: The checkpoint, for messages.
        tokenizer: Its transformers tokenizer.
        config: Its transformers config.
        padding: A rule that overrides the family's.
        max_tokens: Longest text in tokens, special tokens included; None: all the model can read.

    Raises:
        ConfigError: `max_tokens` is more than the model can read.
        ModelError: The tokenizer does not belong to the model.
    """

    def __init__(
        self,
        name: str,
        tokenizer: Any,
        config: Any,
        padding: TextPadding = "auto",
        max_tokens: int | None = None,
    ) -> None:
        self.rule = RULES.get(config.model_type, TextRule())
        self.padding = self.rule.padding if padding == "auto" else padding
        self.max_tokens = _length(name, tokenizer, config, max_tokens)
        self._tokenizer = tokenizer
        self._lower = self.rule.lower_case and self._ids(["A"]) != self._ids(["a"])
        if self.rule.reads_end_of_text:
            _check_end_of_text(name, tokenizer, config.text_config.eos_token_id)

    def lengths(self, texts: Sequence[str]) -> list[int]:
        """Counts each text's tokens, special tokens included, before any is cut off."""
        return [len(ids) for ids in self._ids(self._cased(texts))]

    def inputs(self, texts: Sequence[str]) -> dict[str, torch.Tensor]:
        """Tokenises a batch, cut at `max_tokens` (the end-of-text token is kept) and padded.

        Returns:
            Keyword arguments of `get_text_features`, each (n, tokens), int64.
        """
        encoded = self._tokenizer(
            self._cased(texts),
            padding=self.padding,
            truncation=True,
            max_length=self.max_tokens,
            return_tensors="pt",
            return_attention_mask=self.rule.masks_padding,
        )
        return dict(encoded)

    def embed(
        self, module: Any, texts: Sequence[str], batch: int
    ) -> tuple[torch.Tensor, list[bool]]:
        """Encodes texts into unit vectors (n, d) in float32, with a flag for each truncated text.

        Texts of like length are encoded together and handed back in the order given.

        Args:
            module: Has `get_text_features`.
            texts: Any number above 0.
            batch: Texts encoded at once.
        """
        device = next(module.parameters()).device
        lengths = self.lengths(texts)
        order = sorted(range(len(texts)), key=lengths.__getitem__)
        chunks = []
        for rows in (order[i : i + batch] for i in range(0, len(order), batch)):
            inputs = self.inputs([texts[row] for row in rows])
            features = module.get_text_features(**{k: ids.to(device) for k, ids in inputs.items()})
            chunks.append(unit(embedding_of(features)))
        encoded = torch.cat(chunks)
        vectors = torch.empty_like(encoded)
        vectors[order] = encoded
        return vectors, [length > self.max_tokens for length in lengths]

    def identity(self) -> dict[str, object]:
        """Returns the settings that can change a text's embedding."""
        return {
            "text_padding": self.padding,
            "max_text_tokens": self.max_tokens,
            "masks_padding": self.rule.masks_padding,
            "lower_case": self._lower,
        }

    def _cased(self, texts: Sequence[str]) -> list[str]:
        return [text.lower() for text in texts] if self._lower else list(texts)

    def _ids(self, texts: Sequence[str]) -> list[list[int]]:
        ids: list[list[int]] = self._tokenizer(list(texts), verbose=False)["input_ids"]
        return ids


def _length(name: str, tokenizer: Any, config: Any, wanted: int | None) -> int:
    positions = getattr(getattr(config, "text_config", config), "max_position_embeddings", None)
    limits = [n for n in (tokenizer.model_max_length, positions) if n and n < _UNLIMITED]
    if wanted is None:
        if not limits:
            raise ModelError(
                "the checkpoint does not say how long a text may be",
                where=f"checkpoint {name}",
                why="neither its tokenizer nor its text_config has a limit",
                mend="add model.max_text_tokens=… to the command",
            )
        return int(min(limits))
    if wanted < 1 or (limits and wanted > min(limits)):
        most = f"1 to {min(limits)}" if limits else "1 or more"
        raise ConfigError(
            f"max_text_tokens cannot be {wanted}",
            where=f"model.max_text_tokens, checkpoint {name}",
            why=f"this checkpoint reads {most} tokens",
            mend=f"give {most}, or leave it out",
        )
    return wanted


def _check_end_of_text(name: str, tokenizer: Any, eos: int) -> None:
    """Refuses a CLIP whose text embedding would be read at a wrong position.

    transformers' CLIP takes the state at the first `eos_token_id`; where the config says 2 (written
    before the real id was recorded, openai's files among them) at the largest id instead. With a
    tokenizer that does not end texts that way it silently reads some word, or the first token.
    """
    ids = tokenizer("a")["input_ids"]
    legacy = eos == 2
    last = ids[-1] if ids else None
    good = last == (max(tokenizer.get_vocab().values()) if legacy else eos)
    if good and ids.index(last) == len(ids) - 1:
        return
    expected = "the largest id of the vocabulary, as eos_token_id is 2" if legacy else f"id {eos}"
    raise ModelError(
        "the tokenizer does not end texts with the token the text encoder reads",
        where=f"checkpoint {name}",
        why=f"texts end with id {last}, the model looks for {expected}",
        mend="use the tokenizer the checkpoint was trained with, or correct eos_token_id in the "
        "text_config of its config.json",
    )
