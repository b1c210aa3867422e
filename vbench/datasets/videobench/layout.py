"""What the thirteen datasets of Video-Bench are called, and where their files lie."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path, PurePosixPath

from vbench.errors import ConfigError, DataError, did_you_mean

QUESTIONS = ("{key}_QA_new.json", "{key}_QA.json")
"""Names of a question file: as released, and as it was when it still held answers."""

_MOT = re.compile(r"MOT1[67]-(\d\d)")


@dataclass(frozen=True, slots=True)
class Entry:
    """One of the thirteen datasets."""

    key: str
    """As its file is called: `Driving-exam`."""
    label: str
    """As the paper calls it."""
    task: str
    level: str
    questions: int
    """In the released file."""


@cache
def catalogue() -> dict[str, Entry]:
    """Returns the thirteen datasets by key, in the paper's order."""
    text = files("vbench").joinpath("paper_tables/videobench/datasets.csv").read_text("utf-8")
    rows = csv.DictReader(text.splitlines())
    return {
        row["key"]: Entry(
            row["key"], row["label"], row["task"], row["level"], int(row["questions"])
        )
        for row in rows
    }


def check_names(names: object) -> tuple[str, ...]:
    """Returns the keys of datasets that are wanted, in the paper's order.

    Args:
        names: Keys; None: all.

    Raises:
        ConfigError: One does not exist.
    """
    known = catalogue()
    wanted = list(known) if names is None else [str(name) for name in list(names)]  # type: ignore[call-overload]
    for name in wanted:
        if name not in known:
            raise ConfigError(
                f"Video-Bench has no dataset '{name}'",
                where="dataset.names",
                mend=did_you_mean(name, known),
            )
    return tuple(key for key in known if key in wanted)


def question_file(root: Path, key: str) -> Path:
    """Finds a question file: in the folder itself, or in its Eval_QA/ as in the release.

    Raises:
        DataError: There is none.
    """
    names = [name.format(key=key) for name in QUESTIONS]
    places = [folder / name for folder in (root, root / "Eval_QA") for name in names]
    for place in places:
        if place.is_file():
            return place
    raise DataError(
        f"there is no question file of {key}",
        where=str(root),
        why=f"looked for {', '.join(names)} there and in Eval_QA/",
        mend="clone PKU-YuanGroup/Video-Bench and set dataset.root to it, or leave the dataset out "
        "with dataset.names=[…]",
    )


def video_path(root: Path, key: str, vid_path: str) -> Path:
    """Finds a video: `root/vid_path`, `root/<key>/<file>` or `root/<file>`, the first there is.

    Args:
        root: Where the videos were unpacked.
        key: The dataset.
        vid_path: As its file says: `Eval_video/<key>/<file>`.

    Returns:
        The place; the first of them where there is none, so that it is reported as missing.
    """
    places = list(_places(root, key, PurePosixPath(vid_path)))
    return next((place for place in places if place.is_file()), places[0])


def _places(root: Path, key: str, inside: PurePosixPath) -> Iterator[Path]:
    yield root / inside
    yield root / key / inside.name
    yield root / inside.name


def is_safe(vid_path: str) -> bool:
    """Whether a path stays inside the folder it is joined to.

    >>> is_safe("Eval_video/NBA/1.mp4"), is_safe("../1.mp4"), is_safe("/etc/passwd")
    (True, False, False)
    """
    path = PurePosixPath(vid_path)
    parts = (*path.parts, *vid_path.split("\\"))
    return not path.is_absolute() and ".." not in parts and "\0" not in vid_path and bool(path.name)


def source_of(vid_path: str, video_id: str) -> str:
    """Returns the source that questions share: the video with its folder, for MOT the sequence.

    MOT16-xx and MOT17-xx-FRCNN are the same pictures; MOT20-xx are others.

    >>> source_of("Eval_video/MOT/MOT17-09-FRCNN.mp4", "MOT17-09-FRCNN")
    'MOT/MOT16-09'
    """
    folder = PurePosixPath(vid_path).parent.name
    sequence = _MOT.match(video_id) if folder == "MOT" else None
    return f"{folder}/MOT16-{sequence[1]}" if sequence else f"{folder}/{video_id}"
