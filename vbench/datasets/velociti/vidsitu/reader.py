"""Reads VidSitu's split, video and annotation files (TheShadow29/VidSitu, data/DATA_PREP.md).

What is wrong with a file as a whole is an error. What is wrong with one video, event or argument is
counted, and that part is left out: 29,220 videos hold every kind of slip.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from vbench.datasets.velociti.json_files import read_json
from vbench.datasets.velociti.layout import is_safe
from vbench.datasets.velociti.vidsitu.labels import (
    EVENTS,
    MANNER,
    NUMBERED,
    Argument,
    LabelledEvent,
    LabelledVideo,
    role_of,
)
from vbench.datasets.velociti.vidsitu.phrases import plain
from vbench.datasets.velociti.vidsitu.tally import Tally
from vbench.datasets.velociti.vidsitu.uncollected import uncollected
from vbench.errors import ConfigError, DataError, did_you_mean

ANNOTATED = ("valid", "train")
UNANNOTATED = ("testvb", "testsrl", "testevrel")
"""Splits whose labels VidSitu keeps to itself."""


@dataclass(slots=True)
class Labels:
    """What was read, and what was not."""

    videos: list[LabelledVideo]
    """In the order of the split file."""
    tally: Tally = field(default_factory=Tally)


def read_labels(root: Path, split: str, annotation: int = 0) -> Labels:
    """Reads the labelled videos of a split.

    Args:
        root: The unpacked `vidsitu_data.zip`, or the folder that holds it.
        split: `valid` or `train`.
        annotation: Which annotator's labels to use, from 0: validation videos have three role
            annotations, training videos one. Which one VELOCITI used is not published.

    Raises:
        ConfigError: There is no such split, or it has no labels; annotation is negative.
        DataError: A file is missing or malformed as a whole, or no video has such an annotation.
    """
    _check(split, annotation)
    home = _home(root)
    names = _names(_file(home, "split_files", f"vseg_split_{split}_lb.json"))
    tally = Tally()
    with uncollected():
        verbs = _verb_lists(home / "vinfo_files" / f"vinfo_{split}_lb.json", tally)
        grouped = _grouped(_file(home, "vseg_ann_files", f"vsann_{split}_lb.json"), tally)
        videos = []
        for name in names:
            raw = grouped.pop(name, [])
            video = _video(name, raw, annotation, verbs.get(name, ()), tally)
            if video is not None:
                videos.append(video)
    for name in grouped:
        tally.add("an annotated video is not in the split", name)
    if not videos:
        raise DataError(
            f"no video of the split '{split}' has an annotation {annotation}",
            where=str(home),
            why="; ".join(line.strip() for line in tally.lines()),
            mend="choose dataset.annotation=0, or check that the files belong together",
        )
    return Labels(videos, tally)


def label_files(root: Path, split: str) -> list[Path]:
    """Returns the files that `read_labels` reads, those that exist.

    Raises:
        DataError: There are no annotations.
    """
    home = _home(root)
    files = (
        home / "split_files" / f"vseg_split_{split}_lb.json",
        home / "vinfo_files" / f"vinfo_{split}_lb.json",
        home / "vseg_ann_files" / f"vsann_{split}_lb.json",
    )
    return [file for file in files if file.is_file()]


def _check(split: str, annotation: int) -> None:
    if split in UNANNOTATED:
        raise ConfigError(
            f"the split '{split}' has no role labels",
            where=f"dataset.split={split}",
            why="VidSitu keeps the labels of its test splits to itself",
            mend="VELOCITI is built from the validation split: dataset.split=valid",
        )
    if split not in ANNOTATED:
        raise ConfigError(
            f"VidSitu has no split '{split}'",
            where=f"dataset.split={split}",
            mend=did_you_mean(split, ANNOTATED),
        )
    if annotation < 0:
        raise ConfigError(
            "annotations are counted from 0", where=f"dataset.annotation={annotation}"
        )


def _home(root: Path) -> Path:
    for home in (root, root / "vidsitu_data"):
        if (home / "vseg_ann_files").is_dir():
            return home
    raise DataError(
        f"no VidSitu annotations in '{root}'",
        where=f"dataset.vidsitu_root={root}",
        why="it holds no folder vseg_ann_files" if root.is_dir() else "there is no such folder",
        mend="point dataset.vidsitu_root at the unpacked vidsitu_data.zip (docs/vidsitu.md)",
    )


def _file(home: Path, folder: str, name: str) -> Path:
    file = home / folder / name
    if not file.is_file():
        there = [path.name for path in sorted((home / folder).glob("*.json"))]
        raise DataError(
            f"'{name}' is missing",
            where=str(file),
            why=f"the folder holds {', '.join(there) or 'no JSON file'}",
            mend="unpack vidsitu_data.zip again, or choose a split that is there",
        )
    return file


def _list(file: Path) -> list[object]:
    node = read_json(file)
    if not isinstance(node.value, list):
        raise node.error("a list […] is expected")
    return node.value


def _names(file: Path) -> list[str]:
    names = [name for name in _list(file) if isinstance(name, str)]
    if not names:
        raise DataError("the split names no video", where=str(file))
    return list(dict.fromkeys(names))


def _verb_lists(file: Path, tally: Tally) -> dict[str, tuple[str, ...]]:
    """Returns the verbs that ten annotators gave each validation video."""
    if not file.is_file():
        tally.add("no vinfo file: the verb annotators' verbs are not known", file.name)
        return {}
    lists = {}
    for entry in _list(file):
        if not isinstance(entry, dict) or not isinstance(entry.get("vb_lst"), dict):
            continue
        verbs = (v for of in entry["vb_lst"].values() if isinstance(of, list) for v in of)
        lists[str(entry.get("vid_seg_int"))] = tuple(v for v in verbs if isinstance(v, str))
    return lists


Raw = Mapping[str, object]


def _grouped(file: Path, tally: Tally) -> dict[str, list[Raw]]:
    """Returns the annotations of each video, in file order."""
    grouped: dict[str, list[Raw]] = {}
    for number, entry in enumerate(_list(file)):
        events = entry if isinstance(entry, dict) else {}
        found = (of.get("vid_seg_int") for of in events.values() if isinstance(of, dict))
        name = next((name for name in found if isinstance(name, str)), None)
        if name is None:
            tally.add("an annotation names no video", f"{file.name}[{number}]")
        else:
            grouped.setdefault(name, []).append(events)
    return grouped


def _video(
    name: str, raw: Sequence[Raw], annotation: int, verbs: Sequence[str], tally: Tally
) -> LabelledVideo | None:
    if not is_safe(name):
        tally.add("a video's name cannot be a file name", repr(name))
        return None
    if len(raw) <= annotation:
        what = f"a video has no annotation {annotation}" if raw else "a video has no annotation"
        tally.add(what, name)
        return None
    by_annotator = [
        tuple(_events(name, of, tally if number == annotation else Tally()))
        for number, of in enumerate(raw)
    ]
    events = by_annotator[annotation]
    if not events:
        tally.add("a video has no labelled event", name)
        return None
    if len(events) < len(EVENTS):
        tally.add("a video has fewer than five labelled events", name)
    everything = [event for of in by_annotator for event in of]
    arguments = [argument for event in everything for argument in event.arguments]
    return LabelledVideo(
        name,
        events,
        frozenset(a.text for a in arguments if a.role in NUMBERED),
        frozenset(plain(v).lower() for v in (*verbs, *(event.verb for event in everything))),
        frozenset(a.text for a in arguments if a.role == MANNER),
    )


def _events(video: str, raw: Raw, tally: Tally) -> Iterator[LabelledEvent]:
    for index, name in enumerate(EVENTS):
        of = raw.get(name)
        where = f"{video}/{name}"
        if not isinstance(of, dict):
            continue  # counted once a video
        verb = of.get("Verb")
        if not isinstance(verb, str) or not verb.strip():
            tally.add("an event has no verb", where)
            continue
        event = LabelledEvent(index, plain(verb), tuple(_arguments(of, where, tally)))
        if event.agent is None:
            tally.add("an event has no agent (Arg0)", where)
        yield event


def _arguments(of: Raw, where: str, tally: Tally) -> list[Argument]:
    """Returns an event's arguments by position, the first of each role."""
    raw, places = of.get("Args"), of.get("Arg_List")
    if not isinstance(raw, dict):
        tally.add("an event has no arguments", where)
        return []
    order = places if isinstance(places, dict) else {}
    found: dict[str, Argument] = {}
    for key in sorted(raw, key=lambda key: _place(order.get(key))):
        role, text = role_of(key), raw[key]
        if role is None:
            tally.add("an argument's key is unknown", f"{where}: {key}")
        elif not isinstance(text, str) or not any(map(str.isalnum, text)):
            tally.add("an argument is empty", f"{where}: {key}")
        elif role in found:
            tally.add("a role is filled twice; the first is kept", f"{where}: {key}")
        else:
            if not plain(text).isascii():
                tally.add("an argument has letters that ASCII cannot say", f"{where}: {key}")
            found[role] = Argument(role, text, key)
    return list(found.values())


def _place(value: object) -> int:
    """Positions are numbers, or texts of numbers; what has none comes last."""
    try:
        return int(value)  # type: ignore[call-overload, no-any-return]
    except (TypeError, ValueError):
        return len(NUMBERED) + 100
