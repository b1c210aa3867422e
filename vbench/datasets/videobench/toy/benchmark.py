"""`dataset=videobench/toy`: Video-Bench's thirteen kinds of question, built on first use."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from vbench.datasets.videobench.release import VideoBenchRelease
from vbench.datasets.videobench.toy.builder import ToyVideoBenchSet, build_set
from vbench.errors import ConfigError, DataError
from vbench.records import Facts, Sample

NUM_VIDEOS = 60
SEED = 0


@dataclass
class ToyVideoBench:
    """Thirteen tests on drawn clips, in the format of the release."""

    root: str
    """The set's folder; built if it does not exist."""
    num_videos: int | None = None
    """None: as many as the set has; 60 where it is yet to be built."""
    seed: int | None = None
    """None: the set's own; 0 where it is yet to be built."""
    names: Sequence[str] | None = None
    """Tests to read, by the names of Video-Bench's datasets; None: all."""
    subtitles: bool = False
    """Whether TVQA's subtitles are told in the prompt too; they are in the picture anyway."""
    name: str = "videobench/toy"

    def build(self) -> Path:
        """Builds the set unless it exists.

        Returns:
            Its folder.

        Raises:
            ConfigError: num_videos is less than 20.
            DataError: The folder holds something else, or a set with other settings than asked.
        """
        root = Path(self.root).expanduser()
        if self.num_videos is not None and self.num_videos < 20:
            raise ConfigError(
                "thirteen tests need 20 videos at least",
                where=f"dataset.num_videos={self.num_videos}",
                mend="leave it out for 60; limit=N asks fewer questions of them",
            )
        found = ToyVideoBenchSet.at(root)
        if found is None:
            build_set(root, ToyVideoBenchSet(self.num_videos or NUM_VIDEOS, self.seed or SEED))
        elif (
            self.num_videos or found.num_videos,
            found.seed if self.seed is None else self.seed,
        ) != (
            found.num_videos,
            found.seed,
        ):
            raise DataError(
                "the toy Video-Bench was built with other settings",
                where=f"dataset.root={self.root}",
                why=f"num_videos is {found.num_videos}, seed is {found.seed}",
                mend="leave these keys out to use it as it is, choose another dataset.root, or "
                "delete the folder to build it anew",
            )
        return root

    def is_built(self) -> bool:
        """Says whether it is there; else `samples` would build it.

        Raises:
            DataError: The set in the folder cannot be used.
        """
        return ToyVideoBenchSet.at(Path(self.root).expanduser()) is not None

    def samples(self) -> list[Sample]:
        """Returns one sample per question; builds the set if need be.

        Raises:
            ConfigError: A name is none of the thirteen.
            DataError: See `build`.
        """
        root = self.build()
        told = str(root / "subtitles") if self.subtitles else None
        return VideoBenchRelease(str(root), self.names, subtitles=told).samples()

    def facts(self) -> Facts | None:
        """Returns None: oracles answer captions, not questions."""
        return None
