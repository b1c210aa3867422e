"""The nouns of VidSitu's annotations: a video's events, their verbs and role fillers.

Roles are normalised as VidSitu's own code does (TheShadow29/VidSitu, utils/dat_utils.py): the first
word of `Arg0 (agent)`, `AScn` for the scene, and five kinds of `ArgM`, of which the first whose
name occurs in the key wins.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache

from vbench.records import Event

EVENTS = ("Ev1", "Ev2", "Ev3", "Ev4", "Ev5")
EVENT_S = 2.0

AGENT, PATIENT, MANNER, SCENE = "Arg0", "Arg1", "AMnr", "AScn"

NUMBERED = ("Arg0", "Arg1", "Arg2", "Arg3", "Arg4", "Arg5")
MODIFIERS: Mapping[str, str] = {
    "direction": "ADir",
    "purpose": "APrp",
    "manner": "AMnr",
    "location": "ALoc",
    "goal": "AGol",
}
"""What an `ArgM` key holds → its role, in the order in which VidSitu looks."""

ORACLE_ROLES: Mapping[str, str] = {
    AGENT: "agent",
    PATIENT: "patient",
    "Arg2": "instrument",
    "ADir": "direction",
    MANNER: "manner",
    SCENE: "scene",
    "APrp": "purpose",
    "ALoc": "location",
    "AGol": "goal",
}
"""Names of roles in `records.Event`; Arg3 to Arg5 keep their own."""


def role_of(key: str) -> str | None:
    """Returns the role of an argument's key, or None for one that VidSitu's code would refuse.

    >>> [role_of(k) for k in ("Arg0 (deflector)", "Scene of the Event", "ArgM (manner)", "Arg9")]
    ['Arg0', 'AScn', 'AMnr', None]
    """
    words = key.split()
    if words and words[0] in NUMBERED:
        return words[0]
    if key == "Scene of the Event":
        return SCENE
    if words and words[0] == "ArgM":
        return next((role for part, role in MODIFIERS.items() if part in key), None)
    return None


@dataclass(frozen=True, slots=True)
class Argument:
    """A role and what fills it."""

    role: str
    text: str
    """As annotated, to the letter: co-reference is the identity of these strings."""
    key: str = ""
    """VidSitu's own key, with its gloss: `Arg2 (instrument)`."""
    told: tuple[str, str] = field(init=False, repr=False, compare=False)
    """The pair in `records.Event`, made once: the same argument is told in many captions."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "told", (ORACLE_ROLES.get(self.role, self.role), self.text))


@dataclass(frozen=True, slots=True)
class LabelledEvent:
    """Two seconds, as one annotator labelled them."""

    index: int
    """Place in the video, 0 to 4."""
    verb: str
    arguments: tuple[Argument, ...]
    """In the annotator's order, at most one a role."""

    @property
    def name(self) -> str:
        """The event's key: `Ev1` to `Ev5`."""
        return EVENTS[self.index]

    @property
    def agent(self) -> str | None:
        """Who does it: Arg0, which intransitive verbs may lack."""
        return self.get(AGENT)

    def get(self, role: str) -> str | None:
        """Returns the filler of a role, or None."""
        for argument in self.arguments:
            if argument.role == role:
                return argument.text
        return None

    def filled(self, role: str, text: str) -> LabelledEvent:
        """Returns the event with another filler in a role that it has."""
        changed = (replace(a, text=text) if a.role == role else a for a in self.arguments)
        return replace(self, arguments=tuple(changed))

    def claim(self, leave_out: Collection[str] = ()) -> Event:
        """Returns the event in the words of oracles, without the roles left out."""
        told = [a.told for a in self.arguments if a.role not in leave_out]
        return Event(tuple(sorted([*told, _verb(self.verb)])))


@lru_cache
def _verb(verb: str) -> tuple[str, str]:
    return "verb", verb


@dataclass(frozen=True, slots=True)
class LabelledVideo:
    """A video with the labels of one annotator, and words of the others."""

    video_id: str
    events: tuple[LabelledEvent, ...]
    """In time order; fewer than five where the annotation is incomplete."""
    phrases: frozenset[str]
    """Everything that any annotator wrote into a numbered argument of any event."""
    verbs: frozenset[str]
    """Every verb that any annotator gave any event, in small letters."""
    manners: frozenset[str]
    """Every manner that any annotator gave any event."""

    def event(self, name: str) -> LabelledEvent | None:
        """Returns the event of a key `Ev1` to `Ev5`, or None."""
        return next((event for event in self.events if event.name == name), None)

    def facts(self) -> tuple[Event, ...]:
        """Returns what happens, in time order, as the annotator of `events` saw it."""
        return tuple(
            replace(event.claim(), start_s=EVENT_S * event.index, end_s=EVENT_S * (event.index + 1))
            for event in self.events
        )
