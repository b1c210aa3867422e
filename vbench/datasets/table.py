"""A user's own table as a dataset: no code, columns mapped by name."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from vbench.datasets.cells import (
    YES_NO,
    AnswerAs,
    CellError,
    answer_index,
    column_cells,
    list_cell,
    seconds_cell,
    text_cell,
    yes_no_index,
)
from vbench.datasets.rows import Hub, Row, Rows, raise_problems, read_hub, read_rows
from vbench.errors import ConfigError, DataError
from vbench.records import Clip, Facts, Kind, Sample

TableKind = Literal["pairs", "mcq", "yes_no", "open"]

KINDS: Mapping[TableKind, Kind] = {"pairs": "v2t", "mcq": "mcq", "yes_no": "yes_no", "open": "open"}


@dataclass
class Table:
    """Questions or caption pairs about videos, one a row.

    Every `str` that names a column may be changed to the name it has in the table.
    """

    file: str | None = None
    """A .csv, .tsv, .jsonl or .parquet file."""
    hub: str | None = None
    """Instead of a file: a dataset of the Hugging Face hub."""
    hub_split: str = "test"
    hub_subset: str | None = None
    hub_revision: str | None = None
    kind: TableKind = "mcq"
    """`pairs`: two captions, one right. `mcq`: a question with options. `yes_no`: a question.
    `open`: a question with a reference answer."""
    name: str = "table"
    """The name of the test in every result."""
    root: str | None = None
    """The folder that videos lie in; None: that of the file."""
    extension: str = ""
    """Put after every video's name: `.mp4` for a table of ids."""
    video: str = "video"
    start: str | None = None
    """Column of the second at which the clip starts."""
    end: str | None = None
    positive: str = "positive"
    """pairs: the column of the right caption."""
    negative: str = "negative"
    texts: Sequence[str] | None = None
    """pairs: the columns of two captions of which `answer` tells the right one."""
    question: str | None = "question"
    """None: there is none; the options alone are compared with the video."""
    options: str | Sequence[str] = "options"
    """mcq: a column of lists, or one column per option."""
    answer: str | None = "answer"
    """None: the right answers are not known; nothing is scored."""
    answer_as: AnswerAs = "auto"
    """How to read answers that more than one reading fits."""
    id: str | None = None
    """Column of the samples' names; None: numbered by row."""
    cluster: str | None = None
    """Column of the source that rows share (a film, a speaker); None: the video."""
    group_by: Sequence[str] = field(default_factory=tuple)
    """Columns each value of which gets a row of its own in the results."""

    def samples(self) -> list[Sample]:
        """Returns one sample per row, in order.

        Raises:
            ConfigError: Settings contradict one another.
            DataError: A column is missing, or rows cannot be used; the first few are named.
        """
        self._check()
        wanted = self._columns()
        table = self._read(list(wanted.values()))
        if not table.rows:
            raise DataError(
                "the table has no rows", where=table.origin, mend="give it one row per question"
            )
        table.require(wanted)
        samples: dict[str, Sample] = {}
        problems = []
        for number, row in enumerate(table.rows, start=1):
            try:
                sample = self._sample(row, number)
                if sample.sample_id in samples:
                    raise CellError(str(self.id), f"'{sample.sample_id}' occurs twice")
                samples[sample.sample_id] = sample
            except CellError as error:
                problems.append(f"row {number}, {error}")
        raise_problems(table.origin, problems)
        return list(samples.values())

    def facts(self) -> Facts | None:
        """Returns None: a table says nothing of what happens in its videos."""
        return None

    def _check(self) -> None:
        if (self.file is None) == (self.hub is None):
            raise ConfigError(
                "a table needs either a file or a hub dataset",
                where="dataset.file, dataset.hub",
                mend="set either dataset.file=PATH (.csv, .tsv, .jsonl, .parquet) or dataset.hub",
            )
        if self.kind == "pairs" and self.texts is not None and len(self.texts) != 2:
            raise ConfigError(
                "a pair has two captions",
                where=f"dataset.texts=[{','.join(self.texts)}]",
                mend="name two columns; for more captions use dataset.kind=mcq, dataset.options",
            )

    def _columns(self) -> dict[str, str]:
        """Returns the columns that the settings ask for, by setting."""
        wanted: dict[str, str | None] = {f"dataset.{key}": getattr(self, key) for key in _ALWAYS}
        wanted |= {f"dataset.group_by[{i}]": column for i, column in enumerate(self.group_by)}
        if self.kind == "pairs" and self.texts is None:
            wanted |= {"dataset.positive": self.positive, "dataset.negative": self.negative}
        elif self.kind == "pairs":
            wanted |= {f"dataset.texts[{i}]": column for i, column in enumerate(self.texts or ())}
            wanted["dataset.answer"] = self.answer
        else:
            wanted |= {"dataset.question": self.question, "dataset.answer": self.answer}
        if self.kind == "mcq" and isinstance(self.options, str):
            wanted["dataset.options"] = self.options
        elif self.kind == "mcq":
            wanted |= {f"dataset.options[{i}]": column for i, column in enumerate(self.options)}
        return {setting: column for setting, column in wanted.items() if column is not None}

    def _read(self, columns: Sequence[str]) -> Rows:
        if self.file is not None:
            return read_rows(Path(self.file))
        hub = Hub(str(self.hub), self.hub_split, self.hub_subset, self.hub_revision)
        return read_hub(hub, columns)

    def _sample(self, row: Row, number: int) -> Sample:
        clip = self._clip(row)
        texts, target = _CONTENT[self.kind](self, row)
        asks = self.kind != "pairs" and self.question is not None
        return Sample(
            test=self.name,
            sample_id=text_cell(row, self.id) if self.id else str(number),
            kind=KINDS[self.kind],
            cluster=text_cell(row, self.cluster) if self.cluster else clip.video_id,
            clips=(clip,),
            texts=texts,
            target=target,
            question=text_cell(row, str(self.question)) if asks else None,
            groups={column: text_cell(row, column) for column in self.group_by},
        )

    def _clip(self, row: Row) -> Clip:
        video = text_cell(row, self.video)
        home = Path(self.root or (Path(self.file).parent if self.file else "."))
        path = home / f"{video}{self.extension}"
        if "\0" in video or not _is_inside(home, path):
            why = f"{video!r} lies outside the folder of videos, '{home}' (dataset.root)"
            raise CellError(self.video, why)
        start = seconds_cell(row, self.start) if self.start else 0.0
        end = seconds_cell(row, self.end) if self.end else None
        if end is not None and end <= start:
            raise CellError(str(self.end), f"the clip starts at {start:g} s and ends at {end:g} s")
        return Clip(video, str(path), start, end)


