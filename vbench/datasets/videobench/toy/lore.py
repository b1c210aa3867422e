"""What is known in the toy world and shown in no clip, and what is wise to do there."""

from __future__ import annotations

from collections.abc import Mapping

from vbench.datasets.toy.world import CHARACTERS

SONGS = (
    "Waves", "Clover", "Pines", "Sundown", "Roses", "Embers", "Petals", "Cocoa", "Feathers",
    "Midnight",
)  # fmt: skip
TEAMS = ("the Comets", "the Divers", "the Foxes", "the Larks", "the Moles")

SONG_OF: Mapping[str, str] = dict(zip(CHARACTERS, SONGS, strict=True))
"""The song that each character likes best."""

TEAM_OF: Mapping[str, str] = {
    name: TEAMS[place % len(TEAMS)] for place, name in enumerate(CHARACTERS)
}
"""The team that each character plays for; two for each."""

REACTIONS: Mapping[str, str] = {
    "push": "Lean against it",
    "pull": "Let go of the rope",
    "chase": "Run away",
    "circle": "Keep still",
    "hit": "Step back",
    "throw": "Duck your head",
    "light": "Shut your eyes",
    "hide": "Turn around",
}
"""What somebody should do to whom a verb is done."""

WAIT, GO = "Wait", "Go on"
IN_THE_WAY = frozenset(
    {"walk", "jump", "push", "pull", "chase", "circle", "throw", "spin", "shake"}
)
"""Verbs that take up the road: who wants to pass has to wait."""

CRIMES: Mapping[str, str] = {"hit": "Hitting", "throw": "Throwing", "push": "Pushing"}

LINES = (
    "I like the sea.", "It is late.", "Who is there?", "Look at me!", "Not so fast.",
    "Good morning.", "Where is my hat?", "Over here!", "That was close.", "One more time.",
    "I am hungry.", "Come along.",
)  # fmt: skip
"""What subtitles say. Nobody speaks: the clips have no sound."""
