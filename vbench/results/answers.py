"""From stored rows back to scores. Needs no model: a finished run can be scored again."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np

from vbench.errors import RunError
from vbench.records import FINAL, Answer, Outcome, Prediction, Request, Sample, Score
from vbench.results.coverage import frames
from vbench.results.rows import record
from vbench.results.store import RunFolder, merge


class Scorer(Protocol):
    """Fills a sample's matrix from its answers."""

    def score(self, sample: Sample, answers: Sequence[Answer]) -> Score:
        """Returns the scored sample."""
        ...


Prepare = Callable[[Sequence[tuple[Sample, Sequence[Answer]]]], None]
"""What a scorer does that reads many answers at once better than one by one: a judge."""


def answer(keys: Sequence[str], rows: Mapping[str, Prediction]) -> Answer | None:
    """Computes a request's answer from stored rows; None while one is missing.

    A language model's request has the row of its view, which has no part in the answer unless it
    failed, and the row of the reply. Two embeddings give their cosine, summed in double precision
    over fp32 unit vectors, so that equal texts tie exactly whatever was batched with them.

    Args:
        keys: The rows a request needs: a clip's and a text's, a pair's, or a view's and a reply's.
        rows: Stored rows by key.
    """
    found = [rows[key] for key in keys if key in rows]
    if len(found) < len(keys):
        return None
    truncated = any(row.truncated for row in found)
    for row in found:
        if row.status != "ok":
            return Answer(row.status, reason=row.reason, truncated=truncated, reply=row.reply)
    if found[-1].reply is not None:
        return Answer("ok", truncated=truncated, reply=found[-1].reply)
    vectors = [np.asarray(row.embedding, dtype=np.float64) for row in found if row.score is None]
    value = float(np.dot(*vectors)) if vectors else found[0].score
    return Answer("ok", math.nan if value is None else value, truncated=truncated)


class Tally:
    """Which samples are complete, and their scores.

    Args:
        folder: The run folder.
        asked: Each sample with its requests, in the dataset's order.
        keys: The rows each request needs.
        scorer: Fills a sample's matrix.
        sampler: Chose the frames; None where there are none.
    """

    def __init__(
        self,
        folder: RunFolder,
        asked: Sequence[tuple[Sample, Sequence[Request]]],
        keys: Mapping[Request, Sequence[str]],
        scorer: Scorer,
        sampler: object = None,
    ) -> None:
        self.folder = folder
        self.asked = asked
        self.keys = keys
        self.scorer = scorer
        self.sampler = sampler
        self.rows: dict[str, Prediction] = {}
        self._pending = list(asked)
        self._prepare: Prepare | None = getattr(scorer, "prepare", None)

    def read(self) -> None:
        """Takes in rows written since the last look."""
        for row in self.folder.new_predictions().values():
            merge(self.rows, row)

    def done(self) -> set[str]:
        """Returns the keys that need no more work."""
        return {key for key, row in self.rows.items() if row.status in FINAL}

    def missing(self) -> int:
        """Returns how many keys have no row at all."""
        return len({key for keys in self.keys.values() for key in keys} - self.rows.keys())

    def newly_complete(self) -> list[Score]:
        """Reads, and returns samples that became final since the last call."""
        self.read()
        if self._prepare is not None:  # a judge reads all answers together, when all are there
            return []
        complete, pending = [], []
        for sample, requests in self._pending:
            score = self._score(sample, requests)
            if score is not None and score.status in FINAL:
                complete.append(score)
            else:
                pending.append((sample, requests))
        self._pending = pending
        return complete

    def scores(self) -> list[Score]:
        """Reads, and returns every sample's score.

        Raises:
            RunError: Some request has no row at all.
        """
        self.read()
        if self._prepare is not None:
            given = [(sample, self._answers(requests)) for sample, requests in self.asked]
            self._prepare([(sample, answers) for sample, answers in given if answers is not None])
        scores = [self._score(sample, requests) for sample, requests in self.asked]
        complete = [score for score in scores if score is not None]
        if len(complete) < len(scores):
            raise RunError(
                f"{len(scores) - len(complete)} of {len(scores)} samples are not answered yet",
                where=str(self.folder.path),
                why="a process ended before its share was done",
                mend="type the same command again: it asks only what is missing",
            )
        return complete

    def records(
        self, scores: Sequence[Score], outcome: Callable[[Score], Outcome]
    ) -> list[dict[str, object]]:
        """Returns the rows of records.parquet for scores of this tally's samples.

        Args:
            scores: Scored samples.
            outcome: What the metric makes of each.
        """
        shown = {row.key: row for row in self.rows.values() if row.kind == "clip"}
        clips = {
            request.clips[0]: shown[keys[0]]
            for request, keys in self.keys.items()
            if keys[0] in shown
        }
        return [
            record(score, outcome(score), [clips.get(clip) for clip in score.sample.clips])
            for score in scores
        ]

    def failures(self) -> list[Prediction]:
        """Returns the rows that are not ok, in a stable order, and for each file that needs them.

        Files of equal content share a row, which names the first of them only.
        """
        found: dict[tuple[str, str], Prediction] = {}
        for request, keys in self.keys.items():
            clip = next(iter(request.clips), None)
            for row in (self.rows[key] for key in keys):
                if row.status != "ok" and (row.kind == "text" or clip is None):
                    found[row.key, ""] = row
                elif row.status != "ok" and clip is not None:
                    own = replace(row, video_id=clip.video_id, path=clip.path)
                    found[row.key, clip.path] = own
        return list(found.values())

    def frames(self) -> dict[str, float]:
        """Returns how many frames clips were shown with, and how many were wanted.

        See `coverage.frames`.
        """
        shown = [row for row in self.rows.values() if row.status == "ok" and row.frame_indices]
        return frames(shown, getattr(self.sampler, "order", "in_order"))

    def audio(self) -> dict[str, dict[str, int]]:
        """Returns how many clips have sound that was `heard` or `unused`; nothing where none has.

        For summary.json: a model that hears nothing is asked about films with sound.
        """
        clips = [row for row in self.rows.values() if row.kind == "clip" and row.status == "ok"]
        counts = Counter[str](row.audio for row in clips if row.audio)
        return {"audio": {"clips": len(clips), **counts}} if counts else {}

    def _score(self, sample: Sample, requests: Sequence[Request]) -> Score | None:
        answers = self._answers(requests)
        return None if answers is None else self.scorer.score(sample, answers)

    def _answers(self, requests: Sequence[Request]) -> list[Answer] | None:
        """Returns the answers to a sample's requests; None while one is missing."""
        answers = [answer(self.keys[request], self.rows) for request in requests]
        given = [one for one in answers if one is not None]
        return given if len(given) == len(answers) else None
