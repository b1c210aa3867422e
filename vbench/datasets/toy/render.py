"""Draws the clips of the toy world.

What a picture shows follows from the clip alone. Rows, sides and places are drawn anew for each
event, like the shots of a film, so where somebody stands says nothing about what happens. The whole
cast is always in sight; who is not part of an event stands by in the other row.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from PIL import Image

from vbench.datasets.toy.marks import STEPS, mark
from vbench.datasets.toy.scenes import scene
from vbench.datasets.toy.sprites import character
from vbench.datasets.toy.world import CLIP_S, EVENT_S, MANNER_GROUPS, ToyClip, ToyEvent

SIZE = 128
FPS = 12
RADIUS = 16
ROWS = (38, 90)

# Cycles per second. At two frames a second, which is what VELOCITI's contrastive models see, a
# cycle faster than one a second would look like a slower one backwards.
SPEEDS: Mapping[str | None, float] = {"quickly": 0.8, "slowly": 0.2}
NORMAL_SPEED = 0.5
JERK_S = 1 / 3


def render_frames(clip: ToyClip) -> Iterator[np.ndarray]:
    """Yields every frame of a clip in order, `FPS` a second, each uint8 (h w 3), RGB."""
    for index in range(round(CLIP_S * FPS)):
        yield render_frame(clip, index / FPS)


def render_frame(clip: ToyClip, time_s: float) -> np.ndarray:
    """Draws one moment of a clip.

    Args:
        clip: The facts.
        time_s: Seconds from the start of the clip, 0 <= time_s < `world.CLIP_S`.

    Returns:
        uint8 (h w 3), RGB, `SIZE` pixels high and wide.

    >>> from vbench.datasets.toy.world import training_clip
    >>> render_frame(training_clip(0), 0.5).shape
    (128, 128, 3)
    """
    event = clip.events[int(time_s // EVENT_S)]
    stage = _Stage.of(clip, event, time_s - event.index * EVENT_S)
    CHOREOGRAPHY[event.verb](stage)
    return np.array(stage.picture)


@dataclass(slots=True)
class _Stage:
    """One moment of one event, being drawn."""

    picture: Image.Image
    event: ToyEvent
    x: float
    """Where the action is centred."""
    y: float
    side: int
    """The agent looks and acts to the right (1) or to the left (-1)."""
    phase: float
    """Cycles since some moment before the event; its fraction says where in the cycle we are."""

    @classmethod
    def of(cls, clip: ToyClip, event: ToyEvent, seconds: float) -> _Stage:
        """Sets the scene with everybody who takes no part."""
        rng = random.Random(f"vbench-toy/layout/{clip.video_id}/{event.index}")
        rows = rng.sample(ROWS, 2)
        if event.manner == "jerkily":
            seconds = seconds // JERK_S * JERK_S
        stage = cls(
            picture=scene(event.scene, SIZE).copy(),
            event=event,
            x=SIZE / 2 + rng.uniform(-6, 6),
            y=rows[0] + rng.uniform(-3, 3),
            side=rng.choice((-1, 1)),
            phase=rng.random() + seconds * SPEEDS.get(event.manner, NORMAL_SPEED),
        )
        bystanders = [name for name in clip.cast if name not in (event.agent, event.patient)]
        places = rng.sample((26, 64, 102), len(bystanders))
        for name, x in zip(bystanders, places, strict=True):
            stage.put(character(name, RADIUS, 0, None, False), x + rng.uniform(-8, 8), rows[1])
        return stage

    @property
    def saw(self) -> float:
        """Place in the cycle, 0 to 1, falling back at once."""
        return self.phase % 1

    @property
    def wave(self) -> float:
        """Place in the cycle as a sine, -1 to 1."""
        return math.sin(2 * math.pi * self.phase)

    def put(self, sprite: Image.Image, x: float, y: float) -> None:
        """Pastes a sprite centred on a place."""
        corner = round(x - sprite.width / 2), round(y - sprite.height / 2)
        self.picture.paste(sprite, corner, sprite)

    def mark(self, kind: str, x: float, y: float) -> None:
        """Pastes a mark centred on a place, at its moment in the cycle."""
        self.put(mark(kind, int(self.saw * STEPS), self.side), x, y)

    def agent(self, x: float, y: float, scale: float = 1.0, angle: float = 0.0) -> None:
        """Draws the agent and its mood."""
        manner = self.event.manner
        mood = manner if manner in MANNER_GROUPS["emotion"] else None
        turn = round(angle / 15) * 15 % 360
        asleep = self.event.verb == "sleep"
        self.put(character(self.event.agent, round(RADIUS * scale), turn, mood, asleep), x, y)
        if mood:
            self.mark(mood, x, y)

    def patient(self, x: float, y: float) -> None:
        """Draws the patient; a transitive verb always has one."""
        if self.event.patient is not None:
            self.put(character(self.event.patient, RADIUS, 0, None, False), x, y)


def _jump(stage: _Stage) -> None:
    y = stage.y - 12 * abs(math.sin(math.pi * stage.phase))
    stage.mark("jump", stage.x, y)
    stage.agent(stage.x, y)


def _spin(stage: _Stage) -> None:
    stage.agent(stage.x, stage.y, angle=stage.side * 360 * stage.saw)
    stage.mark("spin", stage.x, stage.y)


def _grow(stage: _Stage) -> None:
    stage.mark("grow", stage.x, stage.y)
    stage.agent(stage.x, stage.y, scale=0.6 + 0.8 * stage.saw)


def _shrink(stage: _Stage) -> None:
    stage.mark("shrink", stage.x, stage.y)
    stage.agent(stage.x, stage.y, scale=1.4 - 0.8 * stage.saw)


def _shake(stage: _Stage) -> None:
    x = stage.x + 6 * math.sin(6 * math.pi * stage.phase)
    stage.mark("shake", x, stage.y)
    stage.agent(x, stage.y)


def _glow(stage: _Stage) -> None:
    stage.mark("glow", stage.x, stage.y)
    stage.agent(stage.x, stage.y)


def _sleep(stage: _Stage) -> None:
    y = stage.y + 2 * stage.wave
    stage.agent(stage.x, y)
    stage.mark("sleep", stage.x, y)


def _sing(stage: _Stage) -> None:
    y = stage.y + 3 * stage.wave
    stage.agent(stage.x, y, angle=15 * stage.wave)
    stage.mark("sing", stage.x, y)


def _walk(stage: _Stage) -> None:
    way = 1 if stage.event.direction == "to the right" else -1
    x = SIZE / 2 + way * 76 * (stage.saw - 0.5)
    y = stage.y - 4
    stage.mark("walk", x, y)
    stage.agent(x, y)


def _float(stage: _Stage) -> None:
    way = 1 if stage.event.direction == "downwards" else -1
    y = stage.y + way * 28 * (stage.saw - 0.5)
    stage.mark("float", stage.x, y)
    stage.agent(stage.x, y)


def _push(stage: _Stage) -> None:
    x = stage.x + stage.side * 24 * (stage.saw - 0.5)
    stage.patient(x + stage.side * 21, stage.y)
    stage.agent(x - stage.side * 21, stage.y)
    stage.mark("push", x, stage.y)


def _pull(stage: _Stage) -> None:
    # The agent walks ahead, the rope trails behind it.
    x = stage.x + stage.side * 14 * (stage.saw - 0.5)
    stage.patient(x - stage.side * 34, stage.y)
    stage.mark("pull", x, stage.y)
    stage.agent(x + stage.side * 34, stage.y)


def _chase(stage: _Stage) -> None:
    x = stage.x + stage.side * 20 * (stage.saw - 0.5)
    stage.patient(x + stage.side * 30, stage.y + 3 * stage.wave)
    stage.mark("chase", x - stage.side * 14, stage.y)
    stage.agent(x - stage.side * 14, stage.y - 3 * stage.wave)


def _circle(stage: _Stage) -> None:
    turn = 2 * math.pi * stage.phase * stage.side
    x, y = stage.x + 34 * math.cos(turn), stage.y + 23 * math.sin(turn)
    stage.mark("circle", stage.x, stage.y)
    stage.patient(stage.x, stage.y)
    stage.agent(x, y)


def _hit(stage: _Stage) -> None:
    gap = 18 + 8 * abs(math.sin(math.pi * stage.phase))
    stage.patient(stage.x + stage.side * 22, stage.y)
    stage.agent(stage.x - stage.side * gap, stage.y)
    stage.mark("hit", stage.x + stage.side * 2, stage.y)


def _throw(stage: _Stage) -> None:
    stage.patient(stage.x + stage.side * 40, stage.y)
    stage.agent(stage.x - stage.side * 40, stage.y)
    x = stage.x + stage.side * 36 * (stage.saw - 0.5)
    stage.mark("throw", x, stage.y - 14 * math.sin(math.pi * stage.saw))


def _light(stage: _Stage) -> None:
    stage.mark("light", stage.x + stage.side * 10, stage.y)
    stage.patient(stage.x + stage.side * 32, stage.y)
    stage.agent(stage.x - stage.side * 32, stage.y + 2 * stage.wave)


def _hide(stage: _Stage) -> None:
    shift = 11 + 4 * stage.wave
    x, y = stage.x - stage.side * shift, stage.y - 8
    stage.agent(x, y)
    stage.mark("hide", x, y)
    stage.patient(stage.x, stage.y + 2)


CHOREOGRAPHY: Mapping[str, Callable[[_Stage], None]] = {
    "jump": _jump,
    "spin": _spin,
    "grow": _grow,
    "shrink": _shrink,
    "shake": _shake,
    "glow": _glow,
    "sleep": _sleep,
    "sing": _sing,
    "walk": _walk,
    "float": _float,
    "push": _push,
    "pull": _pull,
    "chase": _chase,
    "circle": _circle,
    "hit": _hit,
    "throw": _throw,
    "light": _light,
    "hide": _hide,
}
