"""Real videos whose every frame carries its own number in its pixels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest

BITS, BLOCK = 10, 8


def picture(number: int, width: int, height: int, grain: int = 0) -> np.ndarray:
    """A frame that shows its number as black and white blocks, and below them the complement.

    Grain makes every frame cost bytes, so that damage to them shows.
    """
    y, x = np.mgrid[0:height, 0:width]
    pixels = np.stack([(x * 2 + number * 3) % 256, y * 2 % 256, (x + y + number) % 256], axis=-1)
    pixels = pixels + np.random.default_rng(number).integers(0, grain + 1, pixels.shape)
    for bit in range(BITS):
        on = number >> bit & 1
        column = slice(bit * BLOCK, (bit + 1) * BLOCK)
        pixels[:BLOCK, column], pixels[BLOCK : 2 * BLOCK, column] = 255 * on, 255 * (1 - on)
    return np.clip(pixels, 0, 255).astype(np.uint8)


def number_in(pixels: np.ndarray) -> int:
    """Reads the number back; fails unless the picture is upright and unmirrored."""
    rows = [
        [int(pixels[r + 2 : r + 6, c + 2 : c + 6].mean() > 127) for c in range(0, 80, BLOCK)]
        for r in (0, BLOCK)
    ]
    assert [1 - bit for bit in rows[0]] == rows[1], "not an upright numbered picture"
    return sum(bit << i for i, bit in enumerate(rows[0]))


@dataclass
class Studio:
    """Makes videos and reads their frames' numbers."""

    folder: Path
    number_in: Callable[[np.ndarray], int] = number_in
    picture: Callable[..., np.ndarray] = picture
    made: dict[str, str] = field(default_factory=dict)

    def video(self, name: str, codec: str = "libx264", **settings: Any) -> str:
        """Returns the path of a video, encoded on first use."""
        if name not in self.made:
            self.made[name] = str(self.folder / name)
            encode(self.made[name], codec, **settings)
        return self.made[name]

    def remuxed(self, source: str, name: str, **settings: Any) -> str:
        """Returns the path of a copy of a video's packets in another file."""
        remux(source, str(self.folder / name), **settings)
        return str(self.folder / name)


def encode(
    path: str,
    codec: str,
    *,
    count: int = 48,
    size: tuple[int, int] = (96, 64),
    options: dict[str, str] | None = None,
    pixel_format: str = "yuv420p",
    container: str | None = None,
    ticks: Sequence[int] | None = None,
    start: int = 0,
    rotation: tuple[int, bool] = (0, False),
    grain: int = 0,
) -> None:
    """Encodes numbered frames at 24 ticks a second.

    Args:
        path: Where to.
        codec: An FFmpeg encoder.
        count: Frames.
        size: (w, h) of the upright picture.
        options: Of the encoder.
        pixel_format: FFmpeg's name.
        container: FFmpeg's name; None: by the path's suffix.
        ticks: Presentation time of each frame in 1/24 s; None: 0, 1, 2, …
        start: Added to every time.
        rotation: (degrees counter-clockwise, mirrored): the file holds the pictures turned the
            other way and asks players to turn them upright.
        grain: Grey levels of noise.
    """
    degrees, mirrored = rotation
    with av.open(path, "w", format=container) as output:
        stream: Any = output.add_stream(codec, rate=24, options=options or {})
        turned = degrees % 180 == 90
        stream.width, stream.height = size[::-1] if turned else size
        stream.pix_fmt = pixel_format
        stream.thread_count = 1
        if rotation != (0, False):
            stream.set_display_rotation(degrees, hflip=mirrored)
        for number in range(count):
            pixels = picture(number, *size, grain)
            pixels = np.rot90(pixels[:, ::-1] if mirrored else pixels, -degrees // 90)
            frame = av.VideoFrame.from_ndarray(np.ascontiguousarray(pixels), format="rgb24")
            frame.pts = (number if ticks is None else ticks[number]) + start
            frame.time_base = Fraction(1, 24)
            output.mux(stream.encode(frame))
        output.mux(stream.encode(None))


def remux(
    source: str,
    target: str,
    *,
    shift: int = 0,
    skip: int = 0,
    options: dict[str, str] | None = None,
    audio: bool = False,
) -> None:
    """Copies packets, moved by `shift` ticks of the source's clock, without the first `skip`."""
    with av.open(source) as given, av.open(target, "w", options=options or {}) as output:
        stream = output.add_stream_from_template(given.streams.video[0])
        sound: Any = output.add_stream("aac", rate=8000) if audio else None
        for position, packet in enumerate(given.demux(video=0)):
            if packet.dts is None or position < skip:
                continue
            packet.pts += shift
            packet.dts += shift
            packet.stream = stream
            output.mux(packet)
        if sound:
            frame = av.AudioFrame.from_ndarray(np.zeros((1, 8000), np.float32), "fltp", "mono")
            frame.sample_rate = 8000
            output.mux([*sound.encode(frame), *sound.encode(None)])


@pytest.fixture(scope="session")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Studio:
    return Studio(tmp_path_factory.mktemp("videos"))
