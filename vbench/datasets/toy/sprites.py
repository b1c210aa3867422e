"""What the toy world is drawn with: characters, the marks of verbs and manners, and scenes.

Every function returns a cached picture with an alpha channel (scenes: without), drawn `OVERSAMPLE`
times too big and reduced, so edges are smooth and a frame costs a few pastes. Pictures are shared:
do not draw on them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import lru_cache

from PIL import Image, ImageDraw

Point = tuple[float, float]
Colour = tuple[int, int, int]

OVERSAMPLE = 4
INK: Colour = (35, 35, 40)
PAPER: Colour = (255, 255, 255)

COLOURS: Mapping[str, Colour] = {
    "red": (222, 35, 40),
    "blue": (40, 85, 230),
    "green": (25, 150, 55),
    "yellow": (252, 216, 35),
    "purple": (135, 45, 190),
    "orange": (250, 130, 20),
    "pink": (250, 130, 190),
    "brown": (125, 75, 35),
    "white": (250, 250, 250),
    "black": (20, 20, 22),
}


def ring(corners: int, inner: float = 1.0) -> list[Point]:
    """Returns a polygon of radius 1 with its first corner on top; `inner` < 1 makes a star."""
    steps = corners if inner == 1.0 else 2 * corners
    radii = [1.0 if k % 2 == 0 or inner == 1.0 else inner for k in range(steps)]
    turns = [2 * math.pi * k / steps - math.pi / 2 for k in range(steps)]
    return [(r * math.cos(a), r * math.sin(a)) for r, a in zip(radii, turns, strict=True)]


def heart() -> list[Point]:
    """Returns a heart about 1 in radius."""
    turns = [2 * math.pi * k / 40 for k in range(40)]
    return [
        (
            math.sin(a) ** 3,
            -(13 * math.cos(a) - 5 * math.cos(2 * a) - 2 * math.cos(3 * a) - math.cos(4 * a)) / 16,
        )
        for a in turns
    ]


def _flower() -> list[Point]:
    turns = [2 * math.pi * k / 80 for k in range(80)]
    radii = [0.78 + 0.24 * math.cos(6 * a) for a in turns]
    return [(r * math.cos(a), r * math.sin(a)) for r, a in zip(radii, turns, strict=True)]


def _cloud() -> list[Point]:
    # A flat bottom under three bumps: arcs of circles, from left to right.
    bumps = ((-0.6, 0.15, 0.42), (-0.1, -0.2, 0.58), (0.55, 0.1, 0.46))
    outline: list[Point] = [(-0.95, 0.6), (0.95, 0.6)]
    for x, y, r in reversed(bumps):
        arc = [math.pi * k / 12 for k in range(13)]
        outline += [(x + r * math.cos(a), y - r * math.sin(a)) for a in arc]
    return outline


def _cross() -> list[Point]:
    a, b = 0.36, 0.95
    quarter = [(-a, -b), (a, -b), (a, -a)]
    corners = list(quarter)
    for _ in range(3):
        quarter = [(-y, x) for x, y in quarter]
        corners += quarter
    return corners


SHAPES: Mapping[str, list[Point]] = {
    "star": ring(5, 0.5),
    "circle": ring(40),
    "triangle": [(x * 1.12, y * 1.12 + 0.12) for x, y in ring(3)],
    "square": [(-0.84, -0.84), (0.84, -0.84), (0.84, 0.84), (-0.84, 0.84)],
    "heart": heart(),
    "diamond": [(0, -1.1), (0.72, 0), (0, 1.1), (-0.72, 0)],
    "flower": _flower(),
    "hexagon": [(y, x) for x, y in ring(6)],
    "cloud": _cloud(),
    "cross": _cross(),
}


class Pen:
    """Draws in units of final pixels from the centre of a square picture."""

    def __init__(self, half: float) -> None:
        self.half = half
        side = round(2 * half * OVERSAMPLE)
        self.image = Image.new("RGBA", (side, side), (0, 0, 0, 0))
        self.draw = ImageDraw.Draw(self.image)

    def at(self, points: list[Point]) -> list[Point]:
        """Returns points in the big picture's own units."""
        return [((x + self.half) * OVERSAMPLE, (y + self.half) * OVERSAMPLE) for x, y in points]

    def polygon(self, points: list[Point], fill: Colour) -> None:
        """Fills a polygon."""
        self.draw.polygon(self.at(points), fill=(*fill, 255))

    def line(self, points: list[Point], fill: Colour, width: float) -> None:
        """Draws a line with round joints."""
        self.draw.line(
            self.at(points), fill=(*fill, 255), width=round(width * OVERSAMPLE), joint="curve"
        )

    def stroke(self, points: list[Point], fill: Colour, width: float = 2.0) -> None:
        """Draws a line with a rim, so that it shows on light and on dark scenes."""
        rim = INK if sum(fill) > 380 else PAPER
        self.line(points, rim, width + 1.6)
        self.line(points, fill, width)

    def disc(self, x: float, y: float, r: float, fill: Colour) -> None:
        """Fills a circle."""
        (x0, y0), (x1, y1) = self.at([(x - r, y - r), (x + r, y + r)])
        self.draw.ellipse([x0, y0, x1, y1], fill=(*fill, 255))

    def done(self) -> Image.Image:
        """Returns the picture at its final size."""
        return self.image.reduce(OVERSAMPLE)


