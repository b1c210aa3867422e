"""The marks that show a verb or a mood in a single frame, as comics do.

Growing and shrinking share a mark, and so do the two directions of walking and of floating: those
differ in motion only. Speed and style (quickly, jerkily, …) have no mark at all.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import lru_cache

from PIL import Image, ImageOps

from vbench.datasets.toy.sprites import INK, PAPER, Colour, Pen, arc, heart, ring

STEPS = 8
"""Pictures per cycle of a mark."""

GOLD: Colour = (255, 200, 0)
FLAME: Colour = (255, 90, 0)
WATER: Colour = (40, 150, 255)
ROPE: Colour = (150, 100, 50)
DUST: Colour = (195, 185, 175)


@lru_cache(maxsize=1024)
def mark(kind: str, step: int, side: int) -> Image.Image:
    """Returns a mark, to be pasted centred on its character (or where the action is).

    Args:
        kind: A key of `MARKS`.
        step: Which of the `STEPS` pictures of its cycle.
        side: 1 as drawn, facing right; -1 mirrored.
    """
    pen = Pen(38)
    MARKS[kind](pen, step / STEPS)
    return pen.done() if side == 1 else ImageOps.mirror(pen.done())


def _spin(pen: Pen, turn: float) -> None:
    for half in (0, 180):
        start = 360 * turn + half
        curve = arc(0, 0, 24, start, start + 125)
        pen.stroke(curve, PAPER, 2.6)
        x, y = curve[-1]
        angle = math.radians(start + 125 + 90)
        pen.stroke(_arrow_head(x, y, angle, 6), PAPER, 2.6)


def _arrow_head(x: float, y: float, angle: float, length: float) -> list[tuple[float, float]]:
    ends = [
        (x - length * math.cos(angle + turn), y - length * math.sin(angle + turn))
        for turn in (-0.6, 0.6)
    ]
    return [ends[0], (x, y), ends[1]]


def _shake(pen: Pen, turn: float) -> None:
    for r in (23 + 2 * turn, 29 + 2 * turn):
        for start in (-38, 142):
            pen.stroke(arc(0, 0, r, start, start + 76), PAPER, 2.2)


def _glow(pen: Pen, turn: float) -> None:
    far = 30 + 5 * math.sin(2 * math.pi * turn)
    for k in range(12):
        a = 2 * math.pi * k / 12
        near = [(21 * math.cos(a), 21 * math.sin(a)), (far * math.cos(a), far * math.sin(a))]
        pen.line(near, INK, 4.6)
        pen.line(near, GOLD, 3.2)


def _sleep(pen: Pen, turn: float) -> None:
    for k in range(3):
        size = 3.5 + 1.7 * k
        x, y = 12 + 7.5 * k, -16 - 7 * k + 2 * math.sin(2 * math.pi * (turn + k / 3))
        z = [(x - size, y - size), (x + size, y - size), (x - size, y + size), (x + size, y + size)]
        pen.stroke(z, PAPER, 2.0)


def _sing(pen: Pen, turn: float) -> None:
    for k, x in enumerate((-24, 22)):
        y = -17 + 5 * math.sin(2 * math.pi * (turn + k / 2))
        pen.disc(x, y + 7, 5.3, PAPER)
        pen.stroke([(x + 3.6, y + 7), (x + 3.6, y - 7), (x + 10, y - 3)], INK, 2.0)
        pen.disc(x, y + 7, 4.4, INK)


def _spring(pen: Pen, turn: float) -> None:
    coil = [(-9.0 if k % 2 else 9.0, 19 + 3.2 * k) for k in range(6)]
    pen.stroke(coil, (150, 160, 175), 2.2)


def _legs(pen: Pen, turn: float) -> None:
    swing = 8 * math.sin(2 * math.pi * turn)
    for foot in (swing, -swing):
        pen.stroke([(foot / 3, 12), (foot, 31), (foot + 5, 31)], INK, 3.6)


def _wings(pen: Pen, turn: float) -> None:
    tip = -13 + 9 * math.sin(2 * math.pi * turn)
    for side in (-1, 1):
        for grown, fill in ((1.5, INK), (0.0, (225, 240, 255))):
            root = [(side * 13.0, -4.0 - grown), (side * (33 + grown), tip - grown)]
            pen.polygon([*root, (side * (25 + grown), tip + 12), (side * 13.0, 7 + grown)], fill)


def _ghost(pen: Pen, turn: float) -> None:
    for k in range(10):
        pen.stroke(arc(0, 0, 27, 36 * k, 36 * k + 19), PAPER, 2.2)


def _bar(pen: Pen, turn: float) -> None:
    pen.line([(0, -17), (0, 17)], INK, 7)
    pen.line([(0, -16), (0, 16)], FLAME, 5)
    for y in (-10, 0, 10):
        pen.stroke(_arrow_head(10 + 3 * turn, y, 0, 5), FLAME, 2.0)


def _rope(pen: Pen, turn: float) -> None:
    wave = [(x - 16.0, 2 * math.sin(x / 3 + 2 * math.pi * turn)) for x in range(33)]
    pen.stroke(wave, ROPE, 4.0)
    pen.stroke([(16, -8), (16, 8)], ROPE, 3.0)


def _dust(pen: Pen, turn: float) -> None:
    for k, (x, y) in enumerate(((-21, 12), (-28, 4), (-30, 14))):
        r = 4.5 + 2 * math.sin(2 * math.pi * (turn + k / 3))
        pen.disc(x, y, r + 1.2, INK)
        pen.disc(x, y, r, DUST)
    for y in (-10, -3):
        pen.stroke([(-32, y), (-21, y)], PAPER, 1.8)


def _orbit(pen: Pen, turn: float) -> None:
    for k in range(12):
        curve = [(1.22 * x, 0.85 * y) for x, y in arc(0, 0, 28, 30 * k, 30 * k + 16)]
        pen.stroke(curve, PAPER, 2.0)


def _burst(pen: Pen, turn: float) -> None:
    size = 15 + 4 * math.sin(2 * math.pi * turn)
    for r, fill in ((size + 1.5, INK), (size, FLAME), (size * 0.6, GOLD)):
        pen.polygon([(r * x, r * y) for x, y in ring(9, 0.55)], fill)


def _ball(pen: Pen, turn: float) -> None:
    pen.disc(0, 0, 7.5, INK)
    pen.disc(0, 0, 6.2, PAPER)
    pen.line(arc(0, 0, 3.2, 360 * turn, 360 * turn + 200), INK, 1.6)


def _beam(pen: Pen, turn: float) -> None:
    pen.draw.polygon(pen.at([(-15, -3), (37, -24), (37, 24), (-15, 3)]), fill=(255, 246, 120, 215))
    pen.polygon([(-23, -5), (-14, -8), (-14, 8), (-23, 5)], INK)
    pen.disc(-14, 0, 4, GOLD)


def _duck(pen: Pen, turn: float) -> None:
    for k in range(4):
        x = -26 + 5 * k
        pen.stroke([(x, -10 - 4 * k), (x - 7, -15 - 4 * k)], PAPER, 2.2)


def _happily(pen: Pen, turn: float) -> None:
    for k, x in enumerate((-20, 20)):
        y = -21 + 3 * math.sin(2 * math.pi * (turn + k / 2))
        for size, fill in ((7.6, PAPER), (6.4, (255, 45, 110))):
            pen.polygon([(x + size * px, y + size * py) for px, py in heart()], fill)


def _angrily(pen: Pen, turn: float) -> None:
    for x in (-19.0, 19.0):
        size = 5 + math.sin(2 * math.pi * turn)
        for way in (-1, 1):
            bolt = [(x - size, -21 - way * size), (x + size, -21 + way * size)]
            pen.line(bolt, PAPER, 4.4)
            pen.line(bolt, (200, 0, 0), 2.8)


def _sadly(pen: Pen, turn: float) -> None:
    for side in (-1, 1):
        for k in range(2):
            y = -6 + 20 * ((turn + k / 2) % 1)
            for grown, fill in ((1.2, PAPER), (0.0, WATER)):
                x = side * 21
                pen.disc(x, y, 3.6 + grown, fill)
                pen.polygon([(x - 3, y - 2), (x, y - 8 - grown), (x + 3, y - 2)], fill)


MARKS: Mapping[str, Callable[[Pen, float], None]] = {
    "spin": _spin,
    "shake": _shake,
    "glow": _glow,
    "sleep": _sleep,
    "sing": _sing,
    "jump": _spring,
    "walk": _legs,
    "float": _wings,
    "grow": _ghost,
    "shrink": _ghost,
    "push": _bar,
    "pull": _rope,
    "chase": _dust,
    "circle": _orbit,
    "hit": _burst,
    "throw": _ball,
    "light": _beam,
    "hide": _duck,
    "happily": _happily,
    "angrily": _angrily,
    "sadly": _sadly,
}
