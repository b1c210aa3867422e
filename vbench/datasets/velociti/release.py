"""The released VELOCITI v1 data as a dataset."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from vbench.datasets.velociti.layout import RELEASED_COUNTS, Ivat, Source
from vbench.datasets.velociti.reader import read_samples
from vbench.records import Facts, Sample


@dataclass
class Velociti:
    """VELOCITI v1 (Saravanan et al. 2024, arXiv 2406.10889v1), as its authors' zip unpacks."""

    root: str
    """The unpacked `velociti_data.zip`, or its `data` folder."""
    tests: Sequence[str] | None = None
    """The tests to read; None: all ten."""
    source: Source = "video"
    """`frames`: the 20 pictures a video that the zip brings, instead of decoding the video."""
    ivat: Ivat = "frames"
    """`segments`: IVAT's clips are the zip's 4-second files, as the official code shows Video-LLMs;
    `frames`: the first and last four seconds of what `source` names, as it shows the others."""
    name: str = "velociti/v1"

    def samples(self) -> list[Sample]:
        """Returns the samples, test by test, each in file order.

        Raises:
            ConfigError: A test does not exist.
            DataError: A file is missing or malformed.
        """
        return read_samples(Path(self.root), self.tests, self.source, self.ivat)

    def counts(self) -> Mapping[str, int]:
        """Returns how many samples each test has in the release."""
        return RELEASED_COUNTS

    def facts(self) -> Facts | None:
        """Returns None: what really happens in films is not known exactly."""
        return None
