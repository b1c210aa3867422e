"""VELOCITI v2 (CVPR 2025): one table, a row per caption pair.

Columns test_name, video_id, event, pos, neg (katha-ai/VELOCITI, branch main, README and data.py),
released on the Hugging Face hub behind a login: katha-ai-iiith/VELOCITI, split test. Eight tests,
each about a whole 10-second video; IVAT and the text-to-video control are gone.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from vbench.datasets.cells import CellError, text_cell
from vbench.datasets.row_files import read_any
from vbench.datasets.rows import Hub, Row, Rows, raise_problems, read_hub
from vbench.datasets.velociti.human_subset import numbered
from vbench.datasets.velociti.layout import is_safe, source_of
from vbench.errors import ConfigError, DataError, did_you_mean
from vbench.records import Clip, Facts, Sample

TEST_NAMES: Mapping[str, str] = {
    "control": "control_v2t",
    "agent_random": "agent_iden",
    "agent_bind": "agent_bind",
    "coref": "agent_coref",
    "action_adv": "action_adv",
    "action_bind": "action_bind",
    "action_manner": "action_modif",
    "chrono": "chrono",
}
"""v2's name of a test → v1's, in the order of the paper's tables."""

COLUMNS = ("test_name", "video_id", "event", "pos", "neg")


@dataclass
class VelocitiV2:
    """The caption pairs of VELOCITI v2. A test set: its licence forbids to tune any model on it."""

    file: str | None = None
    """Instead of the hub: a .parquet, .json, .jsonl, .csv or .arrow file, or a folder of such."""
    hub: str = "katha-ai-iiith/VELOCITI"
    hub_split: str = "test"
    hub_revision: str | None = None
    videos: str | None = None
    """The folder of `<video_id>.mp4`; None: `videos` beside the file."""
    tests: Sequence[str] | None = None
    """The tests to read, by our names (action_modif) or v2's (action_manner); None: all."""
    name: str = "velociti/v2"

    def samples(self) -> list[Sample]:
        """Returns the samples in the order of the rows.

        Raises:
            ConfigError: A test does not exist, or the place of the videos is not said.
            DataError: The table cannot be read, or rows of it cannot be used.
        """
        wanted = {self._test(name) for name in self.tests or TEST_NAMES}
        home = self._videos()
        table = self._rows()
        _check_columns(table)
        samples, problems = [], []
        for number, row in enumerate(table.rows, start=1):
            try:
                sample = _sample(row, home)
            except CellError as error:
                problems.append(f"row {number}, {error}")
                continue
            if sample.test in wanted:
                samples.append(sample)
        raise_problems(table.origin, problems)
        return numbered(samples)

    def facts(self) -> Facts | None:
        """Returns None: what really happens in films is not known exactly."""
        return None

    def _test(self, name: str) -> str:
        if name not in (*TEST_NAMES, *TEST_NAMES.values()):
            raise ConfigError(
                f"VELOCITI v2 has no test '{name}'",
                where=f"dataset.tests=[{','.join(self.tests or ())}]",
                mend=did_you_mean(name, TEST_NAMES.values()),
            )
        return TEST_NAMES.get(name, name)

    def _videos(self) -> Path:
        if self.videos is not None:
            return Path(self.videos)
        if self.file is not None:
            path = Path(self.file)
            return (path if path.is_dir() else path.parent) / "videos"
        raise ConfigError(
            "the videos of VELOCITI v2 are not on this machine",
            where="dataset.videos",
            why="the hub has them in velociti_videos.zip, which is not unpacked by itself",
            mend=f"unpack that file of {self.hub}, and set dataset.videos to the folder of .mp4",
        )

    def _rows(self) -> Rows:
        if self.file is not None:
            return read_any(Path(self.file))
        hub = Hub(self.hub, self.hub_split, None, self.hub_revision)
        try:
            return read_hub(hub, COLUMNS)
        except DataError as error:
            raise DataError(
                error.what,
                where=error.where,
                why=f"{error.why} (access to it is gated)",
                mend=f"log in at https://huggingface.co/datasets/{self.hub}, accept its terms, run "
                "`hf auth login`, and try again; or download its table and use dataset.file=PATH",
            ) from error


def _check_columns(table: Rows) -> None:
    absent = [column for column in COLUMNS if column not in table.columns]
    if absent:
        raise DataError(
            f"the table has no column '{absent[0]}'",
            where=table.origin,
            why=f"its columns are {', '.join(table.columns)}; v2 has {', '.join(COLUMNS)}",
            mend="name the table of VELOCITI v2; dataset=table reads tables with other columns",
        )


def _sample(row: Row, home: Path) -> Sample:
    test = text_cell(row, "test_name")
    if test not in TEST_NAMES:
        hint = did_you_mean(test, TEST_NAMES)
        raise CellError("test_name", f"'{test}' is none of its tests; {hint}")
    # The official code takes what stands before the first dot (data.py).
    video = text_cell(row, "video_id").split(".")[0]
    if not is_safe(video):
        raise CellError("video_id", f"'{video}' cannot be the name of a file")
    event = row.get("event")
    key = event if isinstance(event, str) else json.dumps(event, separators=(",", ":"))
    return Sample(
        test=TEST_NAMES[test],
        sample_id=f"{video}/{key}",
        kind="v2t",
        cluster=source_of(video),
        clips=(Clip(video, str(home / f"{video}.mp4")),),
        texts=(text_cell(row, "pos"), text_cell(row, "neg")),
        target=0,
    )
