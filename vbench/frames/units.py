"""What a compressed picture's own bytes say about who builds on it.

A container's keyframe flag is not enough: where groups of pictures are open, or only recover
gradually, pictures after a keyframe build on pictures before it. Read are

- H.264 in length-prefixed units (avcC): IDR pictures start, pictures with nal_ref_idc 0 are spare
  (ITU-T H.264, 7.3.1, 7.4.1);
- HEVC in length-prefixed units (hvcC): IDR pictures start (ITU-T H.265, 7.4.2.2);
- VP9: key frames start (VP9 bitstream specification 0.6, 6.2, 7.2: they refill every reference);
- AV1: shown key frames that come with a sequence header start (AV1 specification, 7.20, 7.21).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from vbench.frames.dependencies import Role

ReadRole = Callable[[memoryview], Role]

_LASTING_MESSAGES = frozenset({19, 47, 147})
"""Film grain, display orientation, alternative transfer: they hold for pictures after their own."""


@dataclass(frozen=True)
class _Syntax:
    """Types of units, by their numbers."""

    pictures: frozenset[int]
    starts: frozenset[int]
    parameters: frozenset[int]
    messages: frozenset[int]
    ignored: frozenset[int]
    """Delimiters and filler. A unit of any other type leaves the packet's role unclear."""
    header_bytes: int


_H264 = _Syntax(
    pictures=frozenset({1, 5}),
    starts=frozenset({5}),
    parameters=frozenset({7, 8}),
    messages=frozenset({6}),
    ignored=frozenset({9, 12}),
    header_bytes=1,
)
_HEVC = _Syntax(
    pictures=frozenset({*range(10), *range(16, 22)}),
    starts=frozenset({19, 20}),
    parameters=frozenset({32, 33, 34}),
    messages=frozenset({39, 40}),
    ignored=frozenset({35, 38}),
    header_bytes=2,
)


def role_reader(codec: str, extradata: bytes | None) -> ReadRole | None:
    """Returns what tells the roles of a stream's packets, to be called for each in file order.

    Args:
        codec: FFmpeg's name of the decoder.
        extradata: The stream's header.

    Returns:
        None where only decoding everything is known to be right.
    """
    head = extradata or b""
    if codec == "h264" and len(head) > 6 and head[0] == 1:
        return _UnitReader(_H264, (head[4] & 3) + 1)
    if codec == "hevc" and len(head) > 22 and head[0] == 1:
        return _UnitReader(_HEVC, (head[21] & 3) + 1)
    return {"vp9": _vp9, "libdav1d": _av1}.get(codec)


class _UnitReader:
    """Reads packets of H.264 or HEVC in file order.

    Parameter sets outlive the packet they come in. They are harmless in front of starts if all
    starts of a file bring the same ones; anywhere else the role is unclear.
    """

    def __init__(self, syntax: _Syntax, length_bytes: int) -> None:
        self._syntax = syntax
        self._length_bytes = length_bytes
        self._parameters: bytes | None = None

    def __call__(self, packet: memoryview) -> Role:
        try:
            role, parameters = self._read(packet)
        except (ValueError, IndexError):
            return Role.UNCLEAR
        if self._parameters is None:
            self._parameters = parameters
        brought = self._parameters if role is Role.START else b""
        return role if parameters == brought else Role.UNCLEAR

    def _read(self, packet: memoryview) -> tuple[Role, bytes]:
        """Returns the role that a packet's pictures give it, and the parameter sets it brings."""
        syntax = self._syntax
        pictures, parameters = [], b""
        for unit in _units(packet, self._length_bytes):
            kind = self._kind(unit)
            if kind in syntax.pictures:
                pictures.append(unit)
            elif kind in syntax.parameters:
                parameters += unit
            elif kind in syntax.messages:
                self._check_message(unit)
            elif kind not in syntax.ignored:
                raise ValueError(f"a unit of type {kind}")
        if self._kind(pictures[0]) in syntax.starts:
            return Role.START, parameters
        is_spare = syntax is _H264 and not any(unit[0] & 0x60 for unit in pictures)
        return Role.SPARE if is_spare else Role.LINK, parameters

    def _check_message(self, unit: memoryview) -> None:
        # the first packet is always decoded, and what it says reaches every picture
        if self._parameters is not None and _LASTING_MESSAGES & set(_messages(unit, self._syntax)):
            raise ValueError("a message that holds for later pictures")

    def _kind(self, unit: memoryview) -> int:
        if self._syntax is _H264:
            return unit[0] & 31
        if unit[0] & 1 or unit[1] >> 3:
            raise ValueError("a picture of more than one layer")
        return unit[0] >> 1 & 63


def _units(packet: memoryview, length_bytes: int) -> Iterator[memoryview]:
    position = 0
    while position < len(packet):
        start = position + length_bytes
        position = start + int.from_bytes(packet[position:start])
        if position == start or position > len(packet):
            raise ValueError("lengths of units do not add up")
        yield packet[start:position]


def _messages(unit: memoryview, syntax: _Syntax) -> Iterator[int]:
    """Yields the types of a unit of supplemental messages."""
    data = bytes(unit[syntax.header_bytes :]).replace(b"\0\0\3", b"\0\0")
    position = 0
    while len(data) - position > 2:  # a message and the unit's last byte, as FFmpeg reads them
        numbers = []
        for _ in ("type", "size"):
            number = 0
            while data[position] == 255:
                number, position = number + 255, position + 1
            numbers.append(number + data[position])
            position += 1
        position += numbers[1]
        yield numbers[0]


def _vp9(packet: memoryview) -> Role:
    # frame_marker 2 bits, profile 2, one more in profile 3, show_existing_frame, frame_type
    shift = 0 if packet[0] & 0x30 == 0x30 else 1
    is_key = packet[0] >> 6 == 2 and not packet[0] >> shift & 6
    return Role.START if is_key else Role.LINK


def _av1(packet: memoryview) -> Role:
    position, has_sequence = 0, False
    try:
        while position < len(packet):
            header = packet[position]
            kind = header >> 3 & 15
            position += 2 if header & 4 else 1
            size, position = _leb128(packet, position) if header & 2 else (len(packet), position)
            has_sequence |= kind == 1
            if kind in (3, 6):  # a frame's header: show_existing_frame 1 bit, frame_type 2, shown 1
                is_shown_key = packet[position] >> 4 == 1
                return Role.START if has_sequence and is_shown_key else Role.LINK
            position += size
    except IndexError:
        pass
    return Role.UNCLEAR


def _leb128(packet: memoryview, position: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = packet[position]
        value |= (byte & 127) << shift
        position, shift = position + 1, shift + 7
        if byte < 128:
            return value, position
