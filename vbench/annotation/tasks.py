"""Tasks for Label Studio, made of samples, and what is kept here to read the answers by.

A task's data say nothing of which caption is right beyond what the interface shows: that, and
which of two is A, is in plan.jsonl, which stays with whoever runs the study.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from vbench.annotation.interfaces import Interface
from vbench.errors import ConfigError
from vbench.records import Clip, Sample

Cell = tuple[str, float, float | None, str]
"""A clip with a text: video id, start and end in seconds, text."""


@dataclass(frozen=True)
class Task:
    """One thing that is asked."""

    key: str
    """Stable: a hash of what it is about."""
    interface: Interface
    test: str
    sample_id: str
    right: Cell
    """The pair that belongs together; for `positive` the pair in question."""
    wrong: Cell | None = None
    """human_*, captions: the pair that does not. ivat: the second pair that does."""
    swapped: bool = False
    """human_*: the right one is B."""


def tasks_of(sample: Sample, interface: Interface) -> list[Task]:
    """Returns what an interface asks about a sample; nothing where it does not apply.

    Args:
        sample: With one right and one wrong pair (v2t, t2v), or IVAT's two right pairs.
        interface: The interface.
    """
    cells = [[_cell(clip, text) for text in sample.texts] for clip in sample.clips]
    if sample.kind == "match":
        first, second = cells[0][0], cells[1][1]
        pairs = {
            "ivat": [(first, second)],
            "human_v2t": [(first, cells[0][1]), (second, cells[1][0])],
            "human_t2v": [(first, cells[1][0]), (second, cells[0][1])],
        }
        return [_task(interface, sample, *pair) for pair in pairs.get(interface, ())]
    if sample.kind not in ("v2t", "t2v") or not isinstance(sample.target, int):
        return []
    options = [cell for row in cells for cell in row]
    right = options[sample.target]
    if interface == "positive":
        return [_task(interface, sample, right)]
    if interface == f"human_{sample.kind}" or (interface == "captions" and sample.kind == "v2t"):
        (wrong,) = [cell for i, cell in enumerate(options) if i != sample.target]
        return [_task(interface, sample, right, wrong)]
    return []


def _task(interface: Interface, sample: Sample, right: Cell, wrong: Cell | None = None) -> Task:
    about = (
        [interface, right]
        if wrong is None
        else [interface, sample.test, sample.sample_id, right, wrong]
    )
    digest = hashlib.sha256(json.dumps(about).encode()).hexdigest()
    swapped = interface.startswith("human") and int(digest[-1], 16) % 2 == 1
    return Task(digest[:16], interface, sample.test, sample.sample_id, right, wrong, swapped)


def _cell(clip: Clip, text: str) -> Cell:
    return clip.video_id, clip.start_s, clip.end_s, text


@dataclass(frozen=True)
class Media:
    """Where Label Studio finds a clip's file."""

    root: str
    """The folder whose files it serves; paths are given relative to it."""
    prefix: str = "/data/local-files/?d="
    """Before the path: its own local storage, or the address of a web server."""

    def url(self, clip: Clip) -> str:
        """Returns a clip's address.

        Raises:
            ConfigError: The clip is a part of a file, or its file lies outside the root.
        """
        if clip.start_s or clip.end_s is not None:
            raise ConfigError(
                "a part of a video cannot be shown by itself",
                where=f"clip {clip.video_id}, {clip.start_s:g} s to {clip.end_s} s",
                why="Label Studio plays whole files",
                mend="use dataset=velociti/v1_segments, or leave ivat out: dataset.tests=[…]",
            )
        path, root = Path(clip.path).resolve(), Path(self.root).resolve()
        if not path.is_relative_to(root):
            raise ConfigError(
                "a video lies outside the folder that Label Studio serves",
                where=str(path),
                why=f"media_root={self.root}",
                mend="set media_root to a folder that holds all videos",
            )
        return f"{self.prefix}{path.relative_to(root).as_posix()}"


def shown(
    task: Task, clips: dict[tuple[str, float, float | None], Clip], media: Media
) -> dict[str, str]:
    """Returns the `data` of a task in Label Studio's JSON.

    Args:
        task: The task.
        clips: By video id, start and end.
        media: Where files are served.
    """
    right, wrong = task.right, task.wrong
    url = media.url(clips[right[:3]])
    if wrong is None:
        return {"key": task.key, "video": url, "caption": right[3]}
    if task.interface == "captions":
        return {"key": task.key, "video": url, "green": right[3], "red": wrong[3]}
    other = media.url(clips[wrong[:3]])
    if task.interface == "ivat":
        pairs = {"video_1": url, "caption_1": right[3], "video_2": other, "caption_2": wrong[3]}
        return {"key": task.key, **pairs}
    (a, url_a), (b, url_b) = ((right, url), (wrong, other))[:: -1 if task.swapped else 1]
    if task.interface == "human_v2t":
        return {"key": task.key, "video": url, "caption_a": f"A: {a[3]}", "caption_b": f"B: {b[3]}"}
    return {"key": task.key, "caption": right[3], "video_a": url_a, "video_b": url_b}


def in_random_order(tasks: Sequence[Task], seed: int) -> list[Task]:
    """Mixes one person's tasks, so that tests come in no order of their own."""
    return random.Random(f"{seed} order").sample(list(tasks), len(tasks))


def write_plan(file: Path, tasks: Sequence[Task]) -> None:
    """Writes what the answers will be read by, one task a line."""
    lines = {task.key: json.dumps(asdict(task), ensure_ascii=False) for task in tasks}
    file.write_text("\n".join(lines.values()) + "\n", encoding="utf-8")


def read_plan(file: Path) -> dict[str, Task]:
    """Returns the tasks of a study by key.

    Raises:
        ConfigError: There is no such file.
    """

    def cell(value: list[object] | None) -> Cell | None:
        return None if value is None else tuple(value)  # type: ignore[return-value]

    def tasks() -> Iterator[Task]:
        for line in file.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            yield Task(**{**row, "right": cell(row["right"]), "wrong": cell(row["wrong"])})

    if not file.is_file():
        raise ConfigError(
            "the folder holds no study",
            where=str(file),
            mend="name the folder that `vbench annotate dataset=… out=FOLDER` wrote",
        )
    return {task.key: task for task in tasks()}
