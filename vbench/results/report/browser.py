"""What the sample browser holds: an index that is read at once, and details in parts.

    index    columns over samples: test, texts, clips, and per run the outcomes and statuses
    details  a block per 200 samples: frames, scores, prompts and replies, read when one is opened

Texts that recur are held once and referred to by number.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from vbench.results.report.strips import Strips, pictured

PER_BLOCK = 200
"""Samples whose details are read together."""

OUTCOMES = {"right": "r", "wrong": "w", "tie": "t", "unscored": "u"}
"""A letter each, so that a run's outcomes are one string; `-`: the run has no such sample."""

Row = Mapping[str, Any]
"""A sample, with the fields of samples.parquet."""


class Pool:
    """Values held once, by number in the order of first use."""

    def __init__(self) -> None:
        self.values: list[Any] = []
        self._places: dict[Any, int] = {}

    def put(self, key: Any, value: Any = None) -> int:
        """Returns the number of a value.

        Args:
            key: What makes it the same value, hashable.
            value: What is held; None: the key itself.
        """
        if key not in self._places:
            self._places[key] = len(self.values)
            self.values.append(key if value is None else value)
        return self._places[key]


def index(rows: Sequence[Row], answers: Sequence[Sequence[Row | None]]) -> dict[str, Any]:
    """Returns the index.

    Args:
        rows: The samples.
        answers: For each run its record of each sample, None where it has none.
    """
    tests, kinds, strings, clips, statuses = Pool(), Pool(), Pool(), Pool(), Pool()
    columns: dict[str, list[Any]] = {
        "test": [tests.put(row["test"]) for row in rows],
        "kind": [kinds.put(row["kind"]) for row in rows],
        "id": [row["sample_id"] for row in rows],
        "cluster": [row["cluster"] for row in rows],
        "question": [_optional(row["question"], strings) for row in rows],
        "texts": [[strings.put(text) for text in row["texts"]] for row in rows],
        "letters": [list(row.get("letters") or ()) for row in rows],
        "target": [_target(row) for row in rows],
        "groups": [[list(pair) for pair in dict(row["groups"] or ()).items()] for row in rows],
        "clips": [[_clip(clip, clips) for clip in row["clips"]] for row in rows],
    }
    runs = [
        {
            "outcomes": "".join("-" if a is None else OUTCOMES[a["outcome"]] for a in of),
            "statuses": [-1 if a is None else statuses.put(a["status"]) for a in of],
            "truncated": [n for n, a in enumerate(of) if a is not None and a["truncated"]],
        }
        for of in answers
    ]
    return {
        "tests": tests.values,
        "kinds": kinds.values,
        "strings": strings.values,
        "clips": clips.values,
        "statuses": statuses.values,
        "samples": columns,
        "answers": runs,
        "per_block": PER_BLOCK,
    }


def blocks(
    rows: Sequence[Row],
    answers: Sequence[Sequence[Row | None]],
    runs: Sequence[tuple[str, bool]],
    details: Details,
) -> Iterator[tuple[str, object]]:
    """Yields all data of a page by name; pictures come last, when the details have found them.

    Args:
        rows: See `index`.
        answers: See `index`.
        runs: Name of each run, and whether its scores are probabilities of a yes; none for a
            dataset, whose only answers are frames.
        details: Tells the rest.
    """
    names, probable = [name for name, _ in runs], [yes for _, yes in runs]
    yield "index", {**index(rows, answers), "runs": names, "probable": probable}
    for number, block in enumerate(details.blocks(rows, answers)):
        yield f"details-{number}", block
    yield "pictures", {"table": details.strips.table, "thumbs": details.thumbs}


def _optional(text: str | None, strings: Pool) -> int:
    return -1 if text is None else strings.put(text)


def _target(row: Row) -> int | str | None:
    """Returns the number of the right text or clip, or the answer to an open question."""
    target = row["target"]
    return target if target is None or row["kind"] == "open" else int(target)


