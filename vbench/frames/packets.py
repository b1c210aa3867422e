"""What a video file says about its frames, read from its packets without decoding them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

import av

from vbench.errors import DecodeError
from vbench.frames.dependencies import Dependencies, Role
from vbench.frames.units import ReadRole, role_reader

ONE_FRAME_PER_PACKET = frozenset({"h264", "hevc", "vp9", "av1", "libdav1d"})
"""Decoders that deliver exactly one frame for each packet. Others hide frames (VP8), put two in a
packet (MPEG-4 in AVI) or repeat them: there only decoding tells."""
DECLARE_DURATION = ("mov,mp4", "matroska,webm")
"""Containers whose header states the duration; elsewhere FFmpeg estimates it."""
EARLY_S = 0.5
"""A file that ends this much before its header says so was cut short."""


@dataclass(frozen=True, slots=True)
class Packet:
    """One packet of the video stream."""

    pts: int | None
    """Presentation time in ticks."""
    duration: int
    size: int
    is_keyframe: bool
    is_discarded: bool
    """An edit list keeps it from being shown; it is decoded for what depends on it."""
    role: Role = Role.UNCLEAR


@dataclass(frozen=True)
class PacketTable:
    """All packets of a video stream in file order, and its first decoded picture."""

    path: str
    codec: str
    packets: tuple[Packet, ...]
    time_base: Fraction
    """Seconds per tick."""
    rate: Fraction
    """Frames per second, as the header claims."""
    reorders: bool
    """The decoder expects packets out of presentation order."""
    picture: Any
    """The first frame that decodes (`av.VideoFrame`)."""

    @property
    def shown(self) -> list[int]:
        """Presentation times in ticks of all packets that are shown, ascending."""
        return sorted(p.pts for p in self.packets if p.pts is not None and not p.is_discarded)

    @property
    def tells_frames(self) -> bool:
        """Whether decoding will deliver exactly the frames in `shown`, at those times."""
        times = [p.pts for p in self.packets if p.pts is not None]
        if self.codec not in ONE_FRAME_PER_PACKET or len(times) < len(self.packets):
            return False
        # AVI stores no presentation times: packets that ought to be out of order look in order.
        # Where the decoder does not reorder, pictures out of order come so
        in_order = all(a < b for a, b in pairwise(times))
        # pictures shown before the first keyframe depend on something that was cut away
        complete = self.packets[0].is_keyframe and min(times) == times[0]
        return complete and len(set(times)) == len(times) and in_order != self.reorders

    @property
    def dependencies(self) -> Dependencies | None:
        """Which packets build on which; None where only decoding everything is known to be right.

        Known where decoding delivers one frame per packet, no edit list hides any, and the role of
        every packet is clear from its bytes.
        """
        roles = tuple(packet.role for packet in self.packets)
        if not self.tells_frames or any(packet.is_discarded for packet in self.packets):
            return None
        if roles[0] is not Role.START or Role.UNCLEAR in roles:
            return None
        ticks = tuple(packet.pts for packet in self.packets if packet.pts is not None)
        found = Dependencies(ticks, roles)
        return None if found.saves_nothing else found

    @property
    def identity(self) -> str:
        """A hash that follows from the file's bytes."""
        rows = repr([(p.pts, p.size) for p in self.packets])
        return hashlib.blake2b(rows.encode(), digest_size=8).hexdigest()

    def seconds(self, ticks: Sequence[int]) -> tuple[float, ...]:
        """Converts ticks to seconds from the first of them."""
        numerator, denominator = self.time_base.numerator, self.time_base.denominator
        return tuple((tick - ticks[0]) * numerator / denominator for tick in ticks)

    def duration_s(self, tick: int | None, default: float) -> float:
        """Returns how long the frame at a tick is shown, where the file says so."""
        ticks = next((p.duration for p in self.packets if p.pts == tick and tick is not None), 0)
        return float(ticks * self.time_base) if ticks > 0 else default


def read_packets(path: str, container: Any, stream: Any) -> PacketTable:
    """Reads all packets of an opened container.

    Args:
        path: Of the file, for errors.
        container: An `av.container.InputContainer` at its start.
        stream: Its video stream.

    Raises:
        DecodeError: No picture can be decoded, or the file ends before its header says.
    """
    _refuse_if_indexed_past_the_end(path, container, stream)
    packets: list[Packet] = []
    extents: dict[int, tuple[int, int]] = {}
    picture = None
    read_role = role_reader(stream.codec_context.name, stream.codec_context.extradata)
    # all streams: that every one of them ends early tells a file that was cut short
    for packet in container.demux():
        length, number = packet.duration or 0, packet.stream.index
        if packet.pts is not None:
            low, high = extents.get(number, (packet.pts, packet.pts))
            extents[number] = min(low, packet.pts), max(high, packet.pts + length)
        if number == stream.index:
            picture = picture or _picture(packet)
            if packet.size:
                flags = packet.is_keyframe, packet.is_discard
                role = _role(packet, read_role, is_first=not packets)
                packets.append(Packet(packet.pts, length, packet.size, *flags, role))
    context = stream.codec_context
    table = PacketTable(
        path,
        context.name,
        tuple(packets),
        Fraction(stream.time_base),
        Fraction(stream.average_rate or stream.guessed_rate or 25),
        bool(context.has_b_frames),
        picture,
    )
    _refuse_if_cut_short(table, container, extents)
    if picture is None:
        raise DecodeError(
            "no frame of the video can be decoded",
            where=path,
            why=f"{len(packets)} packets of {context.name} gave no picture",
            mend="fetch the file again, or leave it out",
        )
    return table


def _role(packet: Any, read_role: ReadRole | None, is_first: bool) -> Role:
    # a header in mid-file (of another kind of sample) holds for the packets after it
    if read_role is None or (packet.has_sidedata("new_extradata") and not is_first):
        return Role.UNCLEAR
    return read_role(memoryview(packet))


def _picture(packet: Any) -> Any:
    try:
        return next(iter(packet.decode()), None)
    except av.error.InvalidDataError:
        return None


def _refuse_if_indexed_past_the_end(path: str, container: Any, stream: Any) -> None:
    """An MP4 whose index comes first tells where every frame is to lie."""
    end = max((entry.pos + entry.size for entry in stream.index_entries), default=0)
    if 0 < container.size < end:
        raise DecodeError(
            "the file is cut short",
            where=path,
            why=f"its index promises {end} bytes, it holds {container.size}",
            mend="fetch or copy the file again",
        )


def _refuse_if_cut_short(
    table: PacketTable, container: Any, extents: Mapping[int, tuple[int, int]]
) -> None:
    if not container.duration or not container.format.name.startswith(DECLARE_DURATION):
        return
    clocks = {stream.index: stream.time_base for stream in container.streams}
    starts = [float(low * clocks[number]) for number, (low, _) in extents.items()]
    ends = [float(high * clocks[number]) for number, (_, high) in extents.items()]
    declared_s = container.duration / av.time_base
    # Matroska counts its duration from zero, however late the first frame
    held_s = max(ends, default=0.0) - min([0.0, *starts])
    times = table.seconds(table.shown or [0])
    # how long the last frame is shown is often not stored: no longer than twice any other, say
    gap = max((b - a for a, b in pairwise(times)), default=0.0)
    if declared_s - held_s > max(EARLY_S, 2 * gap):
        raise DecodeError(
            "the file is cut short",
            where=table.path,
            why=f"its header promises {declared_s:.2f} s, it holds {held_s:.2f} s",
            mend="fetch or copy the file again",
        )
