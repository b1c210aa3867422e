"""`dataset=questions`: lettered questions about your own annotations, by templates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from vbench.datasets.questions.kit import LETTERS, Made, Template, check_questions, make_questions
from vbench.datasets.rows import read_rows
from vbench.errors import ConfigError, DataError, did_you_mean
from vbench.records import Clip, Facts, Sample


@dataclass
class Questions:
    """Questions made from a table of annotations, the same ones each time.

    What the kit does so that options give nothing away is in docs/questions.md.
    """

    file: str
    """Annotations, one a row: .csv, .tsv, .jsonl or .parquet."""
    templates: Mapping[str, Mapping[str, Any]]
    """Test → `question`, `answer` and whatever else `kit.Template` takes."""
    root: str | None = None
    """The folder that videos lie in; None: that of the file."""
    video: str = "video"
    """Column that names the video."""
    extension: str = ""
    """Put after every video's name: `.mp4` for a table of ids."""
    cluster: str | None = None
    """Column of the source that videos share; None: the video."""
    seed: int = 0
    name: str = "questions"

    def samples(self) -> list[Sample]:
        """Returns the questions, test by test.

        Raises:
            ConfigError: There is no template, or one names a column that does not exist.
            DataError: The table cannot be read, or holds too few different answers.
        """
        if not self.templates:
            raise ConfigError(
                "no question is asked",
                where="dataset.templates",
                mend="give test: {question: …, answer: …}, see docs/questions.md",
            )
        table = read_rows(Path(self.file).expanduser())
        table.require({"dataset.video": self.video} | self._sources())
        rows = [{name: _text(cell) for name, cell in row.items()} for row in table.rows]
        source = {row[self.video]: row[self.cluster or self.video] for row in rows}
        found = []
        for test, node in self.templates.items():
            made, _ = make_questions(rows, _template(test, node), self.seed, self.video)
            check_questions(made)
            found += [self._sample(test, n, one, source) for n, one in enumerate(made)]
        return found

    def facts(self) -> Facts | None:
        """Returns None: oracles answer captions, not questions."""
        return None

    def _sources(self) -> dict[str, str]:
        return {"dataset.cluster": self.cluster} if self.cluster else {}

    def _sample(self, test: str, number: int, made: Made, source: Mapping[str, str]) -> Sample:
        home = Path(self.root or Path(self.file).parent).expanduser()
        path = home / f"{made.video}{self.extension}"
        if not path.resolve().is_relative_to(home.resolve()):
            raise DataError(
                f"the video {made.video!r} lies outside the folder of videos",
                where=str(self.file),
                mend="give names of files below dataset.root",
            )
        return Sample(
            test=test,
            sample_id=str(number),
            kind="mcq",
            cluster=source[made.video],
            clips=(Clip(made.video, str(path)),),
            texts=made.options,
            target=LETTERS.index(made.answer),
            question=made.text,
        )


def _template(test: str, node: Mapping[str, Any]) -> Template:
    known: Sequence[str] = [field.name for field in fields(Template)]
    for key in node:
        if key not in known:
            raise ConfigError(
                f"a template has no '{key}'",
                where=f"dataset.templates.{test}",
                mend=did_you_mean(key, known),
            )
    for key in ("question", "answer"):
        if not node.get(key):
            raise ConfigError(f"a template needs its {key}", where=f"dataset.templates.{test}")
    return Template(**node)


def _text(cell: object) -> str:
    return "" if cell is None else str(cell).strip()
