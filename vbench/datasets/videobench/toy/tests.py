"""What each of the thirteen tests asks: templates over the toy world's facts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from vbench.datasets.questions.kit import Row, Template
from vbench.datasets.toy.captions import ACTION_PHRASES
from vbench.datasets.toy.world import EVENT_S, ToyClip, ToyEvent
from vbench.datasets.videobench.toy.films import Crowd, lines_of
from vbench.datasets.videobench.toy.lore import (
    CRIMES,
    GO,
    IN_THE_WAY,
    REACTIONS,
    SONG_OF,
    TEAM_OF,
    WAIT,
)

NORMAL = "Normal"
WHEN = ("first", "second", "third", "fourth", "last")


@dataclass(frozen=True)
class Test:
    """One of the thirteen."""

    template: Template
    rows: Callable[[Sequence[ToyClip]], Iterator[Row]]


def subtitled(clip: ToyClip) -> ToyClip:
    """Returns a clip under the name of its copy that has subtitles in the picture."""
    return replace(clip, video_id=f"{clip.video_id}_with_subtitles")


def crowd_rows(crowds: Sequence[Crowd]) -> Iterator[Row]:
    """Yields one row per crowd."""
    for crowd in crowds:
        yield {"video": crowd.video_id, "count": str(crowd.count)}


def action(event: ToyEvent) -> str:
    """Returns what is done, without saying to whom: `pushing somebody`."""
    return ACTION_PHRASES[event.verb].format(
        patient="somebody", instrument=event.instrument, direction=event.direction
    )


def _event_rows(clips: Sequence[ToyClip]) -> Iterator[Row]:
    for clip in clips:
        for place, event in enumerate(clip.events):
            row = {
                "video": clip.video_id,
                "when": WHEN[place],
                "agent": event.agent,
                "action": action(event),
                "song": SONG_OF[event.agent],
                "team": TEAM_OF[event.agent],
                "decision": WAIT if event.verb in IN_THE_WAY else GO,
            }
            if event.patient:
                row |= {"patient": event.patient, "reaction": REACTIONS[event.verb]}
            if place + 1 < len(clip.events):
                row["next"] = action(clip.events[place + 1])
            bystanders = [who for who in clip.cast if who not in (event.agent, event.patient)]
            if len(bystanders) == 1:
                row["bystander"] = bystanders[0]
            yield row


def _count_rows(clips: Sequence[ToyClip]) -> Iterator[Row]:
    for clip in clips:
        for agent, count in Counter(event.agent for event in clip.events).items():
            yield {"video": clip.video_id, "agent": agent, "count": str(count)}


def _crime_rows(clips: Sequence[ToyClip]) -> Iterator[Row]:
    """Yields clips with one crime and clips with none; the times are those of the event."""
    for clip in clips:
        crimes = [event for event in clip.events if event.verb in CRIMES]
        if len(crimes) < 2:
            yield {"video": clip.video_id, "crime": _crime(crimes[0]) if crimes else NORMAL}


def _crime(event: ToyEvent) -> str:
    start = int(event.index * EVENT_S)
    return f"{CRIMES[event.verb]} 00:{start:02d} 00:{start + int(EVENT_S):02d}"


def _line_rows(clips: Sequence[ToyClip]) -> Iterator[Row]:
    for clip in clips:
        for event, line in zip(clip.events, lines_of(clip), strict=True):
            yield {
                "video": subtitled(clip).video_id,
                "agent": event.agent,
                "action": action(event),
                "line": line,
            }


_CRIME_QUESTION = (
    f"Known kinds of crime are: {', '.join(CRIMES.values())}. Each option is a crime with the time "
    "at which it starts and ends; a video without any crime is normal."
)

TESTS: Mapping[str, Test] = {
    "ActivityNet": Test(
        Template("What is being done in the {when} two seconds of the video?", "{action}"),
        _event_rows,
    ),
    "MSVD": Test(Template("What is {agent} doing?", "{action}"), _event_rows),
    "MSRVTT": Test(Template("Who is {action}?", "{agent}"), _event_rows),
    "TGIF": Test(
        Template("How many different things does {agent} do?", "{count}", num_options=3),
        _count_rows,
    ),
    "Youcook2": Test(
        Template("What is done next after {agent} was {action}?", "{next}"), _event_rows
    ),
    "Ucfcrime": Test(Template(_CRIME_QUESTION, "{crime}", always=NORMAL), _crime_rows),
    "TVQA": Test(
        Template("What do the subtitles say while {agent} is {action}?", "{line}", num_options=5),
        _line_rows,
    ),
    "MV": Test(
        Template("Which song does the one who is {action} like best?", "{song}"), _event_rows
    ),
    "NBA": Test(
        Template("Which team does the one who is {action} play for?", "{team}"), _event_rows
    ),
    "Driving-exam": Test(
        Template(
            "You are {patient}. What should you do about that which {agent} does to you?",
            "{reaction}",
            limit=36,
        ),
        _event_rows,
    ),
    "Driving-decision-making": Test(
        Template(
            "You want to pass by {agent} in the {when} two seconds. What do you do?",
            "{decision}",
            num_options=2,
        ),
        _event_rows,
    ),
    "SQA3D": Test(
        Template("You are {agent} and {action}. Who stands by?", "{bystander}", excluded="{agent}"),
        _event_rows,
    ),
}
"""By the names of Video-Bench's datasets; MOT's crowds are films of their own."""

CROWD_TEMPLATE = Template("How many characters are in sight?", "{count}", num_options=6)
