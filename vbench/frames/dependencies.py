"""Which packets of a video must be decoded for the frames that are wanted."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection
from dataclasses import dataclass
from enum import Enum
from functools import cached_property


class Role(Enum):
    """What a packet is to the packets after it."""

    START = "start"
    """Decoding may begin here: nothing from here on builds on anything before."""
    LINK = "link"
    """Packets after it may build on it."""
    SPARE = "spare"
    """No packet builds on it."""
    UNCLEAR = "unclear"
    """Its bytes do not say, or decoding without it could differ."""


@dataclass(frozen=True)
class Dependencies:
    """The packets of a file whose every role is clear, in file order; the first is a START."""

    ticks: tuple[int, ...]
    """Presentation times, unique."""
    roles: tuple[Role, ...]

    @property
    def saves_nothing(self) -> bool:
        """Whether every frame needs all packets before it."""
        return all(role is Role.LINK for role in self.roles[1:])

    @cached_property
    def _starts(self) -> list[int]:
        return [position for position, role in enumerate(self.roles) if role is Role.START]

    @cached_property
    def _position_of(self) -> dict[int, int]:
        return {tick: position for position, tick in enumerate(self.ticks)}

    def packets_for(self, wanted: Collection[int]) -> set[int]:
        """Chooses the packets that the frames at some presentation times build on.

        From the last START at or before each wanted packet, in file order, up to that packet,
        all but the SPARE ones that are not wanted themselves. The file's first packet is always
        among them: an encoder's note in it can change how a decoder treats the whole file (x264
        names its build there, and FFmpeg mends known faults of old builds).

        Args:
            wanted: Presentation times in ticks.

        Returns:
            Presentation times of packets to decode, in file order.

        >>> B, P, K = Role.SPARE, Role.LINK, Role.START
        >>> ticks, roles = (0, 2, 1, 4, 3, 5, 7, 6), (K, P, B, P, B, K, P, B)
        >>> sorted(Dependencies(ticks, roles).packets_for({6}))
        [0, 5, 6, 7]
        >>> sorted(Dependencies(ticks, roles).packets_for({3}))
        [0, 2, 3, 4]
        """
        last_of: dict[int, int] = {0: 0}
        for position in map(self._position_of.__getitem__, wanted):
            start = self._starts[bisect_right(self._starts, position) - 1]
            last_of[start] = max(last_of.get(start, 0), position)
        return {
            self.ticks[position]
            for start, last in last_of.items()
            for position in range(start, last + 1)
            if self.roles[position] is not Role.SPARE or self.ticks[position] in wanted
        }
