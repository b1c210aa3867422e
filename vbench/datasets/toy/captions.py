"""Captions of the toy world, one template each, in the form of VELOCITI's released captions.

The scene comes first, the verb is in the present continuous, every caption opens with a capital
and ends with a full stop; the templates of AgCoref and Chrono are VELOCITI's own (arXiv
2406.10889, section 3, and the released rows). Different facts always give different captions.
"""

from __future__ import annotations

from collections.abc import Mapping

from vbench.datasets.toy.world import ToyEvent

SCENE_PHRASES: Mapping[str, str] = {
    "beach": "On the beach",
    "meadow": "In the meadow",
    "snow": "In the snow",
    "room": "In the room",
    "city": "In the city at night",
    "space": "In space",
}

ACTION_PHRASES: Mapping[str, str] = {
    "jump": "jumping",
    "spin": "spinning",
    "grow": "growing",
    "shrink": "shrinking",
    "shake": "shaking",
    "glow": "glowing",
    "sleep": "sleeping",
    "sing": "singing",
    "walk": "walking {direction}",
    "float": "floating {direction}",
    "push": "pushing {patient}",
    "pull": "pulling {patient}",
    "chase": "chasing {patient}",
    "circle": "circling {patient}",
    "hit": "hitting {patient}",
    "throw": "throwing {instrument} at {patient}",
    "light": "lighting up {patient} with {instrument}",
    "hide": "hiding behind {patient}",
}


def predicate(event: ToyEvent) -> str:
    """Returns what the agent does without agent and scene: `is sadly hitting the blue circle`."""
    action = ACTION_PHRASES[event.verb].format(
        patient=event.patient, instrument=event.instrument, direction=event.direction
    )
    return " ".join(filter(None, ("is", event.manner, action)))


def event_caption(event: ToyEvent) -> str:
    """Returns the caption of one event.

    Captions of changed events are made by changing the event:

    >>> from dataclasses import replace
    >>> event = ToyEvent(
    ...     "the red star", "push", "the blue circle", None, None, "happily", "meadow", 0
    ... )
    >>> event_caption(event)
    'In the meadow, the red star is happily pushing the blue circle.'
    >>> event_caption(replace(event, agent="the black cross", manner=None))
    'In the meadow, the black cross is pushing the blue circle.'
    """
    return f"{SCENE_PHRASES[event.scene]}, {event.agent} {predicate(event)}."


def coref_caption(a: ToyEvent, b: ToyEvent) -> str:
    """Returns the AgCoref caption: one person does both, whoever it is.

    >>> a = ToyEvent("the red star", "jump", None, None, None, "sadly", "meadow", 0)
    >>> b = ToyEvent("the red star", "walk", None, None, "to the left", None, "meadow", 3)
    >>> coref_caption(a, b)
    'The person who is sadly jumping is also the one who is walking to the left.'
    """
    return f"The person who {predicate(a)} is also the one who {predicate(b)}."


def chrono_caption(a: ToyEvent, b: ToyEvent) -> str:
    """Returns the Chrono caption: `a`, then `b`, each with its own capital and full stop.

    >>> a = ToyEvent("the red star", "jump", None, None, None, None, "space", 0)
    >>> b = ToyEvent("the blue circle", "sleep", None, None, None, None, "space", 3)
    >>> chrono_caption(a, b)
    'First, In space, the red star is jumping. Then, In space, the blue circle is sleeping.'
    """
    return f"First, {event_caption(a)} Then, {event_caption(b)}"
