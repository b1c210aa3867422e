"""The backgrounds of the toy world: pale or dark enough for every character to stand out."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from functools import lru_cache

from PIL import Image, ImageDraw

from vbench.datasets.toy.sprites import OVERSAMPLE, Colour

Box = tuple[float, float, float, float]


class _Wall:
    """Draws in units of final pixels on a square."""

    def __init__(self, size: int, fill: Colour) -> None:
        self.image = Image.new("RGB", (size * OVERSAMPLE, size * OVERSAMPLE), fill)
        self._draw = ImageDraw.Draw(self.image)

    def box(self, box: Box, fill: Colour) -> None:
        self._draw.rectangle([v * OVERSAMPLE for v in box], fill=fill)

    def disc(self, x: float, y: float, r: float, fill: Colour) -> None:
        self._draw.ellipse([v * OVERSAMPLE for v in (x - r, y - r, x + r, y + r)], fill=fill)

    def triangle(self, corners: tuple[float, ...], fill: Colour) -> None:
        self._draw.polygon([v * OVERSAMPLE for v in corners], fill=fill)


@lru_cache(maxsize=16)
def scene(name: str, size: int) -> Image.Image:
    """Returns the RGB background of a scene; a fixed picture, laid out for 128 pixels.

    Args:
        name: One of `world.SCENES`.
        size: Width and height in pixels.
    """
    wall = _Wall(size, (0, 0, 0))
    PAINTERS[name](wall, random.Random(f"vbench-toy/scene/{name}"))
    return wall.image.reduce(OVERSAMPLE)


def _beach(wall: _Wall, rng: random.Random) -> None:
    wall.box((0, 0, 128, 30), (196, 228, 244))
    wall.disc(108, 12, 9, (255, 240, 180))
    wall.box((0, 30, 128, 56), (120, 190, 215))
    for x in range(0, 136, 16):
        wall.disc(x, 57, 9, (236, 244, 244))
    wall.box((0, 58, 128, 128), (238, 218, 172))
    for _ in range(50):
        wall.disc(rng.uniform(0, 128), rng.uniform(64, 128), 0.9, (205, 180, 130))


def _meadow(wall: _Wall, rng: random.Random) -> None:
    wall.box((0, 0, 128, 34), (205, 232, 250))
    wall.box((0, 34, 128, 128), (172, 214, 140))
    for _ in range(60):
        x, y = rng.uniform(0, 128), rng.uniform(40, 126)
        wall.triangle((x - 2, y, x, y - 6, x + 2, y), (132, 184, 100))
    for _ in range(12):
        wall.disc(rng.uniform(0, 128), rng.uniform(40, 126), 1.6, (255, 246, 240))


def _snow(wall: _Wall, rng: random.Random) -> None:
    wall.box((0, 0, 128, 128), (178, 196, 214))
    wall.disc(30, 128, 62, (232, 238, 246))
    wall.disc(110, 134, 66, (222, 230, 241))
    for _ in range(50):
        wall.disc(rng.uniform(0, 128), rng.uniform(0, 128), rng.uniform(1, 2), (252, 253, 255))


def _room(wall: _Wall, rng: random.Random) -> None:
    wall.box((0, 0, 128, 88), (222, 200, 196))
    for x in range(0, 128, 16):
        wall.box((x, 0, x + 6, 88), (211, 186, 183))
    wall.box((0, 88, 128, 128), (172, 148, 128))
    wall.box((0, 86, 128, 90), (240, 232, 224))
    wall.box((44, 8, 84, 44), (246, 240, 232))
    wall.box((47, 11, 81, 41), (188, 214, 226))
    wall.box((63, 11, 65, 41), (246, 240, 232))


def _city(wall: _Wall, rng: random.Random) -> None:
    wall.box((0, 0, 128, 128), (34, 38, 74))
    for x in range(0, 128, 22):
        top = rng.uniform(14, 52)
        wall.box((x + 1, top, x + 20, 112), (62, 66, 92))
        for y in range(int(top) + 5, 104, 9):
            for dx in (4, 12):
                lit = rng.random() < 0.5
                wall.box((x + dx, y, x + dx + 4, y + 4), (214, 196, 130) if lit else (46, 48, 72))
    wall.box((0, 112, 128, 128), (74, 74, 82))


def _space(wall: _Wall, rng: random.Random) -> None:
    wall.box((0, 0, 128, 128), (16, 10, 34))
    for _ in range(70):
        wall.disc(rng.uniform(0, 128), rng.uniform(0, 128), rng.uniform(0.4, 1.2), (225, 225, 240))
    wall.disc(104, 22, 13, (92, 84, 118))
    wall.disc(100, 18, 3, (70, 62, 96))
    wall.disc(18, 114, 8, (70, 94, 104))


PAINTERS: Mapping[str, Callable[[_Wall, random.Random], None]] = {
    "beach": _beach,
    "meadow": _meadow,
    "snow": _snow,
    "room": _room,
    "city": _city,
    "space": _space,
}
