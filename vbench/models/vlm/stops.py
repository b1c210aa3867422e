"""Texts that end a reply: models of 2023 were trained to say one where others have a token."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


class Stops:
    """Reads replies, up to the first text that ends one.

    Args:
        tokenizer: The checkpoint's.
        texts: What ends a reply; none: only tokens do.
    """

    def __init__(self, tokenizer: Any, texts: Sequence[str] = ()) -> None:
        self._tokenizer = tokenizer
        self._texts = tuple(texts)
        self._longest = max(map(len, self._texts), default=0)

    def reached(self, tokens: Sequence[int]) -> bool:
        """Says whether the last token of a reply completes one of the texts.

        Text decides, not ids: a tokenizer spells `###` in more than one way.
        """
        if not self._texts:
            return False
        # A token is a character at least, so that no text is spread over more of them.
        end = self._tokenizer.decode(tokens[-self._longest :], skip_special_tokens=True)
        return any(text in end for text in self._texts)

    def read(self, tokens: Sequence[int]) -> str:
        """Returns a reply's words, without what ended it and, where texts do, spaces around."""
        words = str(self._tokenizer.decode(tokens, skip_special_tokens=True))
        if not self._texts:
            return words
        return min((words.partition(text)[0] for text in self._texts), key=len).strip()
