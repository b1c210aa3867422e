"""Scorers whose results are known beforehand: they check tests, metrics and loop, not models.

Oracles know what happens in a clip and what a caption claims (`records.Facts`), and no more: never
which caption of a sample is the right one. Nothing here opens a file.
"""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from vbench.errors import ConfigError
from vbench.protocols import Need
from vbench.records import Claim, Clip, Event, Facts
from vbench.truth import holds

ENTITY_ROLES = frozenset({"agent", "patient"})


class Informed:
    """Knows what happens in each clip and what captions claim."""

    needs: ClassVar[frozenset[Need]] = frozenset({"facts"})
    _known: Facts | None = None

    def bind(self, facts: Facts | None) -> None:
        """Takes the dataset's truth."""
        self._known = facts

    def known(self, name: str, other: str) -> Facts:
        """Returns the dataset's truth.

        Args:
            name: The model's, for messages.
            other: What to use where there is no truth to look up.

        Raises:
            ConfigError: The dataset has no facts.
        """
        if self._known is None:
            raise ConfigError(
                f"model={name} cannot be used with this dataset",
                where="model",
                why="it needs to know what really happens in each clip",
                mend=f"use dataset=velociti/toy, or {other}",
            )
        return self._known


class Oracle(Informed, ABC):
    """A scorer that compares a caption's claim with a clip's events."""

    name: ClassVar[str]

    def identity(self) -> str:
        """Returns the oracle's name: nothing else decides its scores."""
        return f"oracle/{self.name}"

    def score(self, clip: Clip, texts: Sequence[str]) -> list[float]:
        """Returns one score per text, from 0 to 1.

        Raises:
            ConfigError: The dataset has no facts.
            DataError: The facts do not cover the clip or a text.
        """
        known = self.known(f"oracle/{self.name}", "another model")
        events = known.events_in(clip)
        return [self.judge(known.claim_of(text), events) for text in texts]

    @abstractmethod
    def judge(self, claim: Claim, events: Sequence[Event]) -> float:
        """Scores a claim against the events of a clip."""


class Perfect(Oracle):
    """1 where the caption is true of the clip, else 0. Right on every test."""

    name = "perfect"

    def judge(self, claim: Claim, events: Sequence[Event]) -> float:
        """Returns 1 or 0.

        >>> sits = Event((("agent", "Ann"), ("verb", "sit")))
        >>> Perfect().judge(Claim((sits,)), [sits]), Perfect().judge(Claim((sits,)), [])
        (1.0, 0.0)
        """
        return float(holds(claim, events))


class OrderBlind(Oracle):
    """Like `Perfect`, but reads "then" as "and": ties on chronology, right elsewhere."""

    name = "order_blind"

    def judge(self, claim: Claim, events: Sequence[Event]) -> float:
        """Returns 1 or 0."""
        return float(holds(claim, events, in_order=False))


class BagOfConcepts(Oracle):
    """Sees every person, action, manner and place, but not what belongs together.

    Ties wherever both captions name only what is in the clip: binding, co-reference, chronology.
    """

    name = "bag_of_concepts"

    def judge(self, claim: Claim, events: Sequence[Event]) -> float:
        """Returns the share of the caption's concepts that occur anywhere in the clip.

        A quotient of two counts, so that equal shares are equal numbers.

        >>> said = Event((("agent", "Ann"), ("verb", "sit")))
        >>> seen = [Event((("agent", "Bob"), ("patient", "Ann"), ("verb", "hit")))]
        >>> BagOfConcepts().judge(Claim((said,)), seen)
        0.5
        """
        said = set(_concepts(claim.events))
        return len(said & set(_concepts(events))) / len(said)


def _concepts(events: Sequence[Event]) -> Iterator[tuple[str, str]]:
    """Yields what is there; a person is the same concept whether doing or done to."""
    for event in events:
        for role, filler in event.roles:
            yield ("entity" if role in ENTITY_ROLES else role), filler


class Constant:
    """Gives every pair the same score, as a broken model would: ties everywhere."""

    needs: ClassVar[frozenset[Need]] = frozenset({"text"})

    def identity(self) -> str:
        """Returns its name."""
        return "oracle/constant"

    def bind(self, facts: Facts | None) -> None:
        """Ignores the truth."""

    def score(self, clip: Clip, texts: Sequence[str]) -> list[float]:
        """Returns 0 for each text."""
        return [0.0] * len(texts)


@dataclass(frozen=True)
class Random:
    """Scores at random, evenly from 0 to 1: each pair of span and text by a hash, in any order."""

    needs: ClassVar[frozenset[Need]] = frozenset({"text"})

    seed: int = 0

    def identity(self) -> str:
        """Returns its name and seed."""
        return f"oracle/random seed={self.seed}"

    def bind(self, facts: Facts | None) -> None:
        """Ignores the truth."""

    def score(self, clip: Clip, texts: Sequence[str]) -> list[float]:
        """Returns one score per text, independent of every other pair's.

        >>> clip = Clip("v1", "v1.mp4")
        >>> Random(3).score(clip, ["a", "b"]) == Random(3).score(clip, ["b", "a"])[::-1]
        True
        """
        return [self._score(clip, text) for text in texts]

    def _score(self, clip: Clip, text: str) -> float:
        pair = json.dumps([self.seed, clip.video_id, clip.start_s, clip.end_s, text])
        digest = hashlib.blake2b(pair.encode(), digest_size=8).digest()
        return (int.from_bytes(digest) >> 11) * 2.0**-53
