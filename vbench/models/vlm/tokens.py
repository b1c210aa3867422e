"""From rendered prompts and possible replies to token ids, and what may not pass for one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from vbench.errors import ModelError
from vbench.models.vlm.processors import video_token
from vbench.models.vlm.rendering import Rendered
from vbench.records import Continuation

Tokens = tuple[int, ...]

_UNLIMITED = 10**6
"""Tokenizers without a limit claim one of about 1e30 tokens."""

_ANCHORS = (":", "\n", "]", ".", "?", "x")
"""What a reply may stand after; one of them does not merge with its first letter."""


class TokenReader:
    """Reads texts as one checkpoint's tokenizer does.

    Args:
        name: The checkpoint, for messages.
        processor: Its processor.
        config: Its transformers config.
    """

    def __init__(self, name: str, processor: Any, config: Any) -> None:
        self.name = name
        self._tokenizer = tokenizer = processor.tokenizer
        self._placeholder = video_token(processor)
        names = ("image_token", "video_token", "audio_token")
        marks = {str(getattr(processor, mark, None) or "") for mark in names}
        added = tokenizer.added_tokens_decoder.values()
        special = {token.content for token in added if token.special}
        self._control = sorted((special | marks) - {""}, key=len, reverse=True)
        places = {tokenizer.convert_tokens_to_ids(mark) for mark in marks - {""}}
        self._visual = frozenset(places)
        self.context = _context(tokenizer, config)
        """The most tokens the model holds; None where neither config nor tokenizer tells."""

    def control(self, texts: Iterable[str]) -> str:
        """Returns a special token that is written out in one of the texts; empty if none is."""
        return next((mark for text in texts for mark in self._control if mark in text), "")

    def prompt(self, rendered: Rendered, expansion: str) -> Tokens:
        """Returns the ids of a prompt.

        Args:
            rendered: With the placeholder for the video once, or not at all.
            expansion: What the placeholder becomes.
        """
        text = rendered.text.replace(self._placeholder, expansion, 1)
        return self._ids(text, add_special_tokens=rendered.add_special_tokens)

    def visual_count(self, tokens: Tokens) -> int:
        """Counts the tokens that stand for visual features."""
        return sum(token in self._visual for token in tokens)

    def reply(self, continuation: Continuation) -> Tokens:
        """Returns the ids that spell a possible reply in the form asked for.

        Raises:
            ModelError: The tokenizer cannot spell it that way.
        """
        if continuation.form == "encode":
            found = self._ids(continuation.text)
            if found:
                return found
        else:
            space = " " if continuation.form == "space" else ""
            for anchor in _ANCHORS:
                found = self._after(anchor, space + continuation.text)
                if found:
                    return found
        raise ModelError(
            f"the tokenizer cannot spell {continuation.text!r} as '{continuation.form}'",
            where=f"checkpoint {self.name}",
            mend="use the form 'encode'",
        )

    def _after(self, anchor: str, text: str) -> Tokens:
        """Returns the ids of a text that stands right after another; none if the two merge."""
        start, whole = self._ids(anchor), self._ids(anchor + text)
        if whole[: len(start)] != start:
            return ()
        rest = whole[len(start) :]
        spelled = self._tokenizer.decode(whole, clean_up_tokenization_spaces=False)
        return rest if spelled.strip() == (anchor + text).strip() else ()

    def _ids(self, text: str, *, add_special_tokens: bool = False) -> Tokens:
        made = self._tokenizer(text, add_special_tokens=add_special_tokens, verbose=False)
        return tuple(made["input_ids"])


def _context(tokenizer: Any, config: Any) -> int | None:
    """The config's limit holds: tokenizers' are often left over from a shorter model."""
    text = config.get_text_config(decoder=True)
    limits = (getattr(text, "max_position_embeddings", None), tokenizer.model_max_length)
    return next((int(limit) for limit in limits if limit and limit < _UNLIMITED), None)
