"""`dataset=videobench/…`: questions with lettered options about videos."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from vbench.datasets.videobench.layout import (
    Entry,
    catalogue,
    check_names,
    is_safe,
    question_file,
    source_of,
    video_path,
)
from vbench.datasets.videobench.reader import Question, check_answer, read_answers, read_questions
from vbench.datasets.videobench.subtitles import find_subtitles, read_cues, said_within
from vbench.errors import DataError
from vbench.records import Clip, Facts, Sample


@dataclass
class VideoBenchRelease:
    """Some or all of the thirteen datasets, from the files that PKU-YuanGroup/Video-Bench released.

    Answers come from the question files themselves where they have them, else from `answers`;
    without either, samples have no target: they can be asked and exported, not scored. A model is
    shown neither file names nor ids: some give the answer away.
    """

    root: str
    """Holds the question files, or Eval_QA/ with them."""
    names: Sequence[str] | None = None
    """Keys of datasets: `[MSVD,NBA]`; None: all thirteen."""
    videos: str | None = None
    """Where the videos were unpacked; None: root."""
    answers: str | None = None
    """The leaderboard's ANSWER.json, if you have it."""
    subtitles: str | None = None
    """A folder of .srt or .vtt files named as the videos: what is said is shown before the
    question. TVQA's released videos have it in the picture already."""
    name: str = "videobench"

    def samples(self) -> list[Sample]:
        """Returns one sample per question, dataset by dataset, in the files' order.

        Raises:
            ConfigError: A name is none of the thirteen.
            DataError: A file is missing or malformed.
        """
        found = []
        for key in check_names(self.names):
            file, questions, answers = self._read(key)
            entry = catalogue()[key]
            found += [self._sample(entry, question, answers, file) for question in questions]
        return found

    def facts(self) -> Facts | None:
        """Returns None: nothing is known but the answers."""
        return None

    def counts(self) -> dict[str, int]:
        """Returns the number of questions that each dataset was released with."""
        return {key: entry.questions for key, entry in catalogue().items()}

    def oddities(self) -> list[tuple[str, str]]:
        """Returns what is irregular: (dataset and question, what), in the files' order."""
        found = []
        for key in check_names(self.names):
            _, questions, answers = self._read(key)
            for question in questions:
                told = list(question.oddities)
                if question.answer is None and answers and question.qid not in answers:
                    told.append("the answers do not have it")
                found += [(f"{key} {question.qid}", what) for what in told]
        return found

    def _read(self, key: str) -> tuple[Path, list[Question], dict[str, str]]:
        file = question_file(Path(self.root).expanduser(), key)
        answers = read_answers(Path(self.answers).expanduser(), key) if self.answers else {}
        return file, read_questions(file), answers

    def _sample(
        self, entry: Entry, question: Question, answers: dict[str, str], file: Path
    ) -> Sample:
        if not is_safe(question.vid_path):
            raise DataError(
                f"the video of question {question.qid} lies outside the dataset",
                where=str(file),
                why=f"its vid_path is {question.vid_path!r}",
                mend="give a path below the folder of videos",
            )
        root = Path(self.videos or self.root).expanduser()
        video = video_path(root, entry.key, question.vid_path)
        letters = tuple(question.options)
        answer = question.answer or answers.get(question.qid)
        if answer is not None:
            answer = check_answer(question, answer, file)
        return Sample(
            test=entry.key,
            sample_id=question.qid,
            kind="mcq",
            cluster=source_of(question.vid_path, question.video_id),
            clips=(Clip(question.video_id, str(video)),),
            texts=tuple(question.options.values()),
            target=None if answer is None else letters.index(answer),
            question=self._said(video) + question.text,
            groups={"task": entry.task},
            letters=letters,
            void_letters=question.void,
        )

    def _said(self, video: Path) -> str:
        if self.subtitles is None:
            return ""
        file = find_subtitles(Path(self.subtitles).expanduser(), video)
        said = said_within(read_cues(file), 0.0, None) if file is not None else ""
        return f"Subtitles:\n{said}\n\n" if said else ""
