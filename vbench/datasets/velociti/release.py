"""The released VELOCITI v1 data as a dataset."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from vbench.datasets.velociti.layout import RELEASED_COUNTS, Ivat, Source
from vbench.datasets.velociti.reader import read_samples
from vbench.errors import DataError
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
    kept: str | None = None
    """The kept.jsonl of a quality control (`vbench annotate`): of the tests that it judged, only
    what it keeps is read; None: everything."""
    name: str = "velociti/v1"

    def samples(self) -> list[Sample]:
        """Returns the samples, test by test, each in file order.

        Raises:
            ConfigError: A test does not exist.
            DataError: A file is missing or malformed.
        """
        samples = read_samples(Path(self.root), self.tests, self.source, self.ivat)
        if self.kept is None:
            return samples
        judged = read_kept(Path(self.kept))
        tests = {test for test, _ in judged}
        names = ((sample, (sample.test, sample.sample_id)) for sample in samples)
        return [s for s, name in names if s.test not in tests or judged.get(name, False)]

    def counts(self) -> Mapping[str, int]:
        """Returns how many samples each test has in the release."""
        return RELEASED_COUNTS

    def facts(self) -> Facts | None:
        """Returns None: what really happens in films is not known exactly."""
        return None


def read_kept(file: Path) -> dict[tuple[str, str], bool]:
    """Returns test and sample → whether quality control keeps it.

    Raises:
        DataError: It is no kept.jsonl.
    """
    try:
        rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
        return {(row["test"], row["sample_id"]): bool(row["kept"]) for row in rows}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DataError(
            "the results of quality control cannot be read",
            where=f"dataset.kept={file}",
            why=f"{type(error).__name__}: {error}",
            mend="name the kept.jsonl that `vbench annotate FOLDER EXPORT` wrote",
        ) from error
