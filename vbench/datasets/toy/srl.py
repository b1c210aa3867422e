"""Toy clips in VidSitu's own JSON (TheShadow29/VidSitu, data/README.md): exact role labels.

The clips form a validation split: ten verbs and three role annotations a video. The annotators of a
drawn world never disagree.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from vbench.datasets.toy.captions import event_caption
from vbench.datasets.toy.world import CLIP_S, ToyClip, ToyEvent

VERB_ANNOTATORS = 10
ROLE_ANNOTATORS = 3

ARGUMENTS: Mapping[str, str] = {
    "agent": "Arg0 (agent)",
    "patient": "Arg1 (patient)",
    "instrument": "Arg2 (instrument)",
    "direction": "ArgM (direction)",
    "manner": "ArgM (manner)",
    "scene": "Scene of the Event",
}
"""VidSitu's key of each role, in the order in which its annotators saw them."""

MIDDLE_EVENT = 2
"""Relations between events are told of the others towards this one, Ev3."""


def write_vidsitu(folder: Path, clips: Sequence[ToyClip]) -> None:
    """Writes the split, video and annotation files of a validation set.

    Args:
        folder: `split_files`, `vinfo_files` and `vseg_ann_files` are made in it.
        clips: The videos, in order.
    """
    documents = {
        "split_files/vseg_split_valid_lb.json": [clip.video_id for clip in clips],
        "vinfo_files/vinfo_valid_lb.json": [video_info(clip) for clip in clips],
        "vseg_ann_files/vsann_valid_lb.json": [
            annotation for clip in clips for annotation in [role_labels(clip)] * ROLE_ANNOTATORS
        ],
    }
    for name, document in documents.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(document) + "\n", encoding="utf-8")


def video_info(clip: ToyClip) -> dict[str, object]:
    """Returns a clip's entry of the vinfo file."""
    name, _, times = clip.video_id.removeprefix("v_").rpartition("_seg_")
    start, end = map(int, times.split("_"))
    verbs = {f"Ev{event.index + 1}": event.verb for event in clip.events}
    return {
        "vid_uid": clip.video_id,
        "vid_seg_int": clip.video_id,
        "name": name,
        "start": start,
        "end": end,
        "duration": CLIP_S,
        "genres": ["toy"],
        "text": " ".join(event_caption(event) for event in clip.events),
        "movie_name": "toy world",
        "clip_name": name,
        "imdb_id": "",
        "upload_year": "",
        "year_rel": "",
        "vb_to_use": verbs,
        "vb_lst": {event: [verb] * VERB_ANNOTATORS for event, verb in verbs.items()},
        "vbid_lst": {event: [_sense(verb)] * VERB_ANNOTATORS for event, verb in verbs.items()},
    }


def role_labels(clip: ToyClip) -> dict[str, dict[str, object]]:
    """Returns one annotator's labels of a clip: `Ev1` to `Ev5`.

    >>> from vbench.datasets.toy.world import benchmark_clip
    >>> labels = role_labels(benchmark_clip(0, 0))
    >>> list(labels), "EvRel" in labels["Ev3"]
    (['Ev1', 'Ev2', 'Ev3', 'Ev4', 'Ev5'], False)
    """
    return {f"Ev{event.index + 1}": _event_labels(clip.video_id, event) for event in clip.events}


def _event_labels(video_id: str, event: ToyEvent) -> dict[str, object]:
    fillers = {key: getattr(event, role) for role, key in ARGUMENTS.items()}
    arguments = {key: filler for key, filler in fillers.items() if filler is not None}
    labels: dict[str, object] = {
        "vid_uid": video_id,
        "vid_seg_int": video_id,
        "Verb": event.verb,
        "VerbID": _sense(event.verb),
        "Arg_List": {key: place for place, key in enumerate(arguments)},
        "Args": arguments,
    }
    if event.index != MIDDLE_EVENT:
        labels["EvRel"] = "NoRel"
    return labels


def _sense(verb: str) -> str:
    return f"{verb}.01"
