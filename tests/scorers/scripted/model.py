"""A video-language model that answers from the truth, or has a habit, and loads nothing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

from vbench.protocols import View
from vbench.records import Clip, Facts, Reply, Request, Task
from vbench.truth import holds

Mind = Literal["truthful", "first", "constant", "prose", "refusing", "wordy"]


class Scripted:
    """Knows what is true of a clip from the dataset's facts.

    Args:
        mind: `truthful`; `first`: the first option, always; `constant`: finds everything equally
            probable; `prose`: writes much and names nothing; `refusing`; `wordy`: truthful, but cut
            off before it is done.
    """

    needs = frozenset({"video", "facts"})
    preprocess = None
    module = None

    def __init__(self, mind: Mind = "truthful") -> None:
        self.mind = mind

    @property
    def tasks(self) -> frozenset[Task]:
        return frozenset({"score", "generate"})

    def identity(self) -> str:
        return f"scripted/{type(self).__name__}/{self.mind}"

    def bind(self, facts: Facts | None) -> None:
        self.facts = facts

    def is_true(self, text: str, clip: Clip) -> bool:
        assert self.facts is not None
        return holds(self.facts.claim_of(text), self.facts.events_in(clip))

    def answer(self, asked: Sequence[tuple[View | None, Sequence[Request]]]) -> list[list[Reply]]:
        return [[self._reply(request) for request in requests] for _, requests in asked]

    def _reply(self, request: Request) -> Reply:
        if self.mind == "refusing":
            return Reply("refused", "blocked for safety")
        if request.task == "generate":
            cut = self.mind == "wordy"
            return Reply(text=self._written(request), finish_reason="length" if cut else "stop")
        words = [one.text for one in request.continuations]
        log_probs = [self._log_prob(word, request) for word in words]
        ids = [tuple(map(ord, word)) for word in words]
        return Reply(log_probs=tuple(log_probs), token_ids=tuple(ids), dtype="float32")

    def _choice(self, request: Request) -> str:
        shown = self._shown(request)
        true = [i for i, text in enumerate(shown) if self.is_true(text, request.clips[0])]
        return "A" if self.mind == "first" else "ABCDEFGH"[true[0]]

    def _shown(self, request: Request) -> tuple[str, ...]:
        assert request.message is not None
        return tuple(text for text in request.message.quoted or () if not text.endswith("?"))

    def _written(self, request: Request) -> str:
        if self.mind == "prose":
            return "A man and a dog are to be seen, and I think that they are happy."
        if self.mind == "constant":
            return "It could be any of them."
        return f"Based on the video, the answer is ({self._choice(request)})."

    def _log_prob(self, word: str, request: Request) -> float:
        if self.mind == "constant":
            return math.log(0.3)
        if word in ("Yes", "No"):
            (caption,) = self._shown(request)
            return math.log(
                0.8 if self.is_true(caption, request.clips[0]) == (word == "Yes") else 0.1
            )
        if len(word) == 1:
            return math.log(0.7 if word == self._choice(request) else 0.05)
        usual = -0.5 if len(word) % 2 else -5.0  # what a sentence is worth without any video
        if not request.clips:
            return usual * len(word)
        return (usual + (0.2 if self.is_true(word, request.clips[0]) else 0.0)) * len(word)


class Named(Scripted):
    """Holds true what is the name of the video."""

    needs = frozenset({"video"})

    def is_true(self, text: str, clip: Clip) -> bool:
        return text == clip.video_id
