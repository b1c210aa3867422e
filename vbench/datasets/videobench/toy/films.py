"""The films that other clips of the toy world have no use for: crowds, and clips with subtitles."""

from __future__ import annotations

import base64
import hashlib
import math
import random
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from vbench.datasets.toy.render import FPS, SIZE, render_frames
from vbench.datasets.toy.scenes import scene
from vbench.datasets.toy.sprites import character
from vbench.datasets.toy.world import CHARACTERS, EVENT_S, EVENTS_PER_CLIP, SCENES, ToyClip
from vbench.datasets.videobench.toy.lore import LINES

CROWD_S = 4
SMALLEST_CROWD, LARGEST_CROWD = 3, 14
_GRID = 4
"""Places in a row and in a column; each holds one character."""
_STEP = SIZE / _GRID


@dataclass(frozen=True, slots=True)
class Crowd:
    """Some characters in sight all the time, none hidden by another."""

    video_id: str
    count: int
    seed: str

    @classmethod
    def draw(cls, seed: int, index: int, count: int) -> Crowd:
        """Returns crowd `index` of a set; a pure function of its arguments."""
        name = f"vbench-toy/crowd/{seed}/{index}"
        digest = hashlib.sha256(name.encode()).digest()[:8]
        return cls(base64.urlsafe_b64encode(digest).decode().rstrip("="), count, name)

    def pictures(self) -> Iterator[np.ndarray]:
        """Yields every frame, uint8 (h w 3), RGB: everybody sways on the spot."""
        rng = random.Random(self.seed)
        place = rng.choice(SCENES)
        cells = rng.sample([(x, y) for x in range(_GRID) for y in range(_GRID)], self.count)
        people = [(x, y, rng.choice(CHARACTERS), rng.random()) for x, y in cells]
        for frame in range(CROWD_S * FPS):
            picture = scene(place, SIZE).copy()
            for x, y, name, phase in people:
                sway = 3 * math.sin(2 * math.pi * (phase + frame / FPS / 2))
                sprite = character(name, 9, 0, None, False)
                centre = (x + 0.5) * _STEP + sway, (y + 0.5) * _STEP
                corner = round(centre[0] - sprite.width / 2), round(centre[1] - sprite.height / 2)
                picture.paste(sprite, corner, sprite)
            yield np.asarray(picture)


def lines_of(clip: ToyClip) -> list[str]:
    """Returns what the subtitles say, one line an event, none twice."""
    return random.Random(f"vbench-toy/lines/{clip.video_id}").sample(LINES, EVENTS_PER_CLIP)


def subtitles_of(clip: ToyClip) -> str:
    """Returns a clip's subtitles as .srt."""
    cues = []
    for place, line in enumerate(lines_of(clip)):
        start, end = (f"00:00:{int(EVENT_S * n):02d},000" for n in (place, place + 1))
        cues.append(f"{place + 1}\n{start} --> {end}\n{line}\n")
    return "\n".join(cues)


def with_subtitles(clip: ToyClip) -> Iterator[np.ndarray]:
    """Yields every frame of a clip with its subtitles in the picture."""
    lines = lines_of(clip)
    for number, frame in enumerate(render_frames(clip)):
        picture = Image.fromarray(frame)
        _write(ImageDraw.Draw(picture), lines[int(number / FPS // EVENT_S)])
        yield np.asarray(picture)


@cache
def _font() -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    return ImageFont.load_default(size=12)


def _write(pen: ImageDraw.ImageDraw, line: str) -> None:
    pen.text(
        (SIZE / 2, SIZE - 9),
        line,
        fill=(255, 255, 255),
        font=_font(),
        anchor="mm",
        stroke_width=1,
        stroke_fill=(0, 0, 0),
    )
