"""The toy world: who does what to whom, in which manner and where, drawn from a seed.

A clip is ten seconds of five two-second events, as in VidSitu (Sadhu et al. 2021), with two or
three characters. The verbs of a clip are distinct, so an event is known by its verb alone; each
character has a colour and a shape that no other has. Nothing here draws, writes or imports more
than the standard library.

Benchmark clips and training clips come from two namespaces of `random.Random`, so no choice of
index makes a training script draw a clip that is measured.
"""

from __future__ import annotations

import base64
import hashlib
import random
from collections.abc import Mapping
from dataclasses import dataclass, replace

EVENTS_PER_CLIP = 5
EVENT_S = 2.0
CLIP_S = EVENTS_PER_CLIP * EVENT_S

BENCHMARK_NAMESPACE = "vbench-toy/benchmark"
TRAINING_NAMESPACE = "vbench-toy/training"

CHARACTERS = (
    "the red star",
    "the blue circle",
    "the green triangle",
    "the yellow square",
    "the purple heart",
    "the orange diamond",
    "the pink flower",
    "the brown hexagon",
    "the white cloud",
    "the black cross",
)

SCENES = ("beach", "meadow", "snow", "room", "city", "space")

MANNER_GROUPS: Mapping[str, tuple[str, ...]] = {
    "emotion": ("happily", "angrily", "sadly"),
    "speed": ("quickly", "slowly"),
    "style": ("smoothly", "jerkily"),
}
"""Manners of one group exclude one another; those of two groups do not."""

MANNERS = tuple(manner for group in MANNER_GROUPS.values() for manner in group)

SCENE_CHANGE_SHARE = 0.3
THREE_CHARACTERS_SHARE = 0.7
TRANSITIVE_SHARE = 0.5
MANNER_SHARE = 0.85


@dataclass(frozen=True, slots=True)
class Verb:
    """Which roles a verb takes beside its agent."""

    transitive: bool = False
    """It has a patient."""
    instrument: str | None = None
    """The thing it is always done with."""
    directions: tuple[str, ...] = ()
    """The directions it is done in; it always has one of them, where there are any."""


VERBS: Mapping[str, Verb] = {
    "jump": Verb(),
    "spin": Verb(),
    "grow": Verb(),
    "shrink": Verb(),
    "shake": Verb(),
    "glow": Verb(),
    "sleep": Verb(),
    "sing": Verb(),
    "walk": Verb(directions=("to the left", "to the right")),
    "float": Verb(directions=("upwards", "downwards")),
    "push": Verb(transitive=True),
    "pull": Verb(transitive=True),
    "chase": Verb(transitive=True),
    "circle": Verb(transitive=True),
    "hit": Verb(transitive=True),
    "throw": Verb(transitive=True, instrument="a ball"),
    "light": Verb(transitive=True, instrument="a lamp"),
    "hide": Verb(transitive=True),
}


@dataclass(frozen=True, slots=True)
class ToyEvent:
    """Two seconds in which one character does one thing."""

    agent: str
    verb: str
    patient: str | None
    instrument: str | None
    direction: str | None
    manner: str | None
    scene: str
    index: int
    """Place in the clip, 0 to 4; the event lasts from 2 * index to 2 * index + 2 seconds."""


@dataclass(frozen=True, slots=True)
class ToyClip:
    """All the facts of a clip; what it looks like follows from them and its name."""

    video_id: str
    """`v_<11 characters>_seg_<start>_<end>`, as VidSitu names clips; says nothing about it."""
    cast: tuple[str, ...]
    """The two or three characters, all in sight all the time, each an agent at least once."""
    events: tuple[ToyEvent, ...]


def benchmark_clip(seed: int, index: int) -> ToyClip:
    """Returns clip `index` of the benchmark built with `seed`; a pure function of the two.

    >>> clip = benchmark_clip(0, 7)
    >>> clip == benchmark_clip(0, 7), clip == benchmark_clip(1, 7)
    (True, False)
    >>> len(clip.events), len({event.verb for event in clip.events})
    (5, 5)
    """
    return _draw(f"{BENCHMARK_NAMESPACE}/{seed}/{index}")


def training_clip(index: int) -> ToyClip:
    """Returns training clip `index`: never a benchmark clip, whatever the index."""
    return _draw(f"{TRAINING_NAMESPACE}/{index}")


def with_verb(event: ToyEvent, verb: str, rng: random.Random) -> ToyEvent:
    """Returns the event with another verb of the same transitivity and the roles that verb takes.

    Args:
        event: The event to change.
        verb: A key of `VERBS`.
        rng: Draws the direction, where the verb takes one.

    Raises:
        ValueError: The verb needs a patient and the event has none, or the other way round.
    """
    if VERBS[verb].transitive != VERBS[event.verb].transitive:
        raise ValueError(f"'{verb}' and '{event.verb}' differ in whether they take a patient")
    instrument, direction = _roles(verb, rng)
    return replace(event, verb=verb, instrument=instrument, direction=direction)


def manner_group(manner: str) -> tuple[str, ...]:
    """Returns the manners that exclude one another and among them the given one.

    >>> manner_group("slowly")
    ('quickly', 'slowly')
    """
    return next(group for group in MANNER_GROUPS.values() if manner in group)


def _draw(name: str) -> ToyClip:
    rng = random.Random(name)
    cast = tuple(rng.sample(CHARACTERS, 3 if rng.random() < THREE_CHARACTERS_SHARE else 2))
    # Everyone acts at least once: AgBind needs a second agent in every clip.
    agents = [*cast, *rng.choices(cast, k=EVENTS_PER_CLIP - len(cast))]
    rng.shuffle(agents)
    scenes = _scenes(rng)
    transitives = [rng.random() < TRANSITIVE_SHARE for _ in agents]
    unused = {kind: [v for v in VERBS if VERBS[v].transitive is kind] for kind in (False, True)}
    for verbs in unused.values():
        rng.shuffle(verbs)
    events = []
    for index, (agent, transitive) in enumerate(zip(agents, transitives, strict=True)):
        verb = unused[transitive].pop()
        instrument, direction = _roles(verb, rng)
        events.append(
            ToyEvent(
                agent=agent,
                verb=verb,
                patient=rng.choice([c for c in cast if c != agent]) if transitive else None,
                instrument=instrument,
                direction=direction,
                manner=rng.choice(MANNERS) if rng.random() < MANNER_SHARE else None,
                scene=scenes[index],
                index=index,
            )
        )
    return ToyClip(_video_id(name, rng), cast, tuple(events))


def _roles(verb: str, rng: random.Random) -> tuple[str | None, str | None]:
    """Returns the instrument and a direction of a verb."""
    kind = VERBS[verb]
    return kind.instrument, rng.choice(kind.directions) if kind.directions else None


def _scenes(rng: random.Random) -> list[str]:
    first, second = rng.sample(SCENES, 2)
    change = EVENTS_PER_CLIP
    if rng.random() < SCENE_CHANGE_SHARE:
        change = rng.randrange(1, EVENTS_PER_CLIP)
    return [first if index < change else second for index in range(EVENTS_PER_CLIP)]


def _video_id(name: str, rng: random.Random) -> str:
    # Eight hashed bytes are eleven characters of the alphabet that YouTube ids are written in.
    digest = hashlib.sha256(name.encode()).digest()[:8]
    source = base64.urlsafe_b64encode(digest).decode().rstrip("=")
    start = 5 * rng.randrange(60)
    return f"v_{source}_seg_{start}_{start + round(CLIP_S)}"