def _is_inside(folder: Path, path: Path) -> bool:
    # By name: links are not followed, for a folder of videos may well link to another disk.
    above, below = (Path(os.path.normpath(p.absolute())) for p in (folder, path))
    return above in below.parents


_ALWAYS = ("video", "start", "end", "id", "cluster")

Content = tuple[tuple[str, ...], int | str | None]
"""Texts and target of a row."""


def _pair(table: Table, row: Row) -> Content:
    if table.texts is None:
        return (text_cell(row, table.positive), text_cell(row, table.negative)), 0
    captions = tuple(text_cell(row, column) for column in table.texts)
    return captions, _target(table, row, captions, table.texts)


def _options(table: Table, row: Row) -> Content:
    if isinstance(table.options, str):
        names: Sequence[str] = ()
        options = list_cell(row, table.options)
    else:
        names = table.options
        options = column_cells(row, names)
    if len(options) < 2:
        column = table.options if isinstance(table.options, str) else names[-1]
        raise CellError(column, f"{len(options)} options are too few to choose from")
    return tuple(options), _target(table, row, options, names)


def _yes_no(table: Table, row: Row) -> Content:
    return YES_NO, yes_no_index(row, table.answer) if table.answer else None


def _open(table: Table, row: Row) -> Content:
    return (), text_cell(row, table.answer) if table.answer else None


def _target(table: Table, row: Row, options: Sequence[str], names: Sequence[str]) -> int | None:
    if table.answer is None:
        return None
    return answer_index(row, table.answer, options, names, table.answer_as)


_CONTENT: Mapping[TableKind, Callable[[Table, Row], Content]] = {
    "pairs": _pair,
    "mcq": _options,
    "yes_no": _yes_no,
    "open": _open,
}
