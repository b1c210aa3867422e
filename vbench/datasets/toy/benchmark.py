"""VELOCITI on the toy world: built on first use, read like the released data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from vbench.datasets.toy.builder import ToySet, add_videos, build_frames, build_set
from vbench.datasets.toy.provenance import ToyFacts
from vbench.datasets.velociti.layout import TEST_FILES, Layout, Source
from vbench.datasets.velociti.reader import check_tests, read_samples
from vbench.errors import ConfigError, DataError
from vbench.records import Facts, Sample

NUM_VIDEOS = 300
SEED = 0


@dataclass
class ToyVelociti:
    """All ten tests on drawn clips whose facts are known exactly."""

    root: str
    """The set's folder, in the layout of VELOCITI v1; built if it does not exist."""
    num_videos: int | None = None
    """None: as many as the set has; 300 where it is yet to be built."""
    seed: int | None = None
    """None: the set's own; 0 where it is yet to be built."""
    render: bool | None = None
    """False: no video files, which is enough for oracles. None: as the set is; else True."""
    tests: Sequence[str] | None = None
    """The tests to read; None: all that the set has."""
    source: Source = "video"
    name: str = "velociti/toy"

    def build(self) -> Path:
        """Builds the set unless it exists, and the pictures of its videos if they are the source.

        Returns:
            Its folder.

        Raises:
            ConfigError: num_videos is less than 1.
            DataError: The folder holds something else, or a set with other settings than asked.
        """
        root = Path(self.root)
        if self.num_videos is not None and self.num_videos < 1:
            raise ConfigError(
                "dataset.num_videos counts from 1", where=f"dataset.num_videos={self.num_videos}"
            )
        found = ToySet.at(root)
        if found is None:
            build_set(root, self._wanted())
        else:
            self._check(found)
            if self.render and not found.render:
                add_videos(root, found)
        if self.source == "frames":
            build_frames(root)
        return root

    def is_built(self) -> bool:
        """Says whether everything is there; else `samples` would build it.

        Raises:
            DataError: The set in the folder cannot be used.
        """
        found = ToySet.at(Path(self.root))
        if found is None:
            return False
        frames = Layout.new(Path(self.root)).frames
        return self.source == "video" or not found.render or frames.is_dir()

    def samples(self) -> list[Sample]:
        """Returns the samples, test by test, each in file order; builds the set if need be.

        Raises:
            ConfigError: A test does not exist.
            DataError: See `build`.
        """
        check_tests(self.tests)
        root = self.build()
        tests = self.tests
        if tests is None:
            folder = Layout.find(root).annotations
            tests = [test for test, file in TEST_FILES.items() if (folder / file).is_file()]
        return read_samples(root, tests, self.source)

    def facts(self) -> Facts:
        """Returns what is true of the clips and what the captions claim."""
        return ToyFacts(self.build())

    @property
    def is_unrendered(self) -> bool:
        """Whether the set in the folder has annotations only."""
        found = ToySet.at(Path(self.root))
        return found is not None and not found.render

    def _wanted(self) -> ToySet:
        return ToySet(
            num_videos=NUM_VIDEOS if self.num_videos is None else self.num_videos,
            seed=SEED if self.seed is None else self.seed,
            render=self.render is not False,
        )

    def _check(self, found: ToySet) -> None:
        wrong = [
            f"{key} is {have}, asked for {asked}"
            for key, asked, have in (
                ("num_videos", self.num_videos, found.num_videos),
                ("seed", self.seed, found.seed),
            )
            if asked not in (None, have)
        ]
        if wrong:
            raise DataError(
                "the toy set was built with other settings",
                where=f"dataset.root={self.root}",
                why="; ".join(wrong),
                mend="leave these keys out to use it as it is, choose another dataset.root, or "
                "delete the folder to build it anew",
            )
