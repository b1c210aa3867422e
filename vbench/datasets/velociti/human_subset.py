"""The subset of VELOCITI that humans and Gemini answered, as its authors released it.

CSV files with the columns cap1, cap2, ev, gt, video_id (katha-ai/VELOCITI, branch velociti_v1,
gemini/gemini_data), one per test, named like the test's JSON file.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from vbench.datasets.table import Table
from vbench.datasets.velociti.layout import TEST_FILES, source_of
from vbench.errors import ConfigError, DataError, did_you_mean
from vbench.records import Facts, Sample

CSV_FILES: Mapping[str, str] = {
    test: Path(file).with_suffix(".csv").name
    for test, file in TEST_FILES.items()
    if test != "ivat" and not test.startswith("control")
}
"""The file of each of the seven tests that the subset has."""

RELEASED_COUNTS: Mapping[str, int] = {
    "agent_iden": 150,
    "agent_bind": 150,
    "agent_coref": 150,
    "action_adv": 150,
    "action_bind": 151,
    "action_modif": 150,
    "chrono": 142,
}
"""Rows of each file. One of action_bind's is there twice; the paper says 150 for each test."""


@dataclass
class HumanSubset:
    """About 150 caption pairs a test; gt says which of the two is right."""

    root: str
    """The folder of the CSV files."""
    videos: str | None = None
    """The folder of `<video_id>.mp4`; None: `videos` in root."""
    tests: Sequence[str] | None = None
    """The tests to read; None: all whose file is there."""
    name: str = "velociti/human_subset"

    def samples(self) -> list[Sample]:
        """Returns the samples, test by test, each in file order.

        Raises:
            ConfigError: A test does not exist.
            DataError: A file is missing or malformed.
        """
        root = Path(self.root)
        tests = self.tests
        if tests is None:
            tests = [test for test, file in CSV_FILES.items() if (root / file).is_file()]
        if not tests:
            raise DataError(
                f"no file of the human subset in '{root}'",
                where=f"dataset.root={root}",
                why=f"none of {', '.join(CSV_FILES.values())} is there",
                mend="point dataset.root at the folder gemini/gemini_data of katha-ai/VELOCITI",
            )
        return [sample for test in tests for sample in self._test(test)]

    def counts(self) -> Mapping[str, int]:
        """Returns how many rows each file has in the release."""
        return RELEASED_COUNTS

    def facts(self) -> Facts | None:
        """Returns None: what really happens in films is not known exactly."""
        return None

    def _test(self, test: str) -> list[Sample]:
        if test not in CSV_FILES:
            raise ConfigError(
                f"the human subset has no test '{test}'",
                where="dataset.tests",
                mend=did_you_mean(test, CSV_FILES),
            )
        table = Table(
            file=str(Path(self.root, CSV_FILES[test])),
            name=test,
            kind="pairs",
            root=self.videos or str(Path(self.root, "videos")),
            extension=".mp4",
            video="video_id",
            texts=("cap1", "cap2"),
            answer="gt",
            group_by=("ev",),
        )
        return numbered([_named(sample) for sample in table.samples()])


def _named(sample: Sample) -> Sample:
    """Names a sample as in the full data."""
    video = sample.clips[0].video_id
    name = f"{video}/{sample.groups['ev']}"
    return replace(sample, sample_id=name, cluster=source_of(video), groups={})


def numbered(samples: Sequence[Sample]) -> list[Sample]:
    """Gives rows of a test that have the name of an earlier one a number: `<name>#2`.

    A row of the release is there twice (action_bind); dropping it would change the denominator.
    """
    seen: Counter[tuple[str, str]] = Counter()
    named = []
    for sample in samples:
        key = (sample.test, sample.sample_id)
        seen[key] += 1
        name = sample.sample_id if seen[key] == 1 else f"{sample.sample_id}#{seen[key]}"
        named.append(replace(sample, sample_id=name))
    return named