def _clip(clip: Mapping[str, Any], clips: Pool) -> int:
    return clips.put((clip["video_id"], clip["path"], clip["start_s"], clip["end_s"]))


Asked = Callable[[int, Row], Sequence[Mapping[str, Any]]]
"""What run number k asked of a sample: prompts with replies."""


class Details:
    """The details of samples, block by block.

    Args:
        strips: Where pictures are, and those found so far.
        folders: Each run's folder of strips.
        asked: Looks prompts and replies up.
    """

    def __init__(self, strips: Strips, folders: Sequence[Path], asked: Asked) -> None:
        self.strips = strips
        self.folders = folders
        self.asked = asked
        self.thumbs: list[int] = []
        """Of each sample told so far a picture, -1 where there is none."""

    def blocks(
        self, rows: Sequence[Row], answers: Sequence[Sequence[Row | None]]
    ) -> Iterator[dict[str, Any]]:
        """Yields a block per PER_BLOCK samples.

        Args:
            rows: See `index`.
            answers: See `index`.
        """
        for first in range(0, len(rows), PER_BLOCK):
            strings, frames = Pool(), Pool()
            told = []
            for n in range(first, min(first + PER_BLOCK, len(rows))):
                told.append(
                    [
                        None
                        if of[n] is None
                        else self._answer(k, rows[n], of[n], (strings, frames))
                        for k, of in enumerate(answers)
                    ]
                )
                seen = [place for one in told[-1] if one for place in one.get("frames", ())]
                pictures = (frames.values[place]["picture"] for place in seen if place >= 0)
                self.thumbs.append(next(pictures, -1))
            yield {"strings": strings.values, "frames": frames.values, "rows": told}

    def _answer(self, run: int, row: Row, record: Any, pools: tuple[Pool, Pool]) -> dict[str, Any]:
        strings, frames = pools
        found = {
            "scores": [short(score) for score in record["scores"]],
            "reason": record["reason"],
            "rule": record["rule"],
            "response": record["response"],
            "observed": [[k, short(v)] for k, v in record["observed"] or ()],
            "frames": self._frames(run, record, frames),
            "asked": [_asked(one, strings) for one in self.asked(run, row)],
        }
        return {key: value for key, value in found.items() if value not in ("", [], None)}

    def _frames(self, run: int, record: Row, frames: Pool) -> list[int]:
        seen = zip(*(record[name] for name in _CLIPS), strict=True)
        return [self._seen(run, clip, frames) for clip in seen]

    def _seen(self, run: int, clip: tuple[Any, ...], frames: Pool) -> int:
        """Returns the number of what was seen of a clip; runs that saw the same share it."""
        path, key, indices, times_s = clip
        if not key or not indices:
            return -1
        times = [round(at, 3) for at in times_s]
        value: dict[str, Any] = {"at": list(indices), "s": times, "picture": -1}
        if (shown := pictured(len(indices))) is not None:
            value["shown"] = shown
        place = frames.put((path, tuple(indices), tuple(times)), value)
        kept = frames.values[place]
        if kept["picture"] < 0:  # whichever run has the picture
            kept["picture"] = self.strips.find(self.folders[run] / f"{key}.jpg", len(indices))
        return place


_CLIPS = ("clip_paths", "clip_keys", "frame_indices", "timestamps_s")


def _asked(one: Mapping[str, Any], strings: Pool) -> dict[str, Any]:
    """Shortens a prompt with its reply: long texts by number, and no empty field."""
    found = {k: v for k, v in one.items() if v not in (None, "", [], ())}
    for key in ("prompt", "system", "text"):
        if key in found:
            found[key] = strings.put(found[key])
    return found


def short(value: float | None) -> float | None:
    """Returns a number with six significant digits; None for one that is none.

    >>> short(0.123456789), short(float("nan"))
    (0.123457, None)
    """
    if value is None or not math.isfinite(value):
        return None
    return float(f"{value:.6g}")
