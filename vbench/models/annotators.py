"""Annotators: simulated ones, whose error rate is known. They stand where people would.

Nothing here opens a file.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass

from vbench.errors import ConfigError
from vbench.models.oracles import Informed
from vbench.records import Clip
from vbench.truth import holds

_CERTAIN = 100.0
"""More than two noises can lie apart: they are drawn from a grid of 2^53 steps."""


@dataclass
class Simulated(Informed):
    """Prefers the true of a true and a false caption, but for an error rate.

    A score is the truth times a weight plus Gumbel noise of its own, by a hash of clip and text.
    The difference of two such noises is logistic, so that with the weight ln((1 - e) / e) the false
    caption scores higher with a probability of exactly e.
    """

    error_rate: float = 0.05
    """From 0 to 0.5."""
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0 <= self.error_rate <= 0.5:
            raise ConfigError(
                "an annotator's error rate lies between 0 and 0.5",
                where=f"model.error_rate={self.error_rate}",
                mend="0 never errs, 0.5 chooses at random",
            )

    def identity(self) -> str:
        """Returns what decides its scores."""
        return f"simulated annotator error_rate={self.error_rate!r} seed={self.seed}"

    def score(self, clip: Clip, texts: Sequence[str]) -> list[float]:
        """Returns one score per text.

        Raises:
            ConfigError: The dataset has no facts.
            DataError: The facts do not cover the clip or a text.
        """
        known = self.known("simulated", "people (docs/velociti.md)")
        events = known.events_in(clip)
        truths = [holds(known.claim_of(text), events) for text in texts]
        return [
            self._weight * truth + self._noise(clip, text)
            for truth, text in zip(truths, texts, strict=True)
        ]

    @property
    def _weight(self) -> float:
        error = self.error_rate
        return _CERTAIN if error == 0 else math.log((1 - error) / error)

    def _noise(self, clip: Clip, text: str) -> float:
        pair = json.dumps([self.seed, clip.video_id, clip.start_s, clip.end_s, text])
        digest = hashlib.blake2b(pair.encode(), digest_size=8, person=b"annotator").digest()
        uniform = ((int.from_bytes(digest) >> 11) + 0.5) * 2.0**-53
        return -math.log(-math.log(uniform))
