"""Roles of packets from their bytes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vbench.frames.dependencies import Role
from vbench.frames.units import role_reader

AVCC = bytes([1, 100, 0, 31, 0xFF, 0xE1, 0])
HVCC = bytes([1] + [0] * 20 + [3, 0])
SPS, PPS, AUD, NOTE = b"\x67sps", b"\x68pps", b"\x09\x10", b"\x06\x05\x02hi\x80"
IDR, P, B = b"\x65idr", b"\x41p", b"\x01b"
ROTATED = b"\x06\x2f\x01x\x80"


def packet(*units: bytes, length_bytes: int = 4) -> memoryview:
    return memoryview(b"".join(len(unit).to_bytes(length_bytes) + unit for unit in units))


def h264(*packets: memoryview, extradata: bytes = AVCC) -> list[Role]:
    reader = role_reader("h264", extradata)
    assert reader is not None
    return [reader(packet) for packet in packets]


def test_h264_roles() -> None:
    packets = [packet(NOTE, IDR), packet(AUD, P), packet(B, B), packet(B, P), packet(IDR, IDR)]
    roles = [Role.START, Role.LINK, Role.SPARE, Role.LINK, Role.START]
    assert h264(*packets) == roles
    assert h264(packet(IDR, length_bytes=2), extradata=AVCC[:4] + b"\xfd" + AVCC[5:]) == roles[:1]


def test_a_keyframe_that_only_recovers_is_no_start() -> None:
    recovery_point = b"\x06\x06\x01\xc4\x80"
    assert h264(packet(IDR), packet(recovery_point, b"\x61intra")) == [Role.START, Role.LINK]


def test_an_idr_field_starts_a_frame_whose_other_field_is_predicted() -> None:
    assert h264(packet(IDR, P)) == [Role.START]


@pytest.mark.parametrize(
    ("first", "second", "role"),
    [
        (packet(SPS, PPS, IDR), packet(SPS, PPS, IDR), Role.START),
        (packet(IDR), packet(SPS, PPS, IDR), Role.UNCLEAR),
        (packet(SPS, PPS, IDR), packet(IDR), Role.UNCLEAR),
        (packet(SPS, PPS, IDR), packet(SPS, b"\x68other", IDR), Role.UNCLEAR),
        (packet(IDR), packet(PPS, P), Role.UNCLEAR),
        (packet(IDR), packet(PPS, B), Role.UNCLEAR),
    ],
)
def test_parameter_sets_must_be_the_same_at_every_start(
    first: memoryview, second: memoryview, role: Role
) -> None:
    assert h264(first, second) == [Role.START, role]


@pytest.mark.parametrize(
    "message",
    [
        ROTATED,
        b"\x06\x13\x00\x80",
        b"\x06\x93\x01\x01\x80",
        b"\x06\x05\xff\x01" + b"u" * 256 + b"\x2f\x01x\x80",  # after one of 256 bytes
        b"\x06\x05\x03\0\0\3\1\x2f\x01x\x80",  # after one of 3 bytes, written as 4
    ],
)
def test_messages_that_hold_on_are_harmless_in_the_first_packet_only(message: bytes) -> None:
    assert h264(packet(message, IDR)) == [Role.START]
    assert h264(packet(IDR), packet(message, B)) == [Role.START, Role.UNCLEAR]


@pytest.mark.parametrize(
    "odd",
    [
        packet(IDR)[:-1],
        memoryview(b"\0\0"),
        memoryview(b"\0\0\0\0"),
        packet(NOTE),
        packet(b"\x0a", IDR),  # end of sequence
        packet(IDR, b"\x74layer"),
        packet(IDR, b"\x02partition"),
    ],
)
def test_odd_packets_are_unclear(odd: memoryview) -> None:
    assert h264(odd) == [Role.UNCLEAR]


def test_hevc_roles() -> None:
    def unit(kind: int, layer: int = 0) -> bytes:
        return bytes([kind << 1, layer << 3 | 1]) + b"x"

    reader = role_reader("hevc", HVCC)
    assert reader is not None
    parameters = unit(32), unit(33), unit(34)
    kinds = [20, 19, 21, 16, 0, 1, 8, 9]
    roles = [reader(packet(*parameters, unit(20)))]
    roles += [
        reader(packet(*(parameters if kind in (19, 20) else ()), unit(kind))) for kind in kinds
    ]
    starts = [Role.START] * 3
    # CRA, BLA and all the others, spare or not, are kept: pictures of higher layers may need them
    assert roles == starts + [Role.LINK] * 6
    assert reader(packet(unit(1, layer=1))) is Role.UNCLEAR
    assert reader(packet(unit(36))) is Role.UNCLEAR
    assert reader(packet(bytes([39 << 1, 1, 47, 1, 1, 0x80]), unit(1))) is Role.UNCLEAR


@pytest.mark.parametrize(
    ("first_byte", "role"),
    [
        (0b10000010, Role.START),
        (0b10000110, Role.LINK),
        (0b10001000, Role.LINK),  # an older frame shown again
        (0b10100000, Role.START),  # profile 1
        (0b10110000, Role.START),  # profile 3: one more bit before the type
        (0b10110010, Role.LINK),
        (0b10110100, Role.LINK),
        (0b00000000, Role.LINK),
    ],
)
def test_vp9_roles(first_byte: int, role: Role) -> None:
    reader = role_reader("vp9", None)
    assert reader is not None
    assert reader(memoryview(bytes([first_byte, 0]))) is role


def test_av1_roles() -> None:
    reader = role_reader("libdav1d", None)
    assert reader is not None
    delimiter, sequence = b"\x12\x00", b"\x0a\x01\x00"
    padded = b"\x7a\x81\x00p"  # its size written in two bytes
    key, hidden_key, inter, again = (b"\x32\x01" + bytes([x]) for x in (0x10, 0x00, 0x30, 0x90))
    assert reader(memoryview(delimiter + sequence + key)) is Role.START
    assert reader(memoryview(padded + sequence + b"\x36\x00\x01\x10")) is Role.START
    assert reader(memoryview(sequence + b"\x30\x10")) is Role.START  # no size: to the end
    assert reader(memoryview(delimiter + key)) is Role.LINK
    for other in (hidden_key, inter, again):
        assert reader(memoryview(delimiter + sequence + other)) is Role.LINK
    assert reader(memoryview(delimiter)) is Role.UNCLEAR


def test_streams_that_are_always_decoded_whole() -> None:
    assert role_reader("h264", b"\0\0\0\1\x67") is None  # start codes instead of lengths
    assert role_reader("h264", None) is None
    assert role_reader("hevc", b"\0\0\0\1" * 10) is None
    assert role_reader("mpeg4", b"") is None


@given(data=st.binary(min_size=1), codec=st.sampled_from(["h264", "hevc", "vp9", "libdav1d"]))
def test_no_bytes_break_a_reader(data: bytes, codec: str) -> None:
    reader = role_reader(codec, HVCC if codec == "hevc" else AVCC)
    assert reader is not None
    assert isinstance(reader(memoryview(data)), Role)


@given(st.lists(st.binary(min_size=1, max_size=9), max_size=4))
def test_no_units_break_a_reader(units: list[bytes]) -> None:
    for role in (*h264(packet(IDR), packet(*units)), role_reader("hevc", HVCC)(packet(*units))):  # type: ignore[misc]
        assert isinstance(role, Role)