def arc(x: float, y: float, r: float, start: float, end: float) -> list[Point]:
    """Returns points on a circle about (x, y) from angle `start` to `end`, in degrees."""
    turns = [math.radians(start + (end - start) * k / 12) for k in range(13)]
    return [(x + r * math.cos(a), y + r * math.sin(a)) for a in turns]


@lru_cache(maxsize=2048)
def character(name: str, radius: int, angle: int, mood: str | None, asleep: bool) -> Image.Image:
    """Returns a character such as `the red star`.

    Args:
        name: One of `world.CHARACTERS`.
        radius: Half its height, in pixels.
        angle: Clockwise turn in degrees.
        mood: A manner of the emotion group, or None for a straight face.
        asleep: Its eyes are shut.
    """
    _, colour, shape = name.split()
    pen = Pen(radius * 1.25 + 3)
    for grown, fill in ((3.0, PAPER), (1.6, INK), (0.0, COLOURS[colour])):
        outline = [(x * radius, y * radius) for x, y in SHAPES[shape]]
        if grown:
            pen.line([*outline, *outline[:2]], fill, 2 * grown)
        else:
            pen.polygon(outline, fill)
    _face(pen, radius, PAPER if sum(COLOURS[colour]) < 200 else INK, mood, asleep)
    return pen.done().rotate(-angle, Image.Resampling.BICUBIC)


def _face(pen: Pen, radius: int, line: Colour, mood: str | None, asleep: bool) -> None:
    unit = radius / 17
    for side in (-1, 1):
        x, y = side * 4.2 * unit, -2 * unit
        if asleep:
            pen.line([(x - 2.6 * unit, y), (x + 2.6 * unit, y)], line, 1.5 * unit)
            continue
        pen.disc(x, y, 3.2 * unit, INK)
        pen.disc(x, y, 2.6 * unit, PAPER)
        pen.disc(x, y, 1.3 * unit, INK)
        if mood == "angrily":
            brow = [(x - side * 3 * unit, y - 2.4 * unit), (x + side * 3.5 * unit, y - 5 * unit)]
            pen.line(brow, line, 1.8 * unit)
    mouths = {
        "happily": arc(0, 2.5 * unit, 4.2 * unit, 10, 170),
        "sadly": arc(0, 8.5 * unit, 4.2 * unit, 200, 340),
        "angrily": [(-3.5 * unit, 5.5 * unit), (3.5 * unit, 5.5 * unit)],
    }
    straight = [(-2 * unit, 5 * unit), (2 * unit, 5 * unit)]
    pen.line(mouths.get(mood or "", straight), line, 1.7 * unit)
