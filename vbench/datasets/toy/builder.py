"""Writes a toy set to disk, whole or not at all."""

from __future__ import annotations

import json
import sys
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from PIL import Image

from vbench.datasets.toy.pairs import Pair, Pairs, clip_pairs, control_pairs
from vbench.datasets.toy.provenance import write_provenance
from vbench.datasets.toy.render import FPS, render_frame
from vbench.datasets.toy.srl import write_vidsitu
from vbench.datasets.toy.statements import Statement, say
from vbench.datasets.toy.video import write_videos
from vbench.datasets.toy.world import CLIP_S, ToyClip, benchmark_clip
from vbench.datasets.velociti.layout import Layout
from vbench.datasets.velociti.writer import Annotations, write_annotations
from vbench.datasets.whole import read_manifest, unusable, write_whole
from vbench.errors import DataError

MANIFEST = "toy_set.json"
SET = "the toy set"
FORMAT = 1
"""Changes whenever the same settings would give other clips, captions or files."""

JPEG_QUALITY = 95
"""OpenCV's default, with which the release's frames were written."""


@dataclass(frozen=True, slots=True)
class ToySet:
    """What a set is made of."""

    num_videos: int
    seed: int
    render: bool
    """Whether there are video files, or annotations only."""

    def clips(self) -> list[ToyClip]:
        """Returns the facts of every video."""
        return [benchmark_clip(self.seed, index) for index in range(self.num_videos)]

    @classmethod
    def at(cls, root: Path) -> ToySet | None:
        """Returns what the set in a folder is made of, or None where there is no set.

        Raises:
            DataError: The set was built by another version, or its manifest is damaged.
        """
        file = root / MANIFEST
        made = read_manifest(file, FORMAT, SET)
        try:
            return None if made is None else cls(**made)
        except TypeError as error:
            raise unusable(file, SET, str(error)) from error

    def _write_manifest(self, root: Path) -> None:
        manifest = {"format": FORMAT, **asdict(self)}
        aside = root / f".{MANIFEST}.{uuid.uuid4().hex[:8]}"
        aside.write_text(json.dumps(manifest, indent=2) + "\n", encoding="utf-8")
        aside.replace(root / MANIFEST)


def build_set(root: Path, wanted: ToySet) -> None:
    """Builds a set in a folder that does not exist yet or is empty.

    Several processes may do so at once: each writes beside the folder, the first to finish gives
    its work the folder's name, the others find the same set there and drop theirs.

    Raises:
        DataError: The folder holds something else, or cannot be written.
    """
    sys.stderr.write(
        f"vbench: building a toy set in {root}: num_videos={wanted.num_videos}, seed={wanted.seed}"
        f"{'' if wanted.render else ', annotations only'}\n"
    )

    def fill(folder: Path) -> None:
        clips = wanted.clips()
        write_tests(folder, clips)
        write_vidsitu(folder / "vidsitu_data", clips)
        if wanted.render:
            _write_videos(clips, Layout.new(folder).videos)
        wanted._write_manifest(folder)

    if not write_whole(root, fill, SET) and ToySet.at(root) != wanted:
        raise DataError(
            f"'{root}' is not empty and no toy set of these settings",
            where=f"dataset.root={root}",
            why="a set is built into a folder of its own",
            mend="give an empty or a new folder as dataset.root",
        )


def add_videos(root: Path, built: ToySet) -> None:
    """Renders the videos of a set of annotations only.

    Raises:
        DataError: The folder cannot be written.
    """
    sys.stderr.write(f"vbench: rendering {built.num_videos} videos in {root}\n")
    videos = Layout.new(root).videos
    write_whole(videos, lambda folder: _write_videos(built.clips(), folder), SET)
    replace(built, render=True)._write_manifest(root)


def build_frames(root: Path) -> None:
    """Adds the 20 frames a video of the release's layout to a rendered set that lacks them."""
    built = ToySet.at(root)
    frames = Layout.new(root).frames
    if built is None or not built.render or frames.is_dir():
        return

    def fill(folder: Path) -> None:
        for clip in built.clips():
            write_frames(clip, folder / clip.video_id)

    write_whole(frames, fill, SET)


def write_tests(root: Path, clips: Sequence[ToyClip]) -> None:
    """Writes the annotation files of all ten tests, and the facts behind them.

    Tests that these clips are too few to form get no file.
    """
    pairs: dict[str, dict[str, Pairs]] = {"control": control_pairs(clips)}
    for clip in clips:
        for test, of_clip in clip_pairs(clip).items():
            pairs.setdefault(test, {})[clip.video_id] = of_clip
    entries = {
        test: {
            video: {event: _entry(pair) for event, pair in of_video.items()}
            for video, of_video in by_video.items()
            if of_video
        }
        for test, by_video in pairs.items()
    }
    positives = {
        clip.video_id: {f"Ev{e.index + 1}": say(e).text for e in clip.events} for clip in clips
    }
    write_annotations(root, Annotations(positives, entries))
    write_provenance(root, clips, _statements(clips, pairs))


def write_frames(clip: ToyClip, folder: Path) -> None:
    """Writes `frame_NNN.jpg`, two a second: NNN = round(m * fps) at m = 0.25, 0.75, …, from 1.

    The rule is the release's (katha-ai/VELOCITI, utils/extract_frames.py).
    """
    folder.mkdir(parents=True)
    for half_second in range(round(2 * CLIP_S)):
        number = round((half_second / 2 + 0.25) * FPS)
        picture = Image.fromarray(render_frame(clip, (number - 1) / FPS))
        picture.save(folder / f"frame_{number:03d}.jpg", quality=JPEG_QUALITY)


def _entry(pair: Pair) -> dict[str, str]:
    if pair.donor is None:
        return {"pos": pair.true.text, "neg": pair.false.text}
    return {"pos_cap": pair.true.text, "neg_cap": pair.false.text, "neg_vid": pair.donor}


def _statements(
    clips: Sequence[ToyClip], pairs: dict[str, dict[str, Pairs]]
) -> Iterator[Statement]:
    for clip in clips:
        yield from map(say, clip.events)
    for by_video in pairs.values():
        for of_video in by_video.values():
            for pair in of_video.values():
                yield from (pair.true, pair.false)


def _write_videos(clips: Sequence[ToyClip], folder: Path) -> None:
    from rich.console import Console
    from rich.progress import track

    console = Console(stderr=True)
    written = write_videos(clips, folder)
    for _ in track(written, "videos", len(clips), console=console, disable=not console.is_terminal):
        pass
