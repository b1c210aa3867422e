"""Writes the toy Video-Bench to disk, whole or not at all."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from vbench.datasets.questions.kit import Account, Made, check_questions, make_questions
from vbench.datasets.toy.video import write_pictures, write_videos
from vbench.datasets.toy.world import ToyClip, benchmark_clip
from vbench.datasets.videobench.layout import catalogue
from vbench.datasets.videobench.toy.films import (
    LARGEST_CROWD,
    SMALLEST_CROWD,
    Crowd,
    subtitles_of,
    with_subtitles,
)
from vbench.datasets.videobench.toy.tests import CROWD_TEMPLATE, TESTS, crowd_rows, subtitled
from vbench.datasets.whole import read_manifest, unusable, write_whole
from vbench.errors import DataError

MANIFEST = "toy_videobench.json"
SET = "the toy Video-Bench"
FORMAT = 1
"""Changes whenever the same settings would give other videos, questions or files."""

SUBTITLED_SHARE = 0.4
CROWDS = 24
QUESTIONS = 40
"""Per test, at most: about one a video."""


@dataclass(frozen=True, slots=True)
class ToyVideoBenchSet:
    """What a set is made of."""

    num_videos: int
    """Beside the crowds and the copies with subtitles."""
    seed: int

    def clips(self) -> list[ToyClip]:
        """Returns the facts of every video."""
        return [benchmark_clip(self.seed, index) for index in range(self.num_videos)]

    def crowds(self) -> list[Crowd]:
        """Returns the crowds: sizes take turns."""
        sizes = range(SMALLEST_CROWD, LARGEST_CROWD + 1)
        return [Crowd.draw(self.seed, n, sizes[n % len(sizes)]) for n in range(CROWDS)]

    @classmethod
    def at(cls, root: Path) -> ToyVideoBenchSet | None:
        """Returns what the set in a folder is made of, or None where there is no set.

        Raises:
            DataError: Another version built it, or its manifest is damaged.
        """
        file = root / MANIFEST
        made = read_manifest(file, FORMAT, SET)
        try:
            return None if made is None else cls(**made)
        except TypeError as error:
            raise unusable(file, SET, str(error)) from error


def build_set(root: Path, wanted: ToyVideoBenchSet) -> None:
    """Builds a set in a folder that does not exist yet or is empty.

    Raises:
        DataError: The folder holds something else, or cannot be written; there are too few videos
            to ask about.
    """
    sys.stderr.write(
        f"vbench: building a toy Video-Bench in {root}: num_videos={wanted.num_videos}, "
        f"seed={wanted.seed}\n"
    )

    def fill(folder: Path) -> None:
        clips, crowds = wanted.clips(), wanted.crowds()
        spoken = clips[: max(1, round(SUBTITLED_SHARE * len(clips)))]
        for key, (made, _) in questions(clips, spoken, crowds, wanted.seed).items():
            _write_json(folder / "Eval_QA" / f"{key}_QA_new.json", _released(key, made))
        videos = folder / "Eval_video" / "toy"
        for _ in write_videos(clips, videos):
            pass
        for crowd in crowds:
            write_pictures(crowd.pictures(), videos / f"{crowd.video_id}.mp4")
        (folder / "subtitles").mkdir()
        for clip in spoken:
            name = subtitled(clip).video_id
            write_pictures(with_subtitles(clip), videos / f"{name}.mp4")
            (folder / "subtitles" / f"{name}.srt").write_text(subtitles_of(clip), encoding="utf-8")
        _write_json(folder / MANIFEST, {"format": FORMAT, **asdict(wanted)})

    if not write_whole(root, fill, SET) and ToyVideoBenchSet.at(root) != wanted:
        raise DataError(
            f"'{root}' is not empty and no toy Video-Bench of these settings",
            where=f"dataset.root={root}",
            why="a set is built into a folder of its own",
            mend="give an empty or a new folder as dataset.root",
        )


def questions(
    clips: Sequence[ToyClip], spoken: Sequence[ToyClip], crowds: Sequence[Crowd], seed: int
) -> Mapping[str, tuple[list[Made], Account]]:
    """Makes all thirteen tests.

    Args:
        clips: All videos.
        spoken: Those that have a copy with subtitles.
        crowds: Videos of crowds.
        seed: Of all draws.

    Returns:
        By the names of Video-Bench's datasets, in the paper's order: questions, and what became of
        the facts.
    """
    found = {}
    for key in catalogue():
        if key == "MOT":
            template, rows = CROWD_TEMPLATE, list(crowd_rows(crowds))
        else:
            test = TESTS[key]
            template = replace(test.template, limit=test.template.limit or QUESTIONS)
            rows = list(test.rows(spoken if key == "TVQA" else clips))
        made, account = make_questions(rows, template, seed)
        check_questions(made)
        found[key] = (made, account)
    return found


def _released(key: str, made: Sequence[Made]) -> dict[str, Any]:
    """Returns questions as the release writes them, with answers as it once did."""
    return {
        str(number): {
            "vid_path": f"Eval_video/toy/{one.video}.mp4",
            "video_id": one.video,
            "question": one.text,
            "choices": dict(zip("ABCDEF", one.options, strict=False)),
            "answer": one.answer,
        }
        for number, one in enumerate(made)
    }


def _write_json(file: Path, document: object) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
