"""One decoding pass over a file, with a verdict on each picture: whole, or perhaps damaged."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator
from typing import Any

import av

from vbench.frames.container import opened

MOST_IN_DECODER = 32
"""Pictures a decoder may hold back; H.264 and HEVC allow 16. One that stays longer is lost."""


def pictures(
    path: str, is_paired: bool, only: set[int] | None = None
) -> Iterator[tuple[Any, bool]]:
    """Yields what the decoder delivers, in its order, and whether it may show damage.

    Damage spreads to whatever builds on it, that is until the next keyframe, both in presentation
    order (pictures after an open keyframe look back past it) and in the order of decoding (a
    B-picture is shown before the later picture that it builds on).

    Args:
        path: The file.
        is_paired: Each packet becomes one picture with the packet's presentation time. Then a
            picture is held until all decoded before it have come out; otherwise the order of
            decoding is not known, and only presentation order counts.
        only: Presentation times of the packets to decode; None: all.

    Yields:
        (`av.VideoFrame`, may be damaged); None instead of the frame for a packet that could not be
        decoded at all.

    Raises:
        DecodeError: The file cannot be read.
    """
    with opened(path) as (container, stream):
        order = _DecodeOrder(is_paired)
        for packet in _packets(container, stream, only):
            order.feed(packet)
            try:
                found = stream.decode(packet)
            except av.error.InvalidDataError:
                order.lose(packet)
                yield None, True
                continue
            for picture in found:
                order.take(picture)
            yield from order.settled(at_end=packet is None or not packet.size)


def _packets(container: Any, stream: Any, only: set[int] | None) -> Iterator[Any]:
    """Yields packets in file order, then what makes the decoder hand over all that it holds."""
    if only is None:
        yield from container.demux(stream)
        return
    missing = set(only)
    for packet in container.demux(stream):
        if packet.pts in missing:
            missing.remove(packet.pts)
            yield packet
        if not missing:
            break
    yield None


class _DecodeOrder:
    """Holds pictures back until it is known whether what they build on is whole."""

    def __init__(self, is_paired: bool) -> None:
        self._is_paired = is_paired
        self._fed: dict[int, Any] = {}
        """In the order of decoding: presentation time → None, then its picture; False if lost."""
        self._held: deque[tuple[Any, bool]] = deque()
        self._verdicts: dict[int, bool] = {}
        self._is_damaged = False
        """In presentation order."""
        self._key_tick = -math.inf
        self._is_past_damaged = False
        """In the order of decoding, before the last keyframe."""
        self._is_chain_damaged = False
        """The same, from it on."""

    def feed(self, packet: Any) -> None:
        """Notes a packet before it is decoded; None asks the decoder for all it holds."""
        if self._is_paired and packet is not None and packet.size and not packet.is_discard:
            self._fed[packet.pts] = None

    def lose(self, packet: Any) -> None:
        """Notes that a packet could not be decoded."""
        self._is_damaged = True
        if packet is not None and packet.pts in self._fed:
            self._fed[packet.pts] = False

    def take(self, picture: Any) -> None:
        """Receives a picture from the decoder."""
        self._is_damaged = picture.is_corrupt or (self._is_damaged and not picture.key_frame)
        self._held.append((picture, self._is_damaged))
        if picture.pts in self._fed:
            self._fed[picture.pts] = picture
        elif self._is_paired:  # given up before
            self._verdicts[picture.pts] = True

    def settled(self, at_end: bool) -> Iterator[tuple[Any, bool]]:
        """Yields the pictures on which there is a verdict by now, and whether it is damage."""
        for tick, picture in list(self._fed.items()):
            if picture is None and not at_end and len(self._fed) <= MOST_IN_DECODER:
                break
            del self._fed[tick]
            if picture and picture.key_frame:
                self._key_tick = tick
                self._is_past_damaged, self._is_chain_damaged = self._is_chain_damaged, False
            is_bad = not picture or picture.is_corrupt
            if tick < self._key_tick:  # shown before an open keyframe, looks back past it
                self._is_past_damaged |= is_bad
                self._verdicts[tick] = self._is_past_damaged
            else:
                self._is_chain_damaged |= is_bad
                self._verdicts[tick] = self._is_chain_damaged
        while self._held and (not self._is_paired or self._held[0][0].pts in self._verdicts):
            picture, is_damaged = self._held.popleft()
            yield picture, is_damaged or self._verdicts.pop(picture.pts, False)
